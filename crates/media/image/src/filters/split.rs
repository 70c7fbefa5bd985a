//! `split`: a stream twice or more often.

use super::{Arg, Entry, Filter, Role};

pub const ENTRY: Entry = Entry {
    name: "split",
    aliases: &[],
    about: "give a stream to several filters",
    args: &[Arg::optional("outputs", "2", "how many")],
    role: Role::EveryPlane,
    build: |args| {
        let outputs = args.integer("outputs", 1..=64)? as usize;
        Ok(Box::new(Split { outputs }))
    },
};

/// It, for so many.
pub(crate) struct Split {
    pub outputs: usize,
}

impl Filter for Split {
    fn outputs(&self) -> usize {
        self.outputs
    }
}
