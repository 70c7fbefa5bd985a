//! Boxes of ISO base media files (ISO/IEC 14496-12): a length, a name, contents.

/// Boxes in the order they are written. All numbers are big-endian.
#[derive(Debug, Default)]
pub struct Boxes(pub Vec<u8>);

impl Boxes {
    /// A box with the contents that `fill` writes.
    pub fn with(&mut self, name: &[u8; 4], fill: impl FnOnce(&mut Boxes)) {
        let begin = self.0.len();
        self.u32(0).bytes(name);
        fill(self);
        // Units are at most some megabytes.
        let length = (self.0.len() - begin) as u32;
        self.0[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A box that begins with a version and flags.
    pub fn full(&mut self, name: &[u8; 4], version: u8, flags: u32, fill: impl FnOnce(&mut Boxes)) {
        self.with(name, |boxes| {
            boxes.u32(u32::from(version) << 24 | flags);
            fill(boxes);
        });
    }

    /// A descriptor (ISO/IEC 14496-1, clause 8.3.3): a tag, a length of one byte, contents of less than 128 bytes.
    pub fn descriptor(&mut self, tag: u8, fill: impl FnOnce(&mut Boxes)) {
        self.u8(tag).u8(0);
        let begin = self.0.len();
        fill(self);
        self.0[begin - 1] = (self.0.len() - begin) as u8;
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Boxes {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A byte.
    pub fn u8(&mut self, value: u8) -> &mut Boxes {
        self.bytes(&[value])
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Boxes {
        self.bytes(&value.to_be_bytes())
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Boxes {
        self.bytes(&value.to_be_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Boxes {
        self.bytes(&value.to_be_bytes())
    }

    /// So many zero bytes.
    pub fn zeros(&mut self, count: usize) -> &mut Boxes {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// The matrix that leaves a picture as it is.
    pub fn identity(&mut self) -> &mut Boxes {
        for value in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] {
            self.u32(value);
        }
        self
    }
}
