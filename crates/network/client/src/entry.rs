//! Requests of an application, and the engine's replies, as they are in shared memory.
//!
//! Numbers are in the order of bytes of the machine, as both sides are on it. An error is a number of the operating
//! system's, as programs know those.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use super::layout::ENTRY;
use crate::SocketId;

/// Bytes of an address.
pub const ADDRESS: usize = 24;

/// Bytes of the key of an heir.
pub const KEY: usize = 16;

/// An option of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Small segments are sent at once, and do not wait for acknowledgments.
    NoDelay(bool),
    /// An idle connection is probed.
    KeepAlive(bool),
}

/// What an application asks for. Connections are named by their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To listen at an address, with others if all of them `share` it. The reply has the number of the listener and its
    /// address.
    Listen {
        local: SocketAddr,
        backlog: u32,
        share: bool,
    },
    /// To end a listener.
    Unlisten { listener: u32 },
    /// To connect. The reply has the slot, its generation and the local address.
    Connect {
        local: Option<SocketAddr>,
        remote: SocketAddr,
    },
    /// To have a socket of UDP, with others at the same address if all of them `share` it. The reply is as that to `Connect`.
    Bind {
        local: SocketAddr,
        remote: Option<SocketAddr>,
        share: bool,
    },
    /// That a socket of UDP has another address, or another peer or none.
    Reconnect {
        slot: u32,
        local: SocketAddr,
        remote: Option<SocketAddr>,
    },
    /// To send no more after what is written.
    Shutdown { slot: u32 },
    /// The application no longer has the connection: what is written is sent.
    Close { slot: u32 },
    /// The same, and the connection is reset.
    Abort { slot: u32 },
    /// To set an option.
    Choose { slot: u32, choice: Choice },
    /// That the heir with a key, a process that the application is about to fork, has something that the application has.
    Bequeath { key: [u8; KEY], socket: SocketId },
    /// That the application is the heir with a key.
    Inherit { key: [u8; KEY] },
    /// A connection or a socket of UDP that the application inherited, or that passed to another process. The reply is as
    /// that to `Connect`.
    Adopt { socket: SocketId },
    /// To listen as an inherited listener does. The reply is as that to `Listen`.
    Join { socket: SocketId },
    /// That the application no longer has what it inherited.
    Release { socket: SocketId },
    /// That connections are to come to a listener, though others joined it.
    Accept { listener: u32 },
    /// That the end of the process closes what it has, as `Close` does, and resets nothing.
    CloseAtEnd,
    /// To describe a connection. The reply has [`Reply::numbers`].
    Describe { slot: u32 },
}

impl Request {
    /// As it is in memory.
    pub fn encode(&self) -> [u8; ENTRY] {
        let (kind, number, value, first, second) = match *self {
            Request::Listen {
                local,
                backlog,
                share,
            } => (1, backlog, u64::from(share), Some(local), None),
            Request::Unlisten { listener } => (2, listener, 0, None, None),
            Request::Connect { local, remote } => (3, 0, 0, local, Some(remote)),
            Request::Shutdown { slot } => (4, slot, 0, None, None),
            Request::Close { slot } => (5, slot, 0, None, None),
            Request::Abort { slot } => (6, slot, 0, None, None),
            Request::Choose { slot, choice } => match choice {
                Choice::NoDelay(on) => (7, slot, u64::from(on), None, None),
                Choice::KeepAlive(on) => (8, slot, u64::from(on), None, None),
            },
            Request::Describe { slot } => (9, slot, 0, None, None),
            Request::Bind {
                local,
                remote,
                share,
            } => (10, 0, u64::from(share), Some(local), remote),
            Request::CloseAtEnd => (11, 0, 0, None, None),
            Request::Bequeath { socket, .. } => {
                (12, socket.index, socket.generation.into(), None, None)
            }
            Request::Inherit { .. } => (13, 0, 0, None, None),
            Request::Adopt { socket } => (14, socket.index, socket.generation.into(), None, None),
            Request::Join { socket } => (15, socket.index, socket.generation.into(), None, None),
            Request::Release { socket } => (16, socket.index, socket.generation.into(), None, None),
            Request::Accept { listener } => (17, listener, 0, None, None),
            Request::Reconnect {
                slot,
                local,
                remote,
            } => (18, slot, 0, Some(local), remote),
        };
        let mut bytes = [0; ENTRY];
        bytes[0] = kind;
        bytes[4..8].copy_from_slice(&u32::to_ne_bytes(number));
        bytes[8..16].copy_from_slice(&u64::to_ne_bytes(value));
        bytes[16..40].copy_from_slice(&encode_address(first));
        bytes[40..64].copy_from_slice(&encode_address(second));
        if let Request::Bequeath { key, .. } | Request::Inherit { key } = self {
            bytes[16..16 + KEY].copy_from_slice(key);
        }
        bytes
    }

    /// From memory; `None` if it is no request.
    pub fn decode(bytes: &[u8; ENTRY]) -> Option<Request> {
        let number = u32::from_ne_bytes(bytes[4..8].try_into().ok()?);
        let value = u64::from_ne_bytes(bytes[8..16].try_into().ok()?);
        let first = decode_address(bytes[16..40].try_into().ok()?);
        let second = decode_address(bytes[40..64].try_into().ok()?);
        let choose = |choice| Request::Choose {
            slot: number,
            choice,
        };
        let key = bytes[16..16 + KEY].try_into().ok()?;
        let socket = SocketId {
            index: number,
            generation: value as u32,
        };
        Some(match bytes[0] {
            1 => Request::Listen {
                local: first?,
                backlog: number,
                share: value != 0,
            },
            2 => Request::Unlisten { listener: number },
            3 => Request::Connect {
                local: first,
                remote: second?,
            },
            4 => Request::Shutdown { slot: number },
            5 => Request::Close { slot: number },
            6 => Request::Abort { slot: number },
            7 => choose(Choice::NoDelay(value != 0)),
            8 => choose(Choice::KeepAlive(value != 0)),
            9 => Request::Describe { slot: number },
            10 => Request::Bind {
                local: first?,
                remote: second,
                share: value != 0,
            },
            11 => Request::CloseAtEnd,
            12 => Request::Bequeath { key, socket },
            13 => Request::Inherit { key },
            14 => Request::Adopt { socket },
            15 => Request::Join { socket },
            16 => Request::Release { socket },
            17 => Request::Accept { listener: number },
            18 => Request::Reconnect {
                slot: number,
                local: first?,
                remote: second,
            },
            _ => return None,
        })
    }
}

/// What an engine answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// 0, or the error.
    pub error: i32,
    /// A slot or the number of a listener.
    pub number: u32,
    /// Which connection of the slot it is.
    pub generation: u32,
    /// The local address.
    pub local: Option<SocketAddr>,
    /// Measures of a connection, in the order of [`Description`](crate::client::Description); of a listener its [`SocketId`].
    pub numbers: [u32; 6],
}

impl Reply {
    /// An error.
    pub fn error(error: i32) -> Reply {
        Reply {
            error,
            ..Reply::default()
        }
    }

    /// As it is in memory.
    pub fn encode(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[0..4].copy_from_slice(&self.error.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.generation.to_ne_bytes());
        bytes[16..40].copy_from_slice(&encode_address(self.local));
        for (to, number) in bytes[40..].chunks_exact_mut(4).zip(self.numbers) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// From memory.
    pub fn decode(bytes: &[u8; ENTRY]) -> Reply {
        let word = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
        Reply {
            error: i32::from_ne_bytes(word(0)),
            number: u32::from_ne_bytes(word(4)),
            generation: u32::from_ne_bytes(word(8)),
            local: decode_address(bytes[16..40].try_into().expect("an address")),
            numbers: std::array::from_fn(|n| u32::from_ne_bytes(word(40 + 4 * n))),
        }
    }
}

/// An address, or none.
pub fn encode_address(address: Option<SocketAddr>) -> [u8; ADDRESS] {
    let mut bytes = [0; ADDRESS];
    let Some(address) = address else {
        return bytes;
    };
    bytes[2..4].copy_from_slice(&address.port().to_ne_bytes());
    match address {
        SocketAddr::V4(v4) => {
            bytes[0] = 4;
            bytes[8..12].copy_from_slice(&v4.ip().octets());
        }
        SocketAddr::V6(v6) => {
            bytes[0] = 6;
            bytes[4..8].copy_from_slice(&v6.scope_id().to_ne_bytes());
            bytes[8..24].copy_from_slice(&v6.ip().octets());
        }
    }
    bytes
}

/// The address of some bytes, if they are one.
pub fn decode_address(bytes: &[u8; ADDRESS]) -> Option<SocketAddr> {
    let port = u16::from_ne_bytes([bytes[2], bytes[3]]);
    let ip = |len: usize| &bytes[8..8 + len];
    match bytes[0] {
        4 => {
            let ip: [u8; 4] = ip(4).try_into().ok()?;
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port))
        }
        6 => {
            let scope = u32::from_ne_bytes(bytes[4..8].try_into().ok()?);
            let ip: [u8; 16] = ip(16).try_into().ok()?;
            let address = SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, scope);
            Some(SocketAddr::V6(address))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_request_comes_back() {
        let four: SocketAddr = "10.1.0.1:80".parse().unwrap();
        let six: SocketAddr = "[fe80::1%3]:443".parse().unwrap();
        let slot = 77;
        let socket = SocketId {
            index: 1 << 31,
            generation: 9,
        };
        for request in [
            Request::Listen {
                local: six,
                backlog: 5,
                share: true,
            },
            Request::Unlisten { listener: 3 },
            Request::Connect {
                local: Some(four),
                remote: six,
            },
            Request::Connect {
                local: None,
                remote: four,
            },
            Request::Shutdown { slot },
            Request::Close { slot },
            Request::Abort { slot },
            Request::Choose {
                slot,
                choice: Choice::NoDelay(true),
            },
            Request::Choose {
                slot,
                choice: Choice::KeepAlive(false),
            },
            Request::Describe { slot },
            Request::Bind {
                local: four,
                remote: Some(six),
                share: false,
            },
            Request::CloseAtEnd,
            Request::Bequeath {
                key: [7; KEY],
                socket,
            },
            Request::Inherit { key: [8; KEY] },
            Request::Adopt { socket },
            Request::Join { socket },
            Request::Release { socket },
            Request::Accept { listener: 6 },
            Request::Reconnect {
                slot,
                local: six,
                remote: None,
            },
        ] {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let reply = Reply {
            error: -3,
            number: 4,
            generation: 5,
            local: Some(six),
            numbers: [1, 2, 3, 4, 5, u32::MAX],
        };
        assert_eq!(Reply::decode(&reply.encode()), reply);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_none(bytes: [u8; 32], more: [u8; 32], kind in 0..20u8) {
            let mut all = [0; ENTRY];
            all[..32].copy_from_slice(&bytes);
            all[32..].copy_from_slice(&more);
            all[0] = kind;
            if let Some(request) = Request::decode(&all) {
                prop_assert_eq!(Request::decode(&request.encode()), Some(request));
            }
            Reply::decode(&all);
        }
    }
}
