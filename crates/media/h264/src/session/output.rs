//! Outputs by name, as a command line gives them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::Path;

use evener_files::{
    Destination, Error as FileError, OutputFile, SourceFile, Target, one_line, write_whole,
};
use evener_image::Ratio;
use evener_image::io::Error;
use evener_image::io::ffmpeg::{Origin, Remux, Tools};

use crate::mp4::{Mp4Writer, Track};
use crate::syntax::Sequence;
use crate::unit::CodedPicture;

/// Extensions of byte streams of NAL units (annex B).
const BYTE_STREAMS: [&str; 3] = ["264", "h264", "avc"];

/// Extensions of files that we write ourselves, unless something of the source is to be copied.
const MP4: [&str; 2] = ["mp4", "m4v"];

/// Extensions of other files that can hold H.264, by way of FFmpeg.
const CONTAINERS: [&str; 9] = [
    "mkv", "mov", "ts", "mts", "m2ts", "flv", "avi", "3gp", "nut",
];

/// An output whose name is valid.
pub struct Planned {
    text: OsString,
    kind: Kind,
    /// It is a pipe or a device.
    in_place: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Null,
    Stdout,
    ByteStream,
    Mp4,
    Container,
}

impl Planned {
    /// Checks the name of an output before an input is read. `-` is the standard output (a byte stream), and `null:` drops
    /// pictures. A pipe or a device without an extension gets a byte stream. `./-` and `./null:` are files.
    ///
    /// # Errors
    /// No file of that name can be created, or none with H.264 in it.
    pub fn of(text: &OsStr) -> Result<Planned, Error> {
        let planned = |kind, in_place| {
            Ok(Planned {
                text: text.to_owned(),
                kind,
                in_place,
            })
        };
        match text.to_str() {
            Some("null:") => return planned(Kind::Null, true),
            Some("-" | "/dev/stdout") => return planned(Kind::Stdout, true),
            _ => {}
        }
        let path = Path::new(text);
        let name = one_line(&text.to_string_lossy());
        let unfit = |reason| {
            let name = name.clone();
            Err(FileError::Unfit { name, reason }.into())
        };
        if text.to_string_lossy().contains("://") {
            return unfit("is an address; write to a file or a pipe");
        }
        let place = Destination::of(path).map_err(|reason| FileError::Create {
            name: name.clone(),
            reason,
        })?;
        let in_place = matches!(place, Destination::InPlace);
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let extension = extension.to_ascii_lowercase();
        let is_of = |all: &[&str]| all.contains(&extension.as_str());
        match () {
            () if is_of(&BYTE_STREAMS) => planned(Kind::ByteStream, in_place),
            () if is_of(&MP4) => planned(Kind::Mp4, in_place),
            () if in_place => planned(Kind::ByteStream, true),
            () if is_of(&CONTAINERS) => planned(Kind::Container, false),
            () => unfit(
                "H.264 cannot be written to this kind of file; use .mp4, .mkv, .264 or another, or - for a pipe",
            ),
        }
    }

    /// Creates the output for pictures of a sequence, `rate` a second. `source` is the file being read, which may not be
    /// the output. The output keeps what it can hold of `origin`, from which the frames come.
    ///
    /// A new file is not more readable than its source. It is not synced to the disk: a video can be made again from its
    /// source.
    ///
    /// # Errors
    /// The output is its source or cannot be created.
    pub fn create(
        &self,
        sequence: &Sequence,
        rate: Ratio,
        source: &SourceFile,
        origin: Option<&Origin>,
    ) -> Result<Output, Error> {
        let path = Path::new(&self.text);
        let track = Track::new(sequence, rate);
        let copied = |origin: &&Origin| origin.has_others() || origin.has_tags();
        match self.kind {
            Kind::Null => Ok(Output::Null),
            Kind::Stdout => {
                let out = OutputFile::stdout()?;
                source.exclude(out.id(), out.name())?;
                Ok(Output::ByteStream(ByteStream { out, written: 0 }))
            }
            Kind::ByteStream => {
                let out = OutputFile::create(path, source)?;
                Ok(Output::ByteStream(ByteStream { out, written: 0 }))
            }
            Kind::Mp4 if self.in_place || !origin.as_ref().is_some_and(copied) => {
                let out = OutputFile::create(path, source)?;
                let name = out.name().to_owned();
                Ok(Output::Mp4(Mp4Writer::new(out, name, track)))
            }
            Kind::Mp4 | Kind::Container => {
                let old = std::fs::metadata(path).ok();
                let name = one_line(&self.text.to_string_lossy());
                source.exclude(old.as_ref().and_then(evener_files::FileId::of), &name)?;
                let (remux, file) = Remux::create(&Tools::default(), path, source, origin)?;
                let writer = Mp4Writer::new(file, name, track);
                Ok(Output::Container(Box::new(remux), writer, rate))
            }
        }
    }

    /// What of `origin` the output cannot hold, as far as known before, each as a part of a sentence.
    pub fn lost(&self, origin: &Origin) -> Vec<String> {
        if self.kind == Kind::Null {
            return Vec::new();
        }
        let mut lost = origin.lost().to_vec();
        let others = origin.other_streams();
        let alone = match self.kind {
            Kind::Stdout | Kind::ByteStream => Some("a byte stream of H.264"),
            Kind::Mp4 if self.in_place => Some("mp4 in a pipe"),
            _ => None,
        };
        if let Some(alone) = alone.filter(|_| !others.is_empty()) {
            lost.push(format!("{others} left out, as {alone} holds video alone"));
        }
        if origin.has_mastering() {
            lost.push("how the picture was mastered (HDR metadata) is not kept".to_owned());
        }
        lost
    }
}

/// An open output. Dropped before [`Output::finish`], it leaves no file behind.
pub enum Output {
    /// NAL units in a file or a pipe.
    ByteStream(ByteStream),
    /// An mp4 file or pipe.
    Mp4(Mp4Writer<OutputFile>),
    /// Another container, which FFmpeg makes of an mp4 file at the end.
    Container(Box<Remux>, Mp4Writer<File>, Ratio),
    /// Nowhere.
    Null,
}

/// NAL units in a file or a pipe.
pub struct ByteStream {
    out: OutputFile,
    /// Bytes of whole pictures.
    written: u64,
}

impl Output {
    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        match self {
            Output::ByteStream(stream) => stream.out.name(),
            Output::Mp4(writer) => writer.name(),
            Output::Container(remux, ..) => remux.name(),
            Output::Null => "null:",
        }
    }

    /// What it is, for people.
    pub fn about(&self) -> &'static str {
        match self {
            Output::ByteStream(_) => "NAL units (annex B)",
            Output::Mp4(_) => "mp4",
            Output::Container(..) => "mp4, which ffmpeg turns into the file at the end",
            Output::Null => "nothing",
        }
    }

    /// Writes a picture.
    ///
    /// # Errors
    /// The system cannot write.
    pub fn write(&mut self, picture: &CodedPicture) -> Result<(), Error> {
        match self {
            Output::ByteStream(ByteStream { out, written }) => {
                let put = write_whole(out, &picture.bytes);
                put.map_err(|(taken, reason)| {
                    FileError::of_write(out.name(), *written + taken, reason)
                })?;
                *written += picture.bytes.len() as u64;
                Ok(())
            }
            Output::Mp4(writer) => Ok(writer.write(picture)?),
            Output::Container(_, writer, _) => Ok(writer.write(picture)?),
            Output::Null => Ok(()),
        }
    }

    /// Ends the stream and gives a file its name, with the pictures written so far. A second call does nothing.
    ///
    /// # Errors
    /// The system cannot write, or not put the file in place; FFmpeg failed.
    pub fn finish(&mut self) -> Result<(), Error> {
        match self {
            Output::ByteStream(ByteStream { out, written }) => {
                let ended = out.flush().and_then(|()| out.commit(*written));
                let name = out.name().to_owned();
                Ok(ended.map_err(|reason| FileError::Commit { name, reason })?)
            }
            Output::Mp4(writer) => Ok(writer.finish()?),
            Output::Container(remux, writer, rate) => {
                writer.finish()?;
                let units = writer.pictures() as f64 * f64::from(rate.den);
                remux.finish(units / f64::from(rate.num))
            }
            Output::Null => Ok(()),
        }
    }
}
