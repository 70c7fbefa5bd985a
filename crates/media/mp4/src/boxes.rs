//! Boxes (ISO/IEC 14496-12, clause 4.2): a length, a name, contents.

/// Boxes in the order they are written. All numbers are big-endian.
#[derive(Debug, Default)]
pub struct Boxes(Vec<u8>);

impl Boxes {
    /// Boxes that take about so many bytes.
    pub fn with_capacity(bytes: usize) -> Boxes {
        Boxes(Vec::with_capacity(bytes))
    }

    /// Bytes written.
    pub fn position(&self) -> usize {
        self.0.len()
    }

    /// What is written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A box with the contents that `fill` writes: less than 4 GiB.
    pub fn with(&mut self, name: &[u8; 4], fill: impl FnOnce(&mut Boxes)) {
        let begin = self.0.len();
        self.u32(0).bytes(name);
        fill(self);
        let length = (self.0.len() - begin) as u32;
        self.0[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A `FullBox`: it begins with a version and flags.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_all_that_is_within() {
        let mut boxes = Boxes::with_capacity(64);
        boxes.with(b"outr", |outer| {
            outer.full(b"full", 1, 0x20, |full| {
                full.u16(0x102).descriptor(3, |descriptor| {
                    descriptor.zeros(2);
                });
            });
        });
        boxes.with(b"next", |_| {});
        assert_eq!(boxes.position(), 34);
        assert_eq!(
            boxes.into_bytes(),
            b"\0\0\0\x1aoutr\0\0\0\x12full\x01\0\0\x20\x01\x02\x03\x02\0\0\0\0\0\x08next"
        );
    }
}
