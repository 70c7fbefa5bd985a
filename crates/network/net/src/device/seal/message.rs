//! What the two ends of a tunnel send.
//!
//! Sealed packets, of which several may follow one another in what the system hands over:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 | the version, 1 |
//! | 1 | 4; 5 if the checksum of the packet is partial |
//! | 2 to 4 | bytes of the packet |
//! | 4 to 8 | the name of the session |
//! | 8 to 16 | the number of the packet |
//! | 16 to the end | the packet, sealed with AES-256-GCM. The bytes before it are authenticated, and the number is the nonce |
//!
//! Messages of the handshake:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 | the version, 1 |
//! | 1 | 1 hello, 2 answer, 3 confirmation |
//! | 2 to 4 | 0 |
//! | 4 to 28 | the sender's salt |
//! | 28 to 52 | the receiver's salt; 0 in a hello |
//! | 52 to 84 | HMAC-SHA-512 of what is before it, its first half |
//!
//! Numbers have their highest byte first.

use evener_crypt::gcm::TAG;
use evener_crypt::keys::extract;

pub(super) const VERSION: u8 = 1;
/// Bytes before a packet that is sealed.
pub(super) const HEADER: usize = 16;
/// Bytes that a sealed packet has more than the packet.
pub(super) const OVERHEAD: usize = HEADER + TAG;
/// Bytes of a message of the handshake.
pub(super) const MESSAGE: usize = 84;

const PACKET: u8 = 4;
const PARTIAL: u8 = 5;

/// Random bytes that make a session another.
pub(super) type Salt = [u8; 24];

/// What comes before a sealed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub is_partial: bool,
    pub len: usize,
    pub session: u32,
    pub number: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION;
        bytes[1] = if self.is_partial { PARTIAL } else { PACKET };
        bytes[2..4].copy_from_slice(&(self.len as u16).to_be_bytes());
        bytes[4..8].copy_from_slice(&self.session.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// The nonce of the packet: none is used twice under a key, because numbers are not.
    pub(super) fn nonce(&self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.number.to_be_bytes());
        nonce
    }

    /// Of what is in front, if it is a sealed packet that is all there.
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let is_partial = match header[..2] {
            [VERSION, PACKET] => false,
            [VERSION, PARTIAL] => true,
            _ => return None,
        };
        let [.., a, b, c, d, e, f, g, h] = *header;
        let header = Header {
            is_partial,
            len: usize::from(u16::from_be_bytes([header[2], header[3]])),
            session: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            number: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        };
        (bytes.len() >= header.len + OVERHEAD).then_some(header)
    }
}

/// A message of the handshake: whose salt, and who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub kind: Kind,
    pub sender: Salt,
    pub receiver: Salt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It asks for a session.
    Hello = 1,
    /// It offers one to the sender of a hello.
    Answer = 2,
    /// The session is there.
    Confirmation = 3,
}

impl Message {
    pub(super) fn encode(&self, key: &[u8]) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[0] = VERSION;
        bytes[1] = self.kind as u8;
        bytes[4..28].copy_from_slice(&self.sender);
        bytes[28..52].copy_from_slice(&self.receiver);
        let code = extract(key, &bytes[..52]);
        bytes[52..].copy_from_slice(&code[..32]);
        bytes
    }

    /// Whether what is in front has the form of one.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        bytes.len() >= MESSAGE && bytes[0] == VERSION && (1..=3).contains(&bytes[1])
    }

    /// None if it was not made with this key.
    pub(super) fn decode(bytes: &[u8; MESSAGE], key: &[u8]) -> Option<Message> {
        let code = extract(key, &bytes[..52]);
        // All bytes are compared, so that time tells nothing.
        let differing = code.iter().zip(&bytes[52..]);
        let differing = differing.fold(0, |all, (own, other)| all | (own ^ other));
        let kind = match bytes[1] {
            1 => Kind::Hello,
            2 => Kind::Answer,
            3 => Kind::Confirmation,
            _ => return None,
        };
        (differing == 0).then(|| Message {
            kind,
            sender: std::array::from_fn(|at| bytes[4 + at]),
            receiver: std::array::from_fn(|at| bytes[28 + at]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written() {
        let header = Header {
            is_partial: true,
            len: 1000,
            session: 0x0102_0304,
            number: 5 << 40,
        };
        let mut bytes = header.encode().to_vec();
        bytes.resize(1000 + OVERHEAD, 0);
        assert_eq!(Header::decode(&bytes), Some(header));
        assert_eq!(Header::decode(&bytes[1..]), None);
        bytes.pop();
        assert_eq!(Header::decode(&bytes), None);
    }

    #[test]
    fn a_message_that_was_changed_is_none() {
        let message = Message {
            kind: Kind::Answer,
            sender: [1; 24],
            receiver: [2; 24],
        };
        let bytes = message.encode(b"a key");
        assert!(Message::is_one(&bytes));
        assert_eq!(Message::decode(&bytes, b"a key"), Some(message));
        assert_eq!(Message::decode(&bytes, b"b key"), None);
        for at in 0..MESSAGE {
            let mut changed = bytes;
            changed[at] ^= 4;
            assert_eq!(Message::decode(&changed, b"a key"), None);
        }
    }
}
