//! `movie`: a file as a stream, within a graph.

use super::{Arg, Entry, Filter, Role};

pub const ENTRY: Entry = Entry {
    name: "movie",
    aliases: &[],
    about: "read another file, as a second -i does",
    args: &[Arg::required("filename", "the name of the file")],
    role: Role::EveryPlane,
    build: |args| {
        let name = args.parsed("filename", |text| Ok(text.to_owned()))?;
        Ok(Box::new(Movie { name }))
    },
};

struct Movie {
    name: String,
}

impl Filter for Movie {
    fn inputs(&self) -> usize {
        0
    }

    fn file(&self) -> Option<&str> {
        Some(&self.name)
    }
}
