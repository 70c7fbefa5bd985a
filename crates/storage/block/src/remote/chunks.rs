//! Pieces of an image that were fetched from its server.

use std::sync::{Arc, Mutex};

use evener_files::lock;

/// How many are kept: some for each thread that reads, and tables that are read often.
const KEPT: usize = 32;

/// The pieces of an image that were read last. A piece that several threads want is fetched once.
#[derive(Debug)]
pub struct Chunks {
    size: u64,
    chunk: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By when they were used last; the first is the oldest.
    chunks: Vec<(u64, Chunk)>,
}

/// The bytes, once they are there.
type Chunk = Arc<Mutex<Option<Vec<u8>>>>;

impl Chunks {
    /// Of an image of `size` bytes, in pieces of `chunk` bytes.
    pub fn new(size: u64, chunk: u64) -> Chunks {
        Chunks {
            size,
            chunk,
            kept: Mutex::default(),
        }
    }

    /// Bytes of the image.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `room` from byte `at` on, and fetches what is not there: `fetch` fills a piece from a byte on.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub fn read<E>(
        &self,
        at: u64,
        room: &mut [u8],
        fetch: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        while done < room.len() {
            let from = at + done as u64;
            let number = from / self.chunk;
            let start = number * self.chunk;
            let chunk = self.chunk(number);
            let mut bytes = lock(&chunk);
            let bytes = match &mut *bytes {
                Some(bytes) => bytes,
                nothing => {
                    let len = self.chunk.min(self.size - start);
                    let mut fetched = vec![0; len as usize];
                    fetch(start, &mut fetched)?;
                    nothing.insert(fetched)
                }
            };
            let there = &bytes[(from - start) as usize..];
            let len = there.len().min(room.len() - done);
            room[done..done + len].copy_from_slice(&there[..len]);
            done += len;
        }
        Ok(())
    }

    fn chunk(&self, number: u64) -> Chunk {
        let mut kept = lock(&self.kept);
        let chunks = &mut kept.chunks;
        let chunk = match chunks.iter().position(|(kept, _)| *kept == number) {
            Some(place) => chunks.remove(place).1,
            None => {
                if chunks.len() >= KEPT {
                    chunks.remove(0);
                }
                Chunk::default()
            }
        };
        chunks.push((number, Arc::clone(&chunk)));
        chunk
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_piece_is_fetched_once_and_a_failure_is_not_kept() {
        let image: Vec<u8> = (0..1000u32).map(|n| (n * 7) as u8).collect();
        let chunks = Chunks::new(1000, 64);
        let fetched = AtomicUsize::new(0);
        let fetch = |at: u64, room: &mut [u8]| {
            fetched.fetch_add(1, Ordering::Relaxed);
            room.copy_from_slice(&image[at as usize..][..room.len()]);
            Ok::<(), ()>(())
        };
        assert_eq!(chunks.read(0, &mut [0; 10], |_, _| Err(())), Err(()));
        let mut room = vec![0; 1000];
        chunks.read(0, &mut room, fetch).unwrap();
        assert!(room == image);
        assert_eq!(fetched.load(Ordering::Relaxed), 16);
        for at in [0, 63, 64, 500, 990] {
            let mut room = [0; 10];
            chunks.read(at, &mut room, fetch).unwrap();
            assert_eq!(room, image[at as usize..][..10]);
        }
        assert_eq!(fetched.load(Ordering::Relaxed), 16);
    }
}
