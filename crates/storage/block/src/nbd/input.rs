//! Reading what a client sends.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use super::channel::Channel;

/// Large enough to read many requests at once from a client that does not wait for replies.
const BUFFER: usize = 16 << 10;

struct ReadHalf(Arc<Channel>);

impl Read for ReadHalf {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }
}

/// The reading side of a connection.
pub struct Input {
    reader: BufReader<ReadHalf>,
}

impl Input {
    pub fn new(stream: &Arc<Channel>) -> Input {
        Input {
            reader: BufReader::with_capacity(BUFFER, ReadHalf(Arc::clone(stream))),
        }
    }

    /// Whether a byte can be read, or the client is gone.
    pub fn is_ready(&self) -> bool {
        !self.reader.buffer().is_empty() || self.reader.get_ref().0.is_ready()
    }

    /// Whether this number of bytes is in memory, so that reading them does not block.
    pub fn has(&self, bytes: usize) -> bool {
        self.reader.buffer().len() >= bytes
    }

    /// Whether the client has sent more than was taken.
    pub fn has_more(&self) -> bool {
        !self.reader.buffer().is_empty()
    }

    /// Waits for the next byte. `true`: there is none, since the client has ended the connection.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(bytes.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// This number of bytes. The caller limits it.
    pub fn bytes(&mut self, len: u32) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills `room`.
    pub fn fill(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.reader.read_exact(room)
    }

    /// Discards bytes.
    pub fn skip(&mut self, len: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.reader).take(len), &mut io::sink())? == len {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads the fields of an option, one after the other.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn u16(&mut self) -> Option<u16> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*number))
    }

    pub fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// A string: its length in 32 bits, then its bytes.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        let (string, rest) = self.0.split_at_checked(len as usize)?;
        self.0 = rest;
        Some(string)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
