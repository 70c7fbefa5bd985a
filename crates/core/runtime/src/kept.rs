//! Entries that are kept between runs, in a small JSON file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::warn;

/// Version of the layout; a file of another version is not read.
const VERSION: u32 = 1;
/// Entries kept; the one written longest ago goes first.
const MOST: usize = 1000;
/// A file larger than this was not written by us.
const MOST_BYTES: u64 = 4 << 20;
/// How long a process waits for others that add an entry, which takes each a millisecond or two.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A file of entries.
///
/// Reading and writing never fail loudly: an entry that is not kept costs only time. A problem with a file is
/// reported once per process. Several processes may use one file. Each write replaces the file as a whole. Processes
/// that add entries take turns with a lock on a file beside it, whose name ends in `.lock` and which remains. If
/// there are no locks, or if a holder hangs, an entry is added without the lock, and one of two simultaneous
/// additions may be lost.
#[derive(Clone, Debug)]
pub struct Kept {
    path: PathBuf,
    /// The entries, as the file and messages name them.
    what: &'static str,
    /// Whether it is told that the file cannot be read or written, beside that it is damaged.
    tells: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry<T> {
    #[serde(flatten)]
    value: T,
    /// Seconds since 1970.
    written: u64,
}

type Entries<T> = BTreeMap<String, Entry<T>>;

/// The folder `evener` in the user's cache folder: `$XDG_CACHE_HOME`, or else `~/.cache`. `None` if neither is known.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("evener"))
}

impl Kept {
    /// Uses this file. The first [`Kept::put`] creates it and its directory.
    pub fn at(path: PathBuf, what: &'static str) -> Kept {
        Kept {
            path,
            what,
            tells: true,
        }
    }

    /// Reports no problems with the file. For entries that can be measured again within milliseconds.
    pub fn quiet(self) -> Kept {
        Kept {
            tells: false,
            ..self
        }
    }

    /// A file in the [cache folder](cache_folder). `None` if there is no such folder.
    pub fn in_cache(name: &str, what: &'static str) -> Option<Kept> {
        Some(Kept::at(cache_folder()?.join(name), what))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry under `key`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        Some(self.read()?.remove(key)?.value)
    }

    /// All entries, by key.
    pub fn all<T: DeserializeOwned>(&self) -> BTreeMap<String, T> {
        let entries = self.read().unwrap_or_default();
        let values = entries.into_iter().map(|(key, entry)| (key, entry.value));
        values.collect()
    }

    /// Stores an entry under `key`. Entries that other processes wrote meanwhile are kept.
    pub fn put<T: Serialize + DeserializeOwned>(&self, key: &str, value: T) {
        self.put_all(BTreeMap::from([(key.to_owned(), value)]));
    }

    /// Stores several entries, each under its key.
    pub fn put_all<T: Serialize + DeserializeOwned>(&self, values: BTreeMap<String, T>) {
        let written = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let entry = |(key, value)| (key, Entry { value, written });
        self.merge(values.into_iter().map(entry).collect(), |_, _| true);
    }

    /// All entries, as the text of a file.
    pub fn text<T: Serialize + DeserializeOwned>(&self) -> String {
        let entries: Entries<T> = self.read().unwrap_or_default();
        let file = self
            .file(&entries)
            .and_then(|file| serde_json::to_string(&file));
        file.unwrap_or_default()
    }

    /// Adds the entries of a text from [`Kept::text`], of this machine or another one. The newer of two entries with
    /// the same key wins.
    ///
    /// # Errors
    /// The text is invalid; nothing is changed.
    pub fn add<T: Serialize + DeserializeOwned>(&self, text: &str) -> serde_json::Result<()> {
        let new: Entries<T> = serde_json::from_str(text).and_then(|file| self.entries(file))?;
        self.merge(new, |old, new| old.written < new.written);
        Ok(())
    }

    /// Adds entries, in place of old ones if `replaces` says so.
    fn merge<T: Serialize + DeserializeOwned>(
        &self,
        new: Entries<T>,
        replaces: impl Fn(&Entry<T>, &Entry<T>) -> bool,
    ) {
        if new.is_empty() {
            return;
        }
        let _turn = self.turn();
        // What cannot be read is not replaced either: that would lose all there is.
        let Some(mut entries) = self.read::<T>() else {
            return;
        };
        let mut changed = false;
        for (key, entry) in new {
            if entries.get(&key).is_none_or(|old| replaces(old, &entry)) {
                entries.insert(key, entry);
                changed = true;
            }
        }
        if !changed {
            return;
        }
        while entries.len() > MOST {
            let oldest = entries
                .iter()
                .min_by_key(|(_, e)| e.written)
                .map(|(k, _)| k.clone());
            let Some(oldest) = oldest else { break };
            entries.remove(&oldest);
        }
        if let Err(error) = self.replace(&entries) {
            let what = format!("{} cannot be remembered", self.what);
            self.tell_access(what, &error);
        }
    }

    /// Waits until no other process adds an entry, or long enough; to be kept until the entry is added.
    fn turn(&self) -> Option<fs::File> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).ok()?;
        }
        let mut name = self.path.clone().into_os_string();
        name.push(".lock");
        let mut options = fs::File::options();
        let file = options.write(true).create(true).truncate(false).open(name);
        let file = file.ok()?;
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }

    /// Logs what is wrong with the file, once: every reader in the process would find the same.
    fn tell(&self, what: String, why: Option<impl Display>) {
        static TOLD: Mutex<BTreeSet<(PathBuf, String)>> = Mutex::new(BTreeSet::new());
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((self.path.clone(), what.clone())) {
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            warn!("{}: {what}{why}", self.path.display());
        }
    }

    fn tell_access(&self, what: String, error: &io::Error) {
        if self.tells {
            self.tell(what, Some(plain(error)));
        }
    }

    /// What the file holds: nothing if there is none, or none that can be understood. `None` if it cannot be read.
    fn read<T: DeserializeOwned>(&self) -> Option<Entries<T>> {
        let what = self.what;
        let text = match fs::metadata(&self.path) {
            Ok(meta) if meta.len() > MOST_BYTES || !meta.is_file() => {
                self.tell(
                    format!("no file of remembered {what}, ignored"),
                    None::<&str>,
                );
                return Some(BTreeMap::new());
            }
            Ok(_) => fs::read_to_string(&self.path),
            Err(error) => Err(error),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(BTreeMap::new()),
            // Text that is none is a damaged file.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
            Err(error) => {
                let what = format!("remembered {what} cannot be read");
                self.tell_access(what, &error);
                return None;
            }
        };
        let entries = serde_json::from_str(&text).and_then(|file| self.entries(file));
        Some(entries.unwrap_or_else(|error| {
            let what = format!("damaged file of remembered {what}, ignored");
            self.tell(what, Some(error));
            BTreeMap::new()
        }))
    }

    fn entries<T: DeserializeOwned>(
        &self,
        mut file: Map<String, Value>,
    ) -> serde_json::Result<Entries<T>> {
        let mut field = |name: &'static str| {
            let found = file.get_mut(name).map(Value::take);
            found.ok_or_else(|| serde_json::Error::missing_field(name))
        };
        let version: u32 = serde_json::from_value(field("version")?)?;
        if version != VERSION {
            let what = format!("remembered {} of another version, ignored", self.what);
            self.tell(what, Some(format!("version {version}")));
            return Ok(BTreeMap::new());
        }
        serde_json::from_value(field(self.what)?)
    }

    /// What a file with these entries holds.
    fn file<T: Serialize>(&self, entries: &Entries<T>) -> serde_json::Result<Value> {
        let entries = serde_json::to_value(entries)?;
        Ok(serde_json::json!({ "version": VERSION, (self.what): entries }))
    }

    /// Writes a temporary file beside the old one and renames it, so that a reader sees one or the other as a whole.
    fn replace<T: Serialize>(&self, entries: &Entries<T>) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut temporary = self.path.clone().into_os_string();
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        // Processes in containers that share the directory may have the same number.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        temporary.push(format!(".{}-{now:x}-{unique}.tmp", std::process::id()));
        let written = self
            .file(entries)
            .and_then(|file| serde_json::to_vec_pretty(&file))
            .map_err(io::Error::from)
            .and_then(|text| fs::File::create_new(&temporary)?.write_all(&text))
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            // Nothing more can be done if this fails too; the first error says why.
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The system's reason without the number that std appends, which tells a user nothing.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ")
        .next()
        .unwrap_or_default()
        .to_owned()
}
