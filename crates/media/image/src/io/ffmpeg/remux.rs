//! Files that FFmpeg makes of coded video, without encoding again.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use evener_files::{Destination, Error as FileError, SourceFile, Staged, one_line};

use crate::io::error::Error;
use crate::io::ffmpeg::mux::Mux;
use crate::io::ffmpeg::origin::Origin;
use crate::io::ffmpeg::probe::count_frames;
use crate::io::ffmpeg::tools::{Tools, extension_of, is_installed};

/// A file that FFmpeg makes of coded video: the container is chosen by the extension, and all of the [`Origin`] that it
/// can hold is copied beside the video.
///
/// The coded video is written to a file of its own first, which has no name where the system can do without, in any
/// container that FFmpeg reads. With [`Remux::finish`] the
/// result appears under its name. Dropped before, it leaves no file.
pub struct Remux {
    joint: Joint,
    video: Staged,
    finished: bool,
}

impl Remux {
    /// The file `path`, and the file for the coded video. A new file is not more readable than its `source`.
    ///
    /// # Errors
    /// The file cannot be created there, or `ffmpeg` is not installed.
    pub fn create(
        tools: &Tools,
        path: impl AsRef<Path>,
        source: &SourceFile,
        origin: Option<&Origin>,
    ) -> Result<(Remux, File), Error> {
        let joint = Joint::new(tools, path.as_ref(), source, origin)?;
        if !is_installed(&tools.ffmpeg) {
            let name = joint.name;
            let program = one_line(&tools.ffmpeg.to_string_lossy());
            return Err(Error::NoProgram { name, program });
        }
        let (video, file) = Staged::create(&joint.path, joint.mode, joint.old.as_ref())?;
        let remux = Remux {
            joint,
            video,
            finished: false,
        };
        Ok((remux, file))
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &str {
        &self.joint.name
    }

    /// Makes the file of the coded video, which is complete and `seconds` long, and gives it its name. A second call does
    /// nothing.
    ///
    /// # Errors
    /// FFmpeg failed, or the file cannot be put in place.
    pub fn finish(&mut self, seconds: f64) -> Result<(), Error> {
        if !self.finished {
            let mut joined = self.joint.join(&self.video, seconds)?;
            self.joint.commit(&mut joined)?;
            self.finished = true;
        }
        Ok(())
    }
}

/// Where a file will be that FFmpeg writes, and what it gets besides video.
pub(super) struct Joint {
    tools: Tools,
    /// The name of the file in messages.
    pub(super) name: String,
    /// Where the file will be, its rights if it is new, and the file that is there now.
    pub(super) path: PathBuf,
    mode: u32,
    old: Option<Metadata>,
    pub(super) origin: Option<Origin>,
    /// Arguments of users for the output.
    pub(super) further: Vec<OsString>,
}

impl Joint {
    pub(super) fn new(
        tools: &Tools,
        path: &Path,
        source: &SourceFile,
        origin: Option<&Origin>,
    ) -> Result<Joint, Error> {
        let name = one_line(&path.to_string_lossy());
        let place = Destination::of(path).map_err(|reason| FileError::Create {
            name: name.clone(),
            reason,
        })?;
        let Destination::File { path, old } = place else {
            let reason = "is a pipe or a device, which FFmpeg's formats cannot be written to";
            return Err(FileError::Unfit { name, reason }.into());
        };
        Ok(Joint {
            tools: tools.clone(),
            name,
            path,
            mode: source.mode(),
            old,
            origin: origin.cloned(),
            further: Vec::new(),
        })
    }

    /// The extension that its format has.
    pub(super) fn extension(&self) -> String {
        extension_of(&self.path, &self.further).unwrap_or_default()
    }

    /// A file that may become the one, with a temporary name.
    pub(super) fn stage(&self) -> Result<Staged, Error> {
        Ok(Staged::named(&self.path, self.mode, self.old.as_ref())?)
    }

    /// The frames in a file that was not finished, as far as they can be read.
    pub(super) fn frames(&self, file: &Staged) -> Option<u64> {
        count_frames(&self.tools, &self.name, &file.path_for_others())
    }

    /// Copies `video`, which is `seconds` long, and what the origin holds besides into another file.
    pub(super) fn join(&self, video: &Staged, seconds: f64) -> Result<Staged, Error> {
        let joined = self.stage()?;
        let origin = self.origin.as_ref();
        let left_out = Mux {
            tools: &self.tools,
            name: &self.name,
            origin,
            video: &video.path_for_others(),
            target: joined.temporary().unwrap_or(&self.path),
            extension: self.extension(),
            seconds: origin
                .is_some_and(|origin| !origin.is_read_to_end())
                .then_some(seconds),
            further: &self.further,
        }
        .run()?;
        for line in left_out {
            tracing::warn!("{}: {line}", self.name);
        }
        Ok(joined)
    }

    /// Gives a file its name.
    pub(super) fn commit(&self, file: &mut Staged) -> Result<(), Error> {
        let name = || self.name.clone();
        file.commit().map_err(|reason| {
            let name = name();
            FileError::Commit { name, reason }.into()
        })
    }
}
