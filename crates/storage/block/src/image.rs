//! An open image.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use evener_files::SourceFile;

use crate::archive;
use crate::block::{Block, Extent, Place};
use crate::decoder::Decoder;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::{self, Format, Opened, RAW, SEEKABLE, XZ};
use crate::hash::Hash;

/// An open image. Any number of threads can use it at once without a lock. Each thread needs a
/// [`Decoder`](crate::Decoder).
pub struct Image {
    file: Arc<ImageFile>,
    opened: Opened,
    format: &'static Format,
}

/// Bytes by which is told what a compressed image holds.
const FRONT: u64 = 4096;

impl Image {
    /// Opens an image in any format that this crate reads. A file in no other format is a raw image.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or uses an unsupported feature.
    pub fn open(path: &Path) -> Result<Image, Error> {
        Image::of(ImageFile::open(path)?, None)
    }

    /// Opens the image in an open file. `known` is its format; `None` recognises it.
    ///
    /// # Errors
    /// As for [`Image::open`].
    pub fn of(file: ImageFile, known: Option<&'static Format>) -> Result<Image, Error> {
        let file = match known {
            Some(_) => file,
            None => archive::unwrapped(file)?,
        };
        let file = Arc::new(file);
        let format = match known {
            Some(format) => format,
            None => format::recognise(&file)?,
        };
        let opened = (format.open)(&file)?;
        let image = Image {
            file,
            opened,
            format,
        };
        if known.is_none() {
            image.holds_a_disk()?;
        }
        Ok(image)
    }

    /// Refuses what another program compressed in blocks if that is no disk, but an image of a format or an archive: its
    /// bytes would be taken for those of the disk in it.
    fn holds_a_disk(&self) -> Result<(), Error> {
        let is_compressed = [SEEKABLE.name, XZ.name].contains(&self.format.name);
        if !is_compressed || self.root().is_some() {
            return Ok(());
        }
        let mut front = vec![0; self.size().min(FRONT) as usize];
        // Reading it says what is wrong with it.
        if self.read_at(&mut Decoder::new(), 0, &mut front).is_err() {
            return Ok(());
        }
        let what = if archive::is_tar(&front) {
            "holds a tar, of which no part is read so; evener image pack makes an image of the disk in it".to_owned()
        } else {
            match format::recognise_pipe(&front) {
                (format, _) if format.name != RAW.name => {
                    let format = format.name;
                    format!(
                        "holds an image in {format}, and only a raw image is read so; unpack it into a file"
                    )
                }
                (_, Some(foreign)) => {
                    let looks = foreign.name;
                    format!("holds what looks like {looks}; unpack it with its own programs")
                }
                _ => return Ok(()),
            }
        };
        let what = format!(
            "{what}, or say --format {} if these bytes are meant",
            self.format.name
        );
        Err(self.format.unsupported(&self.file, what))
    }

    /// The size of the image in bytes.
    pub fn size(&self) -> u64 {
        self.opened.size
    }

    /// The length of its largest block that must be decoded. Most blocks have this length.
    pub fn block_size(&self) -> u32 {
        self.opened.block
    }

    /// Its format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Its file.
    pub fn file(&self) -> &ImageFile {
        &self.file
    }

    /// The backing image, which supplies the bytes that this image lacks.
    pub fn backing(&self) -> Option<&Arc<Image>> {
        self.opened.backing.as_ref()
    }

    /// The backing images, the nearest first.
    pub fn layers(&self) -> impl Iterator<Item = &Arc<Image>> {
        std::iter::successors(self.backing(), |image| image.backing())
    }

    /// Checks that neither its file nor its backing files changed after they were opened.
    ///
    /// # Errors
    /// One of them changed.
    pub fn unchanged(&self) -> Result<(), Error> {
        self.file.unchanged()?;
        self.layers().try_for_each(|image| image.file.unchanged())
    }

    /// Its file and its backing files as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        let own = self.file.source_file();
        self.layers()
            .fold(own, |all, image| all.and(image.file.source_file()))
    }

    /// The root hash stored in the image.
    pub fn root(&self) -> Option<Hash> {
        self.opened.leaves.as_ref().map(|leaves| leaves.root)
    }

    /// The block that contains byte `at`.
    ///
    /// # Errors
    /// There is no such byte, or the file cannot be read.
    pub fn block(&self, at: u64) -> Result<Block, Error> {
        self.inside(at, 1)?;
        self.opened.layout.block(at)
    }

    /// Block `number` among those without bytes, in the order of the image. They are only verified; see
    /// [`Image::check_empty`].
    pub fn empty(&self, number: usize) -> Option<Block> {
        self.opened.layout.empty(number)
    }

    /// Problems of the file that do not affect the bytes of the image: a few lines, without the name of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn faults(&self) -> Result<Vec<String>, Error> {
        let mut faults = self.opened.layout.faults()?;
        if let Some(backing) = self.backing() {
            let name = backing.file.name();
            let under = backing.faults()?;
            faults.extend(
                under
                    .iter()
                    .map(|fault| format!("of {name} under it: {fault}")),
            );
        }
        Ok(faults)
    }

    pub(crate) fn inside(&self, from: u64, bytes: u64) -> Result<(), Error> {
        let to = from.saturating_add(bytes);
        match to <= self.size() {
            true => Ok(()),
            false => Err(Error::Beyond {
                name: self.file.name().to_owned(),
                from,
                to,
                size: self.size(),
            }),
        }
    }

    /// The run of bytes from `at` on that all take space in the file, or all take none, up to byte `end` at most.
    /// Bytes that take space may be zero. Damaged or missing blocks count as taking space, so that readers do not
    /// skip them.
    ///
    /// # Errors
    /// There is no byte `at`.
    pub fn extent(&self, at: u64, end: u64) -> Result<Extent, Error> {
        let mut blocks = usize::MAX;
        self.extent_of(at, end, &mut blocks)
    }

    /// As [`Image::extent`], but the run ends after `blocks` blocks, and `blocks` is reduced by those that were looked
    /// at, at least one.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn extent_of(&self, at: u64, end: u64, blocks: &mut usize) -> Result<Extent, Error> {
        self.inside(at, 1)?;
        let end = end.min(self.size()).max(at + 1);
        let mut to = at;
        let mut zero = None;
        while to < end && (to == at || *blocks > 0) {
            let (hole, end) = match self.opened.layout.block(to) {
                Ok(block) => {
                    let hole = matches!(block.place, Place::Zero { .. });
                    (hole, block.start + block.len)
                }
                Err(_) => (false, self.after(to)),
            };
            *blocks = blocks.saturating_sub(1);
            if *zero.get_or_insert(hole) != hole {
                break;
            }
            to = end;
        }
        Ok(Extent {
            bytes: at..to.min(end),
            zero: zero.unwrap_or(false),
        })
    }

    /// Where the block that holds byte `at` ends, if the index cannot tell: blocks have one size then.
    pub(crate) fn after(&self, at: u64) -> u64 {
        let block = u64::from(self.block_size());
        ((at / block + 1) * block).min(self.size())
    }

    /// Tells the system that these bytes of the image will be read soon.
    pub(crate) fn will_need(&self, at: u64, len: u64) {
        if let Ok(Block {
            start,
            place: Place::Stored { offset },
            ..
        }) = self.block(at)
        {
            self.file.will_need(offset + (at - start), len);
        }
    }

    /// The hashes of blocks, if the image has them.
    pub(crate) fn leaves(&self) -> Option<&format::Leaves> {
        self.opened.leaves.as_ref()
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("name", &self.file.name())
            .field("format", &self.format.name)
            .field("size", &self.size())
            .field("block", &self.block_size())
            .finish_non_exhaustive()
    }
}
