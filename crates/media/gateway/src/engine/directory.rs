//! Which engine has which source. Engines share this; packets do not go through it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use evener_files::lock;

use crate::engine::handle::Handle;

/// Sources by what clients ask for, and the engines that have them.
#[derive(Debug, Default)]
pub struct Directory(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    engines: Vec<Arc<Handle>>,
    /// The number of the engine that has a source, or opens it.
    homes: HashMap<String, usize>,
}

impl Directory {
    /// Adds an engine, and returns its number.
    pub(super) fn add(&self, engine: Arc<Handle>) -> usize {
        let mut inner = self.inner();
        inner.engines.push(engine);
        inner.engines.len() - 1
    }

    /// All engines by their numbers.
    pub fn engines(&self) -> Vec<Arc<Handle>> {
        self.inner().engines.clone()
    }

    /// The engine that has most room: a new client goes there.
    pub fn with_most_room(&self) -> Option<Arc<Handle>> {
        let inner = self.inner();
        inner
            .with_most_room(None)
            .map(|at| inner.engines[at].clone())
    }

    /// The engine that has a source, if it is not `here`. A source that no engine has is given to the one with most room,
    /// which may be this one.
    pub(super) fn elsewhere(&self, source: &str, here: usize) -> Option<Arc<Handle>> {
        let mut inner = self.inner();
        let home = match inner.homes.get(source) {
            Some(&home) => home,
            None => {
                let home = inner.with_most_room(Some(here)).unwrap_or(here);
                inner.homes.insert(source.to_owned(), home);
                if let Some(engine) = inner.engines.get(home) {
                    engine.place();
                }
                home
            }
        };
        (home != here).then(|| inner.engines[home].clone())
    }

    /// An engine has a source no longer.
    pub(super) fn remove(&self, source: &str, here: usize) {
        let mut inner = self.inner();
        if inner.homes.get(source) == Some(&here) {
            inner.homes.remove(source);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }
}

impl Inner {
    /// Among equals it is `here`, or the first.
    fn with_most_room(&self, here: Option<usize>) -> Option<usize> {
        let loads = self.engines.iter().enumerate();
        let loads = loads.map(|(at, engine)| (engine.weight(), Some(at) != here, at));
        loads.min().map(|(_, _, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::io::ThreadLoad;

    use super::*;

    #[test]
    fn new_sources_go_where_there_is_room_and_stay() {
        let directory = Directory::default();
        let engines: Vec<Arc<Handle>> = (0..2).map(|_| Arc::new(Handle::new().unwrap())).collect();
        for engine in &engines {
            directory.add(engine.clone());
        }
        let home = |source: &str, here: usize| match directory.elsewhere(source, here) {
            Some(engine) if Arc::ptr_eq(&engine, &engines[0]) => 0,
            Some(_) => 1,
            None => here,
        };
        assert_eq!((home("a", 1), home("a", 0)), (1, 1));
        // One has been placed there since.
        assert_eq!((home("b", 1), home("b", 0)), (0, 0));
        let busy = ThreadLoad {
            busy: 0.8,
            waited: 0.0,
        };
        engines[0].publish_load(busy);
        engines[1].publish_load(ThreadLoad::default());
        assert_eq!((home("c", 0), home("d", 0)), (1, 1));
        directory.remove("d", 0);
        assert_eq!(home("d", 0), 1);
        directory.remove("d", 1);
        engines[1].publish_load(ThreadLoad { busy: 1.0, ..busy });
        assert_eq!(home("d", 1), 0);
    }
}
