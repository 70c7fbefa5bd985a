//! An image together with what was written over it.

use std::fmt;
use std::sync::Arc;

use evener_files::SourceFile;

use crate::decoder::Decoder;
use crate::error::Error;
use crate::image::{Extent, Image};
use crate::overlay::Overlay;

/// An image, and perhaps an overlay of it: read from whichever has the bytes.
#[derive(Clone, Debug)]
pub struct Merged {
    image: Arc<Image>,
    overlay: Option<Arc<Overlay>>,
}

impl Merged {
    /// An image with its overlay.
    pub fn new(image: Arc<Image>, overlay: Option<Overlay>) -> Merged {
        let overlay = overlay.map(Arc::new);
        Merged { image, overlay }
    }

    /// The image.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// What was written over it.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    /// Both as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        let image = self.image.file().source_file();
        match &self.overlay {
            Some(overlay) => image.and(overlay.source_file()),
            None => image,
        }
    }

    /// Whether byte `at` is in the overlay, and up to where it is the same, `end` at most.
    pub fn run(&self, at: u64, end: u64) -> (bool, u64) {
        match &self.overlay {
            Some(overlay) => overlay.run(at, end),
            None => (false, end),
        }
    }

    /// The run of bytes from `at` on that take room, or do not, up to byte `end` at most.
    ///
    /// # Errors
    /// There is no byte `at`.
    pub fn extent(&self, at: u64, end: u64) -> Result<Extent, Error> {
        extent(&self.image, self.overlay(), at, end, &mut { usize::MAX })
    }

    /// Reads bytes from byte `at` on into all of `room`.
    ///
    /// # Errors
    /// Those that are not in the overlay are not to be had from the image, or the overlay cannot be read.
    pub fn read_at(&self, decoder: &mut Decoder, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let end = at + room.len() as u64;
        if self.run(at, end) == (false, end) {
            return self.image.read_at(decoder, at, room);
        }
        self.image.inside(at, room.len() as u64)?;
        let all = (at, end);
        // Blocks that have several runs are decoded once. Where one is damaged what lies over it may be well.
        if let Some((from, to)) = self.under(all)
            && let part = &mut room[(from - at) as usize..(to - at) as usize]
            && self.image.read_at(decoder, from, part).is_err()
        {
            self.runs(all, |over, from, to| match over {
                true => Ok(()),
                false => {
                    let part = &mut room[(from - at) as usize..(to - at) as usize];
                    self.image.read_at(decoder, from, part)
                }
            })?;
        }
        self.patch(at, room)
    }

    /// Puts what was written over bytes of the image into `room`, which has those from byte `at` on.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn patch(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let Some(overlay) = &self.overlay else {
            return Ok(());
        };
        self.runs((at, at + room.len() as u64), |over, from, to| match over {
            false => Ok(()),
            true => {
                let part = &mut room[(from - at) as usize..(to - at) as usize];
                overlay.read(from, part).map_err(|reason| {
                    let name = overlay.name().to_owned();
                    let byte = from;
                    evener_files::Error::Read { name, byte, reason }.into()
                })
            }
        })
    }

    /// From the first byte that is not in the overlay to behind the last.
    fn under(&self, (at, end): (u64, u64)) -> Option<(u64, u64)> {
        let mut under: Option<(u64, u64)> = None;
        let mut from = at;
        while from < end {
            let (over, to) = self.run(from, end);
            if !over {
                under = Some((under.map_or(from, |(first, _)| first), to));
            }
            from = to;
        }
        under
    }

    fn runs(
        &self,
        (at, end): (u64, u64),
        mut each: impl FnMut(bool, u64, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut from = at;
        while from < end {
            let (over, to) = self.run(from, end);
            each(over, from, to)?;
            from = to;
        }
        Ok(())
    }
}

impl fmt::Display for Merged {
    /// What is read, in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} bytes",
            self.image.format().name,
            self.image.size()
        )?;
        match self.overlay() {
            Some(overlay) => write!(f, ", {} of them from {}", overlay.bytes(), overlay.name()),
            None => Ok(()),
        }
    }
}

/// The run of bytes from `at` on that take room, or do not, up to byte `end` at most. Bytes that take room may be zero.
/// It ends after `blocks` blocks of the image, and takes off those that were looked at; a run in the overlay counts as
/// one. It looks at one in any case.
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
