//! Boxes of ISO base media files (ISO/IEC 14496-12): a length, a name, contents.

/// Boxes in the order they are written. All numbers are big-endian.
#[derive(Default)]
pub struct Boxes(pub Vec<u8>);

impl Boxes {
    /// A box with the contents that `fill` writes.
    pub fn with(&mut self, name: &[u8; 4], fill: impl FnOnce(&mut Boxes)) {
        let begin = self.0.len();
        self.u32(0).bytes(name);
        fill(self);
        // Only media data are larger, and these do not go through here.
        let length = (self.0.len() - begin) as u32;
        self.0[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A box that begins with a version and flags.
    pub fn full(
        &mut self,
        name: &[u8; 4],
        (version, flags): (u8, u32),
        fill: impl FnOnce(&mut Boxes),
    ) {
        self.with(name, |boxes| {
            boxes.u32(u32::from(version) << 24 | flags);
            fill(boxes);
        });
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
