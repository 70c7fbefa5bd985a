//! Where the pictures of a track lie.

use evener_mp4::Boxes;

/// The length of each picture, which are key pictures, and the chunks they are in.
#[derive(Default)]
pub struct Index {
    lengths: Vec<u32>,
    /// Numbers of key pictures, from 1 on.
    keys: Vec<u32>,
    /// Of each chunk: where it begins, and pictures up to its end.
    chunks: Vec<(u64, u32)>,
}

impl Index {
    /// Pictures so far.
    pub fn pictures(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// A picture of so many bytes in the present chunk.
    pub fn add(&mut self, bytes: usize, key: bool) {
        self.lengths.push(bytes as u32);
        if key {
            self.keys.push(self.lengths.len() as u32);
        }
    }

    /// Ends the present chunk, whose first picture is `at` bytes from the beginning of the file.
    pub fn end_chunk(&mut self, at: u64) {
        self.chunks.push((at, self.lengths.len() as u32));
    }

    /// Boxes of the sample table, `duration` units of time a picture.
    pub fn write(&self, boxes: &mut Boxes, duration: u32) {
        let pictures = self.lengths.len() as u32;
        boxes.full(b"stts", 0, 0, |times| {
            times.u32(1).u32(pictures).u32(duration);
        });
        // Without the box all are key pictures.
        if self.keys.len() < self.lengths.len() {
            boxes.full(b"stss", 0, 0, |keys| {
                keys.u32(self.keys.len() as u32);
                self.keys.iter().for_each(|&key| {
                    keys.u32(key);
                });
            });
        }
        self.write_runs(boxes);
        boxes.full(b"stsz", 0, 0, |lengths| {
            lengths.u32(0).u32(pictures);
            self.lengths.iter().for_each(|&length| {
                lengths.u32(length);
            });
        });
        self.write_chunks(boxes);
    }

    /// Pictures of each chunk, where it has another number of them than the chunk before.
    fn write_runs(&self, boxes: &mut Boxes) {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut before = 0;
        for (number, &(_, end)) in (1..).zip(&self.chunks) {
            let pictures = end - before;
            before = end;
            if runs.last().is_none_or(|&(_, last)| last != pictures) {
                runs.push((number, pictures));
            }
        }
        boxes.full(b"stsc", 0, 0, |boxes| {
            boxes.u32(runs.len() as u32);
            for (number, pictures) in runs {
                boxes.u32(number).u32(pictures).u32(1);
            }
        });
    }

    fn write_chunks(&self, boxes: &mut Boxes) {
        let count = self.chunks.len() as u32;
        let last = self.chunks.last().map_or(0, |&(at, _)| at);
        match u32::try_from(last) {
            Ok(_) => boxes.full(b"stco", 0, 0, |boxes| {
                boxes.u32(count);
                self.chunks.iter().for_each(|&(at, _)| {
                    boxes.u32(at as u32);
                });
            }),
            Err(_) => boxes.full(b"co64", 0, 0, |boxes| {
                boxes.u32(count);
                self.chunks.iter().for_each(|&(at, _)| {
                    boxes.u64(at);
                });
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(index: &Index) -> Vec<u8> {
        let mut boxes = Boxes::default();
        index.write(&mut boxes, 1);
        boxes.into_bytes()
    }

    /// The 32-bit words of a box after its version and flags.
    fn words(bytes: &[u8], name: &[u8; 4]) -> Option<Vec<u32>> {
        let at = bytes.windows(4).position(|w| w == name)?;
        let length = u32::from_be_bytes(bytes[at - 4..at].try_into().unwrap()) as usize;
        let words = bytes[at + 8..at - 4 + length].chunks(4);
        Some(
            words
                .map(|w| u32::from_be_bytes(w.try_into().unwrap()))
                .collect(),
        )
    }

    #[test]
    fn chunks_of_the_same_number_of_pictures_are_one_run() {
        let mut index = Index::default();
        for (pictures, at) in [(2, 40), (2, 90), (1, 200), (1, 300), (2, 400)] {
            for _ in 0..pictures {
                index.add(7, true);
            }
            index.end_chunk(at);
        }
        let bytes = boxes(&index);
        assert_eq!(
            words(&bytes, b"stsc").unwrap(),
            [3, 1, 2, 1, 3, 1, 1, 5, 2, 1]
        );
        assert_eq!(words(&bytes, b"stco").unwrap(), [5, 40, 90, 200, 300, 400]);
        assert_eq!(words(&bytes, b"stsz").unwrap()[..3], [0, 8, 7]);
        assert_eq!(words(&bytes, b"stss"), None);
    }

    #[test]
    fn places_beyond_four_gibibytes_have_eight_bytes() {
        let mut index = Index::default();
        index.add(1, true);
        index.end_chunk(32);
        index.add(1, false);
        index.end_chunk(1 << 32);
        let bytes = boxes(&index);
        assert_eq!(words(&bytes, b"stco"), None);
        assert_eq!(words(&bytes, b"co64").unwrap(), [2, 0, 32, 1, 0]);
        assert_eq!(words(&bytes, b"stss").unwrap(), [1, 1]);
    }
}
