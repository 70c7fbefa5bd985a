//! What goes through the gateway: bytes for clients, and where they may be cut.

use bytes::Bytes;

/// What a part of a stream is for, which says what a client can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A picture that no other refers to.
    Disposable,
    /// A picture that others refer to.
    Reference,
    /// A picture that needs no other.
    Key,
    /// Sound and other data that are small and that nothing refers to.
    Sound,
    /// What decoders need before all else: tables, headers.
    Table,
}

/// Bytes that a client gets all of or none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many; at least 1.
    pub len: u32,
    /// What they are for.
    pub class: Class,
    /// They are the first of a picture: what follows of the same class, up to the next that begins, is of it too.
    pub begins: bool,
}

/// Bytes that came together, whole packets of the format that clients get.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// For clients.
    pub bytes: Bytes,
    /// How they are divided: the lengths add up to that of `bytes`.
    pub parts: Vec<Part>,
}

impl Chunk {
    /// Whether a client may begin here: with a table or a key picture first.
    pub fn starts(&self) -> bool {
        self.parts
            .iter()
            .any(|part| part.class == Class::Key && part.begins)
    }
}
