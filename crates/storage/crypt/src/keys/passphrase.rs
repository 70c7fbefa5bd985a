//! Keys from passphrases, by Argon2id (RFC 9106).
//!
//! The header of a file describes how its key was derived:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 6 | `evener~` |
//! | 7 | version: 1 |
//! | 8 to 11 | memory in KiB, big-endian, as the next two |
//! | 12 to 15 | passes |
//! | 16 to 19 | lanes |
//! | 20 to 35 | salt |
//!
//! Version 1 means Argon2id 1.3 and Cobblestone-256, whose context begins with these 36 bytes, so that any change of
//! them is noticed.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroize;

use super::{Key, RandomError};

/// The size of the header in bytes.
pub const HEADER: usize = 36;
const MAGIC: &[u8; 7] = b"evener~";
const VERSION: u8 = 1;
const SALT: usize = 16;

/// The cost of deriving a key, which is also the cost of each guess at the passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Parts of the memory that can be computed in parallel.
    pub lanes: u32,
}

impl Cost {
    /// 64 MiB, three passes, four lanes: the second recommendation of RFC 9106, which fits small machines.
    pub const DEFAULT: Cost = Cost {
        memory: 64 << 10,
        passes: 3,
        lanes: 4,
    };
    /// The memory limit, in KiB: a file must not be able to exhaust a machine.
    pub const MAX_MEMORY: u32 = 1 << 20;
    /// The limit of memory times passes, in KiB: about ten seconds.
    pub const MAX_WORK: u64 = 8 << 20;
    /// The limit of lanes.
    pub const MAX_LANES: u32 = 64;

    fn check(self) -> Result<Params, PassphraseError> {
        let work = u64::from(self.memory) * u64::from(self.passes);
        let too_much =
            self.memory > Cost::MAX_MEMORY || work > Cost::MAX_WORK || self.lanes > Cost::MAX_LANES;
        if too_much {
            return Err(PassphraseError::TooCostly(self));
        }
        Params::new(self.memory, self.passes, self.lanes, Some(32))
            .map_err(|_| PassphraseError::TooCheap(self))
    }
}

/// The parameters with which the key of a file is derived from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassphraseHeader {
    cost: Cost,
    salt: [u8; SALT],
}

/// A passphrase or a header yields no key. Every message is one line.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassphraseError {
    /// There is no such header.
    #[error(
        "was not encrypted with a passphrase by evener: it has no evener passphrase header; try a key file"
    )]
    NoHeader,
    /// It is of a version this program does not know.
    #[error(
        "was encrypted with a passphrase in version {0} of the format, this evener knows {VERSION}; use a newer one"
    )]
    Version(u8),
    /// The header asks for more than is allowed.
    #[error(
        "asks for {} KiB of memory, {} passes and {} lanes to make the key; allowed are {} KiB, {} KiB in all passes \
         together and {} lanes, so it is damaged or made to do harm",
        .0.memory, .0.passes, .0.lanes, Cost::MAX_MEMORY, Cost::MAX_WORK, Cost::MAX_LANES
    )]
    TooCostly(Cost),
    /// The header asks for less than Argon2 can do with.
    #[error(
        "asks for {} KiB of memory, {} passes and {} lanes to make the key; Argon2 needs at least 8 KiB a lane, a pass \
         and a lane, so it is damaged",
        .0.memory, .0.passes, .0.lanes
    )]
    TooCheap(Cost),
    /// The passphrase has no characters.
    #[error("the passphrase is empty")]
    Empty,
    /// The passphrase is longer than passphrase readers accept, or has 4 GiB or more.
    #[error("the passphrase is too long")]
    TooLong,
    /// The passphrase contains a NUL byte.
    #[error("the passphrase has a NUL byte in it; write it as one line of plain text (UTF-8)")]
    Nul,
    /// There is not enough memory for the derivation.
    #[error("making the key needs {0} KiB of memory, which cannot be had")]
    Memory(u32),
    /// There is no salt for the header.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl PassphraseHeader {
    /// Creates a header for a new file.
    ///
    /// # Errors
    /// The cost is out of bounds, or the operating system provides no randomness.
    pub fn generate(cost: Cost) -> Result<Self, PassphraseError> {
        cost.check()?;
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt).map_err(RandomError)?;
        Ok(PassphraseHeader { cost, salt })
    }

    /// Parses the header of a file that starts with `bytes`.
    ///
    /// # Errors
    /// There is no header, or it has another version or an invalid cost.
    pub fn parse(bytes: &[u8]) -> Result<Self, PassphraseError> {
        let header = bytes.first_chunk::<HEADER>();
        if !bytes.starts_with(MAGIC) {
            return Err(PassphraseError::NoHeader);
        }
        match bytes.get(MAGIC.len()) {
            Some(&VERSION) => {}
            Some(&other) => return Err(PassphraseError::Version(other)),
            None => return Err(PassphraseError::NoHeader),
        }
        let header = header.ok_or(PassphraseError::NoHeader)?;
        let number = |at: usize| {
            let bytes = header[at..at + 4].try_into().expect("four bytes");
            u32::from_be_bytes(bytes)
        };
        let cost = Cost {
            memory: number(8),
            passes: number(12),
            lanes: number(16),
        };
        cost.check()?;
        let salt = header[20..].try_into().expect("what is left is the salt");
        Ok(PassphraseHeader { cost, salt })
    }

    /// The bytes of the header.
    pub fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = VERSION;
        bytes[8..12].copy_from_slice(&self.cost.memory.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.cost.passes.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.cost.lanes.to_be_bytes());
        bytes[20..].copy_from_slice(&self.salt);
        bytes
    }

    /// The cost of deriving the key.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The context of the following chunks: the header and then `user`.
    pub fn context(&self, user: &[u8]) -> Vec<u8> {
        [&self.to_bytes(), user].concat()
    }

    /// Derives the key from `passphrase`, at the [cost](PassphraseHeader::cost) in the header.
    ///
    /// # Errors
    /// The passphrase cannot be used, or there is not enough memory.
    pub fn key(&self, passphrase: &[u8]) -> Result<Key, PassphraseError> {
        if passphrase.is_empty() {
            return Err(PassphraseError::Empty);
        }
        if u32::try_from(passphrase.len()).is_err() {
            return Err(PassphraseError::TooLong);
        }
        let params = self.cost.check()?;
        let blocks = params.block_count();
        let mut memory: Vec<Block> = Vec::new();
        memory
            .try_reserve_exact(blocks)
            .map_err(|_| PassphraseError::Memory(self.cost.memory))?;
        memory.resize(blocks, Block::default());
        let mut key = Key([0; 32]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2
            .hash_password_into_with_memory(passphrase, &self.salt, &mut key.0, &mut memory)
            .expect("lengths of passphrase, salt and key were checked");
        memory.iter_mut().for_each(Zeroize::zeroize);
        Ok(key)
    }
}
