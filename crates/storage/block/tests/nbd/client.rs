//! A client that does what it is told, right or wrong. Numbers stand here once more, as the protocol has them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

pub const OPT_GO: u32 = 7;
pub const STRUCTURED: u32 = 8;
pub const SET_META: u32 = 10;
pub const ACK: u32 = 1;

pub struct Client {
    pub stream: UnixStream,
}

/// A reply of either kind.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Simple {
        error: u32,
        cookie: u64,
    },
    Chunk {
        done: bool,
        kind: u16,
        cookie: u64,
        data: Vec<u8>,
    },
}

/// The bytes of a request.
pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

impl Client {
    /// Greets with these flags.
    pub fn greet(stream: UnixStream, flags: u32) -> Client {
        let mut client = Client { stream };
        assert_eq!(&client.take(16), b"NBDMAGICIHAVEOPT");
        assert_eq!(client.take(2), [0, 3]);
        client.send(&flags.to_be_bytes());
        client
    }

    /// Begins with structured replies and `base:allocation`, or without either.
    pub fn start(stream: UnixStream, structured: bool) -> Client {
        let mut client = Client::greet(stream, 3);
        if structured {
            client.option(STRUCTURED, b"");
            assert_eq!(client.option_reply(STRUCTURED), (ACK, vec![]));
            client.option(SET_META, &meta(b"", &[b"base:allocation"]));
            let context = [b"\0\0\0\x01".as_slice(), b"base:allocation"].concat();
            assert_eq!(client.option_reply(SET_META), (4, context));
            assert_eq!(client.option_reply(SET_META), (ACK, vec![]));
        }
        client.option(OPT_GO, &[0; 6]);
        while client.option_reply(OPT_GO).0 != ACK {}
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn number(&mut self, len: usize) -> u64 {
        self.take(len)
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        let mut bytes = b"IHAVEOPT".to_vec();
        bytes.extend(option.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.send(&bytes);
    }

    /// The kind and data of the next reply to `option`.
    pub fn option_reply(&mut self, option: u32) -> (u32, Vec<u8>) {
        assert_eq!(self.number(8), 0x3e889045565a9);
        assert_eq!(self.number(4), u64::from(option));
        let (kind, len) = (self.number(4) as u32, self.number(4) as usize);
        (kind, self.take(len))
    }

    pub fn request(&mut self, flags: u16, command: u16, cookie: u64, offset: u64, length: u32) {
        self.send(&request(flags, command, cookie, offset, length));
    }

    /// A request to write, with what is to be written.
    pub fn write(&mut self, flags: u16, cookie: u64, offset: u64, bytes: &[u8]) {
        self.request(flags, 1, cookie, offset, bytes.len() as u32);
        self.send(bytes);
    }

    /// What a client without structured replies reads, which has to be there.
    pub fn read(&mut self, offset: u64, length: usize) -> Vec<u8> {
        self.request(0, 0, 99, offset, length as u32);
        let wanted = Reply::Simple {
            error: 0,
            cookie: 99,
        };
        assert_eq!(self.reply(), wanted, "{length} at {offset}");
        self.take(length)
    }

    pub fn reply(&mut self) -> Reply {
        match self.number(4) {
            0x67446698 => Reply::Simple {
                error: self.number(4) as u32,
                cookie: self.number(8),
            },
            0x668e33ef => {
                let (done, kind) = (self.number(2) == 1, self.number(2) as u16);
                let (cookie, len) = (self.number(8), self.number(4) as usize);
                let data = self.take(len);
                Reply::Chunk {
                    done,
                    kind,
                    cookie,
                    data,
                }
            }
            magic => panic!("no reply: {magic:x}"),
        }
    }

    /// The error number of the next reply, which is the whole of an answer.
    pub fn error(&mut self) -> u32 {
        match self.reply() {
            Reply::Simple { error, .. } => error,
            Reply::Chunk {
                done, kind, data, ..
            } => {
                assert!(done && (kind == 0 || kind >= 0x8000), "kind {kind}");
                data.first_chunk()
                    .map_or(0, |error| u32::from_be_bytes(*error))
            }
        }
    }

    /// Whether the server has ended the connection.
    pub fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 64]), Ok(0) | Err(_))
    }
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
pub fn meta(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let string = |text: &[u8]| [&(text.len() as u32).to_be_bytes(), text].concat();
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| data.extend(string(query)));
    data
}
