//! Bytes that wait until a client's socket takes them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

use bytes::Bytes;

/// Slices of a call; what the operating system takes at most is 1024.
const SLICES: usize = 64;
/// The end of a chunk of HTTP/1.1, and of all of them (RFC 9112 section 7.1).
const CHUNK_END: &[u8] = b"\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Bytes in order, without copies of them.
#[derive(Debug, Default)]
pub struct Outgoing {
    slices: VecDeque<Bytes>,
    bytes: usize,
}

impl Outgoing {
    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.bytes += bytes.len();
            self.slices.push_back(bytes);
        }
    }

    /// Adds what `add` adds, as one chunk of HTTP/1.1.
    pub fn push_chunk(&mut self, add: impl FnOnce(&mut Outgoing)) {
        let (before, place) = (self.bytes, self.slices.len());
        add(self);
        let added = self.bytes - before;
        if added > 0 {
            let head = Bytes::from(format!("{added:x}\r\n"));
            self.bytes += head.len();
            self.slices.insert(place, head);
            self.push(Bytes::from_static(CHUNK_END));
        }
    }

    /// Adds the end of all chunks.
    pub fn push_last_chunk(&mut self) {
        self.push(Bytes::from_static(LAST_CHUNK));
    }

    /// Writes what `to` takes, and returns how many bytes that was.
    ///
    /// # Errors
    /// What `to` says, but that it takes no more now.
    pub fn write_to(&mut self, to: &mut impl Write) -> io::Result<usize> {
        let mut total = 0;
        while !self.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.slices.len().min(SLICES);
            for (slice, bytes) in slices.iter_mut().zip(&self.slices) {
                *slice = IoSlice::new(bytes);
            }
            match to.write_vectored(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => {
                    total += len;
                    self.take(len);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn take(&mut self, mut len: usize) {
        self.bytes -= len;
        while let Some(first) = self.slices.front_mut() {
            if len < first.len() {
                let _ = first.split_to(len);
                return;
            }
            len -= first.len();
            self.slices.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes so many bytes at a time, and none in between.
    struct Slow(Vec<u8>, usize, bool);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let all: Vec<u8> = slices
                .iter()
                .flat_map(|slice| slice.iter().copied())
                .collect();
            let len = all.len().min(self.1);
            self.0.extend(&all[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn all_bytes_go_out_in_order(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..200),
            step in 1..400usize,
        ) {
            let (mut outgoing, mut slow) = (Outgoing::default(), Slow(Vec::new(), step, false));
            for piece in &pieces {
                outgoing.push(Bytes::from(piece.clone()));
                outgoing.write_to(&mut slow).unwrap();
            }
            while !outgoing.is_empty() {
                outgoing.write_to(&mut slow).unwrap();
            }
            prop_assert_eq!(slow.0, pieces.concat());
        }
    }

    #[test]
    fn chunks_are_framed_and_empty_ones_left_out() {
        let (mut outgoing, mut slow) = (Outgoing::default(), Slow(Vec::new(), 1000, true));
        outgoing.push_chunk(|outgoing| {
            outgoing.push(Bytes::from_static(b"some"));
            outgoing.push(Bytes::from_static(b" bytes"));
        });
        outgoing.push_chunk(|_| {});
        outgoing.push_last_chunk();
        assert_eq!(outgoing.len(), b"a\r\nsome bytes\r\n0\r\n\r\n".len());
        assert_eq!(outgoing.write_to(&mut slow).unwrap(), 20);
        assert_eq!(slow.0, b"a\r\nsome bytes\r\n0\r\n\r\n");
    }
}
