//! Datagrams in rings: a header of [`LEN`] bytes that says whose and how long, the bytes, and what aligns the next.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 4 | bytes of payload |
//! | 4 to 6 | bytes in each datagram, if there are several under one header; 0 if it is one |
//! | 6 to 8 | the peer's port |
//! | 8 | 4 or 6: the version of its address |
//! | 12 to 16 | how much of several datagrams the receiver has read: it writes this itself |
//! | 16 to 32 | its address; of version 4 the first four bytes |
//!
//! Numbers are little-endian.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::memory::{Corrupt, Reader, Writer};

/// Bytes of a header.
pub const LEN: usize = 32;
const TAKEN: usize = 12;
/// Bytes of payload at most: of several datagrams too.
pub const MAX_PAYLOAD: usize = 65_507;
/// Datagrams that are sent under one header at most, as Linux's `UDP_MAX_SEGMENTS`. An application whose record asks for
/// more is cut off: each is a packet, and others wait meanwhile.
pub const MAX_DATAGRAMS: usize = 128;

/// What is known of a datagram, or of several of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bytes of payload.
    pub len: usize,
    /// Bytes in each datagram but the last; 0 for one.
    pub segment: u16,
    /// Where it comes from or goes to. An unspecified address: where the socket is connected to.
    pub remote: SocketAddr,
}

impl Record {
    /// As it is in a ring.
    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[0..4].copy_from_slice(&(self.len as u32).to_le_bytes());
        bytes[4..6].copy_from_slice(&self.segment.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.remote.port().to_le_bytes());
        match self.remote.ip() {
            IpAddr::V4(ip) => {
                bytes[8] = 4;
                bytes[16..20].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes[8] = 6;
                bytes[16..32].copy_from_slice(&ip.octets());
            }
        }
        bytes
    }

    /// From a ring.
    ///
    /// # Errors
    /// [`Corrupt`] when it cannot be.
    pub fn decode(bytes: &[u8; LEN]) -> Result<Record, Corrupt> {
        let len = u32::from_le_bytes(std::array::from_fn(|index| bytes[index])) as usize;
        let segment = u16::from_le_bytes([bytes[4], bytes[5]]);
        let port = u16::from_le_bytes([bytes[6], bytes[7]]);
        let address: [u8; 16] = std::array::from_fn(|index| bytes[16 + index]);
        let ip = match bytes[8] {
            4 => Ipv4Addr::new(address[0], address[1], address[2], address[3]).into(),
            6 => Ipv6Addr::from(address).into(),
            _ => return Err(Corrupt),
        };
        if len > MAX_PAYLOAD {
            return Err(Corrupt);
        }
        Ok(Record {
            len,
            segment,
            remote: SocketAddr::new(ip, port),
        })
    }

    /// How many there are.
    pub fn datagrams(&self) -> usize {
        match self.segment {
            0 => 1,
            segment => self.len.div_ceil(usize::from(segment)).max(1),
        }
    }

    /// Bytes that it takes in a ring.
    pub fn room(&self) -> usize {
        LEN + self.len.next_multiple_of(8)
    }
}

/// Puts a datagram into a ring. False if there is no room.
///
/// # Panics
/// If the record is of another number of bytes.
pub fn write(writer: &mut Writer, record: &Record, bytes: &[u8]) -> bool {
    assert_eq!(record.len, bytes.len(), "the bytes of the record");
    if writer.room() < record.room() {
        return false;
    }
    writer.write(&record.encode());
    writer.write(bytes);
    writer.write(&[0; 8][..record.room() - LEN - bytes.len()]);
    true
}

/// Takes a datagram from a ring, if there is one, and as much of it as `to` has room for: the rest is lost.
///
/// # Errors
/// [`Corrupt`] when there is none where one should be.
pub fn read(reader: &mut Reader, to: &mut [u8]) -> Result<Option<Record>, Corrupt> {
    let record = peek(reader, to)?;
    if let Some(record) = &record {
        reader.advance(record.room());
    }
    Ok(record)
}

/// How much of the datagrams that [`peek`] finds was read before.
pub fn taken(reader: &Reader) -> usize {
    let mut taken = [0; 4];
    if reader.available() >= LEN {
        reader.peek_at(TAKEN, &mut taken);
    }
    u32::from_le_bytes(taken) as usize
}

/// Notes how much of the datagrams that [`peek`] finds was read.
pub fn set_taken(reader: &Reader, taken: usize) {
    reader.mark_at(TAKEN, &(taken as u32).to_le_bytes());
}

/// As [`read`], and the datagram stays.
///
/// # Errors
/// As `read`.
pub fn peek(reader: &Reader, to: &mut [u8]) -> Result<Option<Record>, Corrupt> {
    if reader.available() < LEN {
        return Ok(None);
    }
    let mut header = [0; LEN];
    reader.peek(&mut header);
    let record = Record::decode(&header)?;
    if reader.available() < record.room() {
        return Ok(None);
    }
    let len = record.len.min(to.len());
    reader.peek_at(LEN, &mut to[..len]);
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Region, Span, ring_len};

    #[test]
    fn what_is_written_is_read_around_the_end_of_a_ring() {
        let region = Region::private(ring_len(256)).unwrap();
        let span = Span::new(&region, 0, ring_len(256));
        let mut writer = Writer::new(&span);
        let mut reader = Reader::new(&span);
        for (number, len) in [0, 1, 7, 8, 100, 31, 64]
            .into_iter()
            .cycle()
            .take(50)
            .enumerate()
        {
            let ip: IpAddr = if number % 2 == 0 {
                [10, 1, 2, 3].into()
            } else {
                Ipv6Addr::LOCALHOST.into()
            };
            let record = Record {
                len,
                segment: number as u16,
                remote: SocketAddr::new(ip, 1000 + number as u16),
            };
            let bytes = vec![number as u8; len];
            assert!(write(&mut writer, &record, &bytes));
            let mut to = [0; 128];
            assert_eq!(read(&mut reader, &mut to), Ok(Some(record)));
            assert_eq!(&to[..len], bytes);
            assert_eq!(read(&mut reader, &mut to), Ok(None));
        }
    }

    #[test]
    fn a_full_ring_and_a_header_that_cannot_be_are_refused() {
        let region = Region::private(ring_len(64)).unwrap();
        let span = Span::new(&region, 0, ring_len(64));
        let mut writer = Writer::new(&span);
        let record = Record {
            len: 33,
            segment: 0,
            remote: SocketAddr::new([0, 0, 0, 0].into(), 1),
        };
        assert!(!write(&mut writer, &record, &[0; 33]));
        let mut bytes = record.encode();
        bytes[8] = 5;
        assert_eq!(Record::decode(&bytes), Err(Corrupt));
        bytes[8] = 4;
        bytes[2] = 1;
        assert_eq!(Record::decode(&bytes), Err(Corrupt));
    }
}
