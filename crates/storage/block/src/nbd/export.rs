//! The exports of a server.

use std::ops::Range;

use crate::serve::{ServeContext, Store};

/// The longest name of an export, in bytes.
pub const MAX_NAME: usize = 4096;

/// A served image with a name that clients request.
pub struct NamedExport {
    /// The name.
    pub name: String,
    /// The image and its server state.
    pub context: ServeContext,
    /// The bytes of the image that clients see.
    pub bytes: Range<u64>,
}

/// The properties of an export for clients.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// The first byte of the image that clients see.
    pub start: u64,
    /// The number of bytes they see.
    pub size: u64,
    /// The preferred size of a request.
    pub block: u32,
    /// Whether it is writable.
    pub writable: bool,
}

impl NamedExport {
    pub(super) fn store(&self) -> &Store {
        &self.context.store
    }

    pub(super) fn export(&self) -> Export {
        let store = self.store();
        let block = store.image().block_size();
        Export {
            start: self.bytes.start,
            size: self.bytes.end - self.bytes.start,
            // The protocol demands a power of two, of 512 at least.
            block: block.clamp(512, crate::MAX_BLOCK).next_power_of_two(),
            writable: store.overlay().is_some(),
        }
    }
}

/// The export with this name. The empty name is the default export, if there is only one.
pub fn find<'a>(exports: &'a [NamedExport], name: &[u8]) -> Option<&'a NamedExport> {
    let named = |export: &&NamedExport| export.name.as_bytes() == name;
    exports.iter().find(named).or(match exports {
        [only] if name.is_empty() => Some(only),
        _ => None,
    })
}
