//! An image merged with its overlay.

use std::fmt;
use std::sync::Arc;

use evener_files::SourceFile;

use crate::block::Extent;
use crate::decoder::Decoder;
use crate::error::Error;
use crate::image::Image;
use crate::overlay::Overlay;

/// An image with an optional overlay, read as one: bytes come from the overlay if it has them.
#[derive(Clone, Debug)]
pub struct Merged {
    image: Arc<Image>,
    overlay: Option<Arc<Overlay>>,
}

impl Merged {
    /// Combines an image with its overlay.
    pub fn new(image: Arc<Image>, overlay: Option<Overlay>) -> Merged {
        let overlay = overlay.map(Arc::new);
        Merged { image, overlay }
    }

    /// The image.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// The overlay.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    /// Both files as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        let image = self.image.source_file();
        match &self.overlay {
            Some(overlay) => image.and(overlay.source_file()),
            None => image,
        }
    }

    /// Whether byte `at` is in the overlay, and where the run of such bytes ends, at most at `end`.
    pub fn run(&self, at: u64, end: u64) -> (bool, u64) {
        match &self.overlay {
            Some(overlay) => overlay.run(at, end),
            None => (false, end),
        }
    }

    /// The run of bytes from `at` on that all take space in the file, or all take none, up to byte `end` at most.
    ///
    /// # Errors
    /// There is no byte `at`.
    pub fn extent(&self, at: u64, end: u64) -> Result<Extent, Error> {
        extent(&self.image, self.overlay(), at, end, &mut { usize::MAX })
    }

    /// Reads bytes from byte `at` on into all of `room`.
    ///
    /// # Errors
    /// The overlay cannot be read, or bytes that it lacks cannot be read from the image.
    pub fn read_at(&self, decoder: &mut Decoder, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let end = at + room.len() as u64;
        if self.run(at, end) == (false, end) {
            return self.image.read_at(decoder, at, room);
        }
        self.image.inside(at, room.len() as u64)?;
        let all = (at, end);
        // One read decodes a block with several runs once. If it fails, the runs are read one by one, since what is
        // damaged may be overwritten.
        if let Some((from, to)) = self.base_range(all)
            && let part = &mut room[(from - at) as usize..(to - at) as usize]
            && self.image.read_at(decoder, from, part).is_err()
        {
            self.runs(all, |overwritten, from, to| match overwritten {
                true => Ok(()),
                false => {
                    let part = &mut room[(from - at) as usize..(to - at) as usize];
                    self.image.read_at(decoder, from, part)
                }
            })?;
        }
        self.patch(at, room)
    }

    /// Copies the bytes of the overlay over `room`, which contains the bytes of the image from byte `at` on.
    ///
    /// # Errors
    /// The overlay cannot be read.
    pub fn patch(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let Some(overlay) = &self.overlay else {
            return Ok(());
        };
        self.runs(
            (at, at + room.len() as u64),
            |overwritten, from, to| match overwritten {
                false => Ok(()),
                true => {
                    let part = &mut room[(from - at) as usize..(to - at) as usize];
                    overlay.read(from, part).map_err(|reason| {
                        let name = overlay.name().to_owned();
                        let byte = from;
                        evener_files::Error::Read { name, byte, reason }.into()
                    })
                }
            },
        )
    }

    /// The shortest range with all bytes that are not in the overlay.
    fn base_range(&self, (at, end): (u64, u64)) -> Option<(u64, u64)> {
        let mut range: Option<(u64, u64)> = None;
        let mut from = at;
        while from < end {
            let (overwritten, to) = self.run(from, end);
            if !overwritten {
                range = Some((range.map_or(from, |(first, _)| first), to));
            }
            from = to;
        }
        range
    }

    fn runs(
        &self,
        (at, end): (u64, u64),
        mut each: impl FnMut(bool, u64, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut from = at;
        while from < end {
            let (overwritten, to) = self.run(from, end);
            each(overwritten, from, to)?;
            from = to;
        }
        Ok(())
    }
}

impl fmt::Display for Merged {
    /// The format, the size and the overlay.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} bytes",
            self.image.format().name,
            self.image.size()
        )?;
        match self.overlay() {
            Some(overlay) => {
                write!(f, ", {} of them from ", overlay.bytes_of_chain())?;
                for name in overlay.lower_names() {
                    write!(f, "{name}, ")?;
                }
                f.write_str(overlay.name())
            }
            None => Ok(()),
        }
    }
}

/// The run of bytes from `at` on that all take space in the file or all do not, up to byte `end` at most. Bytes that
/// take space may be zero. The run ends after `blocks` blocks of the image, and `blocks` is reduced by those that were
/// looked at, at least one; a run in the overlay counts as one.
///
/// # Errors
/// There is no byte `at`.
pub(crate) fn extent(
    image: &Image,
    overlay: Option<&Overlay>,
    at: u64,
    end: u64,
    blocks: &mut usize,
) -> Result<Extent, Error> {
    let Some(overlay) = overlay else {
        return image.extent_of(at, end, blocks);
    };
    let end = end.min(image.size());
    match overlay.run(at, end) {
        (false, to) => image.extent_of(at, to, blocks),
        (true, to) => {
            *blocks = blocks.saturating_sub(1);
            let (zero, to) = overlay.hole(at, to);
            let bytes = at..to;
            Ok(Extent { bytes, zero })
        }
    }
}
