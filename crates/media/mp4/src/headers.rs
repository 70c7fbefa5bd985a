//! Headers that are the same in all files.

use super::Boxes;

impl Boxes {
    /// The box that a file begins with: its brand, and those it is compatible with, one after another.
    pub fn file_type(&mut self, brand: &[u8; 4], compatible: &[u8]) {
        self.with(b"ftyp", |ftyp| {
            ftyp.bytes(brand).u32(0x200).bytes(compatible);
        });
    }

    /// What follows times in a movie's header: its rate, its volume, no transformation, the number of the next track.
    pub fn presentation(&mut self, next_track: u32) {
        self.u32(0x1_0000).u16(0x100).zeros(10).identity();
        self.zeros(24).u32(next_track);
    }

    /// The matrix that leaves a picture as it is.
    pub fn identity(&mut self) -> &mut Boxes {
        for value in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] {
            self.u32(value);
        }
        self
    }

    /// What follows times in a medium's header: the language is undetermined.
    pub fn undetermined_language(&mut self) {
        self.u16(0x55c4).u16(0);
    }

    /// What a track is: `vide` or `soun`. The name ends with a zero byte.
    pub fn handler(&mut self, kind: &[u8; 4], name: &[u8]) {
        self.full(b"hdlr", 0, 0, |handler| {
            handler.u32(0).bytes(kind).zeros(12).bytes(name);
        });
    }

    /// The header of a medium of pictures, which are copied to the screen as they are.
    pub fn video_header(&mut self) {
        self.full(b"vmhd", 0, 1, |header| {
            header.zeros(8);
        });
    }

    /// Where samples are: in this file.
    pub fn data_information(&mut self) {
        self.with(b"dinf", |information| {
            information.full(b"dref", 0, 0, |references| {
                references.u32(1).full(b"url ", 0, 1, |_| {});
            });
        });
    }
}
