//! `null`: the frame as it is.

use std::sync::Arc;

use super::{Entry, Filter, Role};

pub const ENTRY: Entry = Entry {
    name: "null",
    aliases: &["copy"],
    about: "pass frames through unchanged",
    args: &[],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Null { inputs: 1 })),
};

/// The first of several streams as it is.
pub(super) fn passing(inputs: usize) -> Arc<dyn Filter> {
    Arc::new(Null { inputs })
}

struct Null {
    inputs: usize,
}

impl Filter for Null {
    fn inputs(&self) -> usize {
        self.inputs
    }
}
