//! A file in a tar: where its bytes lie.

use std::io;

use super::walk::Bytes;

/// Bytes of a file by which its format is recognised.
const FRONT: usize = 512;

/// Bytes of a file that lie in one piece in the tar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin in the file.
    pub start: u64,
    /// How many there are.
    pub len: u64,
    /// Where they begin in the tar.
    pub at: u64,
}

/// A file in a tar. What lies in no piece of it is zero.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    size: u64,
    /// In order, none of them empty.
    pieces: Vec<Piece>,
}

impl Entry {
    /// A file of `size` bytes with pieces from byte `at` of the tar on: where each begins in the file, and its length.
    /// `None` if they overlap, are not in order, lie behind its end, or have not `stored` bytes together.
    pub fn new(
        name: &[u8],
        size: u64,
        (at, stored): (u64, u64),
        places: &[(u64, u64)],
    ) -> Option<Entry> {
        let (mut pieces, mut end, mut used) = (Vec::new(), 0, 0u64);
        for &(start, len) in places {
            if start < end {
                return None;
            }
            let piece = Piece {
                start,
                len,
                at: at.checked_add(used)?,
            };
            end = start.checked_add(len)?;
            used = used.checked_add(len)?;
            if len > 0 {
                pieces.push(piece);
            }
        }
        let name = evener_files::one_line(&String::from_utf8_lossy(name));
        (end <= size && used == stored).then_some(Entry { name, size, pieces })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where its bytes end in the tar.
    pub fn end(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.at + piece.len)
    }

    /// Where byte `at` lies in the tar, `None` if it is zero; and where the run of such bytes ends in the file.
    pub fn place(&self, at: u64) -> (Option<u64>, u64) {
        let next = self.pieces.partition_point(|piece| piece.start <= at);
        if let Some(piece) = next.checked_sub(1).map(|last| self.pieces[last])
            && at < piece.start + piece.len
        {
            return (Some(piece.at + (at - piece.start)), piece.start + piece.len);
        }
        (
            None,
            self.pieces.get(next).map_or(self.size, |piece| piece.start),
        )
    }

    /// Its first bytes, as far as the tar has them.
    pub fn front(&self, from: &mut impl Bytes) -> io::Result<Vec<u8>> {
        let wanted = self.size.min(FRONT as u64);
        match self.place(0) {
            (Some(at), end) => {
                let mut front = from.bytes(at, end.min(wanted) as usize)?;
                // What follows may be another piece, which hardly tells a format.
                front.resize(wanted as usize, 0);
                Ok(front)
            }
            (None, _) => Ok(vec![0; wanted as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_pieces_and_the_rest_is_zero() {
        let entry = Entry::new(b"a", 1000, (5000, 150), &[(100, 100), (300, 50), (1000, 0)]);
        let entry = entry.unwrap();
        for (at, wanted) in [
            (0, (None, 100)),
            (99, (None, 100)),
            (100, (Some(5000), 200)),
            (199, (Some(5099), 200)),
            (200, (None, 300)),
            (349, (Some(5149), 350)),
            (350, (None, 1000)),
        ] {
            assert_eq!(entry.place(at), wanted, "{at}");
        }
        assert_eq!(entry.end(), 5150);
    }

    #[test]
    fn pieces_that_cannot_be_are_refused() {
        for (places, stored) in [
            (&[(0, 10), (5, 10)][..], 20),
            (&[(50, 10), (0, 10)], 20),
            (&[(995, 10)], 10),
            (&[(0, 10)], 11),
            (&[(u64::MAX, 10)], 10),
            (&[(0, u64::MAX), (u64::MAX, 1)], 0),
        ] {
            let entry = Entry::new(b"a", 1000, (512, stored), places);
            assert!(entry.is_none(), "{places:?}");
        }
    }
}
