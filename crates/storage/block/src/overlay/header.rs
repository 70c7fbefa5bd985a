//! The first page of an overlay, and where the parts of the file lie.

use super::base::Base;
use super::error::Error;
use crate::hash::Hash;

/// Bytes of a granule, which is in the overlay as a whole or not at all.
pub const GRANULE: u64 = 4096;
/// Bytes of a page of a map.
pub const PAGE: u64 = 4096;
/// The most bytes of an image.
pub const MAX_SIZE: u64 = 128 << 40;
/// The magic number of an overlay.
pub const MAGIC: [u8; 8] = *b"\x89EVNOVER";
/// Where the boot stands in which the first map was written.
pub const BOOT_AT: u64 = PAGE;
/// Where the version of the content stands.
pub const VERSION_AT: u64 = BOOT_AT + 16;

const VERSION: u32 = 1;
const MAPS_AT: u64 = 2 * PAGE;
/// The data begin at a multiple of this, so that larger blocks of a file system can be holes.
const ALIGN: u64 = 64 << 10;
const MAX_NAME: usize = 1024;
const SUM_AT: usize = PAGE as usize - Hash::LEN;

/// Where the parts of an overlay lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the image.
    pub size: u64,
    /// The map that is valid until the machine stops.
    pub written: u64,
    /// The map that is valid after a power cut.
    pub durable: u64,
    /// Pages of each.
    pub pages: u64,
    /// Where byte 0 of the image lies.
    pub data: u64,
}

impl Layout {
    /// The layout for an image of `size` bytes; `None` if these are too many.
    pub fn of(size: u64) -> Option<Layout> {
        if size > MAX_SIZE {
            return None;
        }
        let pages = size.div_ceil(GRANULE).div_ceil(8 * PAGE);
        let durable = MAPS_AT + pages * PAGE;
        Some(Layout {
            size,
            written: MAPS_AT,
            durable,
            pages,
            data: (durable + pages * PAGE).next_multiple_of(ALIGN),
        })
    }

    /// Granules of the image. The last one may be shorter.
    pub fn granules(&self) -> u64 {
        self.size.div_ceil(GRANULE)
    }

    /// Bytes of the file.
    pub fn len(&self) -> u64 {
        self.data + self.size
    }
}

/// The header of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name of the image.
    pub name: String,
    /// Its format.
    pub format: String,
    /// Bytes of it.
    pub size: u64,
    /// Which image it is.
    pub identity: Hash,
}

impl Header {
    /// The header of an overlay of that image.
    pub fn of(base: &Base) -> Header {
        let mut name = base.name.clone();
        name.truncate(name.floor_char_boundary(MAX_NAME));
        Header {
            name,
            format: base.format.to_owned(),
            size: base.size,
            identity: base.identity,
        }
    }

    /// The page to write.
    pub fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE as usize);
        page.extend(MAGIC);
        page.extend(VERSION.to_le_bytes());
        page.extend((GRANULE as u32).to_le_bytes());
        page.extend(self.size.to_le_bytes());
        page.extend(self.identity.0);
        for text in [&self.name, &self.format] {
            page.extend((text.len() as u16).to_le_bytes());
            page.extend(text.as_bytes());
        }
        page.resize(SUM_AT, 0);
        let sum = Hash::of(&page);
        page.extend(sum.0);
        page
    }

    /// Reads the page of an overlay called `name`.
    ///
    /// # Errors
    /// It is no overlay, of another version, or damaged.
    pub fn decode(name: &str, page: &[u8]) -> Result<Header, Error> {
        let name = || name.to_owned();
        let damaged = |what| Error::Damaged { name: name(), what };
        let Some(rest) = page.strip_prefix(&MAGIC) else {
            return Err(Error::Other { name: name() });
        };
        let mut fields = Fields(rest);
        let version = fields.u32().ok_or_else(|| damaged("it is cut short"))?;
        if version != VERSION {
            let name = name();
            return Err(Error::Version { name, version });
        }
        if page.len() < PAGE as usize {
            return Err(damaged("it is cut short"));
        }
        if Hash::of(&page[..SUM_AT]).0 != page[SUM_AT..PAGE as usize] {
            return Err(damaged("the checksum of its header differs"));
        }
        let header = fields.header();
        header.ok_or_else(|| damaged("its header is invalid"))
    }
}

/// Reads the fields of a header, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn header(&mut self) -> Option<Header> {
        let granule = self.u32()?;
        let header = Header {
            size: u64::from_le_bytes(self.array()?),
            identity: Hash(self.array()?),
            name: self.text()?,
            format: self.text()?,
        };
        let fits = u64::from(granule) == GRANULE && header.size <= MAX_SIZE;
        fits.then_some(header)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Option<String> {
        let len = u16::from_le_bytes(self.array()?);
        let (text, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            name: "disk.img.zst".to_owned(),
            format: "zstd".to_owned(),
            size: 12_345_678,
            identity: Hash::of(b"image"),
        }
    }

    #[test]
    fn a_written_header_can_be_read() {
        let page = header().encode();
        assert_eq!(page.len() as u64, PAGE);
        assert_eq!(Header::decode("o", &page).unwrap(), header());
    }

    #[test]
    fn every_byte_of_it_counts() {
        let page = header().encode();
        for at in 0..page.len() {
            let mut other = page.clone();
            other[at] ^= 1;
            let error = Header::decode("o", &other).unwrap_err();
            match at {
                0..8 => assert!(matches!(error, Error::Other { .. }), "{at}: {error}"),
                8..12 => assert!(matches!(error, Error::Version { .. }), "{at}: {error}"),
                _ => assert!(matches!(error, Error::Damaged { .. }), "{at}: {error}"),
            }
            let said = error.to_string();
            assert!(said.starts_with("o: ") && said.lines().count() == 1);
            assert!(Header::decode("o", &page[..at]).is_err());
        }
    }

    #[test]
    fn parts_lie_one_after_the_other() {
        for size in [0, 1, GRANULE, 8 * PAGE * GRANULE, 1 << 40, MAX_SIZE] {
            let layout = Layout::of(size).unwrap();
            assert!(layout.durable >= layout.written + layout.granules().div_ceil(8));
            assert!(layout.data >= layout.durable + layout.granules().div_ceil(8));
            assert_eq!(layout.data % ALIGN, 0);
        }
        assert_eq!(Layout::of(MAX_SIZE + 1), None);
    }
}
