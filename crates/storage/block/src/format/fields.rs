//! Fields of headers.

/// Reads numbers from bytes, one after the other. The caller checks that there are enough; missing bytes are read as 0.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    /// The next `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (now, later) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = later;
        *now
    }

    /// A byte.
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    /// A number of 32 bits, little-endian.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// A number of 64 bits, little-endian.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A number of 32 bits, big-endian.
    pub fn be32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes())
    }

    /// A number of 64 bits, big-endian.
    pub fn be64(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes())
    }
}
