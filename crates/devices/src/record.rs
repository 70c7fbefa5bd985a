//! What was found about devices, kept between runs in a small JSON file, so that only the first opening of a device
//! takes time.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{SystemTime, UNIX_EPOCH};

use evener_runtime::device::{Arithmetic, DeviceError, DeviceInfo};
use evener_runtime::tuner::Memory;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::{opencl, probe};

/// Version of the file's layout; a file of another version is not read.
const VERSION: u32 = 1;
/// A file larger than this was not written by us.
const MOST_BYTES: u64 = 1 << 20;

/// A file with the arithmetic of devices.
///
/// What cannot be read or written costs a second, nothing else. Several processes may use one file: each write replaces
/// it as a whole. Of two simultaneous ones the first may be lost; that device is probed once more.
#[derive(Clone, Debug)]
pub struct Record {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    version: u32,
    devices: BTreeMap<String, Arithmetic>,
}

impl Record {
    /// The file `devices.json` beside that of the remembered plans. `None` where there is no place for it.
    pub fn open_default() -> Option<Record> {
        Memory::open_default()
            .map(|memory| Record::at(memory.path().with_file_name("devices.json")))
    }

    /// A file of one's own. It is created when something is found.
    pub fn at(path: impl Into<PathBuf>) -> Record {
        Record { path: path.into() }
    }

    /// The arithmetic of a device that was found before.
    pub fn get(&self, info: &DeviceInfo) -> Option<Arithmetic> {
        self.read().devices.get(&key(info)).copied()
    }

    /// The arithmetic of a device: what was found before, else what `probe` finds.
    ///
    /// # Errors
    /// Those of `probe`.
    pub fn exact(
        &self,
        info: &DeviceInfo,
        probe: impl FnOnce() -> Result<Arithmetic, DeviceError>,
    ) -> Result<Arithmetic, DeviceError> {
        if let Some(exact) = self.get(info) {
            return Ok(exact);
        }
        let exact = probe()?;
        // Read again: another process may have written while this one probed.
        let mut file = self.read();
        file.version = VERSION;
        file.devices.insert(key(info), exact);
        if let Err(error) = self.replace(&file) {
            self.tell(&format!(
                "what was found about devices cannot be kept: {error}"
            ));
        }
        Ok(exact)
    }

    fn read(&self) -> File {
        let text = match fs::metadata(&self.path) {
            Ok(meta) if meta.len() > MOST_BYTES || !meta.is_file() => {
                Err(ErrorKind::InvalidData.into())
            }
            Ok(_) => fs::read_to_string(&self.path),
            Err(error) => Err(error),
        };
        let why = match text {
            Ok(text) => match serde_json::from_str::<File>(&text) {
                Ok(file) if file.version == VERSION => return file,
                Ok(file) => format!("a file of version {}", file.version),
                Err(error) => format!("a damaged file: {error}"),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => return File::default(),
            Err(error) => error.to_string(),
        };
        self.tell(&format!("what was found about devices is ignored: {why}"));
        File::default()
    }

    /// Writes a file beside the old one and renames it.
    fn replace(&self, file: &File) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let name = format!("devices.json.{}-{now:x}.tmp", std::process::id());
        let temporary: &Path = &self.path.with_file_name(name);
        let written = serde_json::to_vec_pretty(file)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(temporary, text))
            .and_then(|()| fs::rename(temporary, &self.path));
        if written.is_err() {
            // Nothing more can be done if this fails too; the first error says why.
            let _ = fs::remove_file(temporary);
        }
        written
    }

    /// Logs what is wrong with the file, once in a process.
    fn tell(&self, what: &str) {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| warn!("{}: {what}", self.path.display()));
    }
}

/// A device, its driver and this version of evener, which makes the kernels.
fn key(info: &DeviceInfo) -> String {
    let mut kernels = DefaultHasher::new();
    (opencl::PRELUDE, probe::PROGRAM.source, probe::PROGRAM.ptx).hash(&mut kernels);
    let (interface, _) = info.name.split_once(':').unwrap_or((&info.name, ""));
    format!(
        "{} | {} | {interface} | evener {} {:016x}",
        info.model,
        info.driver,
        env!("CARGO_PKG_VERSION"),
        kernels.finish()
    )
}

#[cfg(test)]
mod tests {
    use evener_runtime::device::DeviceKind;

    use super::*;

    fn info(driver: &str) -> DeviceInfo {
        DeviceInfo {
            name: "opencl:0".to_owned(),
            model: "a card".to_owned(),
            driver: driver.to_owned(),
            kind: DeviceKind::Gpu,
            memory: 1,
            unified: false,
            copy_engines: 1,
            lanes: 2,
            exact: Arithmetic::default(),
        }
    }

    #[test]
    fn a_device_is_probed_once() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::at(folder.path().join("new").join("devices.json"));
        let never = || unreachable!("it is known");
        assert_eq!(record.get(&info("1")), None);
        assert_eq!(
            record.exact(&info("1"), || Ok(Arithmetic::INTEGER)),
            Ok(Arithmetic::INTEGER)
        );
        assert_eq!(record.exact(&info("1"), never), Ok(Arithmetic::INTEGER));
        // Another driver is another device; its name does not matter.
        assert_eq!(
            record.exact(&info("2"), || Ok(Arithmetic::ALL)),
            Ok(Arithmetic::ALL)
        );
        assert_eq!(record.exact(&info("1"), never), Ok(Arithmetic::INTEGER));
        let second = DeviceInfo {
            name: "opencl:1".to_owned(),
            ..info("2")
        };
        assert_eq!(record.exact(&second, never), Ok(Arithmetic::ALL));
        // Nothing else is left in the folder.
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
    }

    #[test]
    fn a_probe_that_fails_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::at(folder.path().join("devices.json"));
        let lost = DeviceError::Lost {
            device: "opencl:0".to_owned(),
            why: "gone".to_owned(),
        };
        assert_eq!(record.exact(&info("1"), || Err(lost.clone())), Err(lost));
        assert_eq!(record.get(&info("1")), None);
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.json");
        let record = Record::at(&path);
        for text in [
            "",
            "{",
            "[]",
            "{\"version\": 2, \"devices\": {}}",
            "\u{fffd}",
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(record.get(&info("1")), None);
            assert_eq!(
                record.exact(&info("1"), || Ok(Arithmetic::ALL)),
                Ok(Arithmetic::ALL)
            );
            assert_eq!(record.get(&info("1")), Some(Arithmetic::ALL));
        }
        // A place that cannot be written, or is no file, costs nothing but the probe.
        for path in [folder.path().to_owned(), path.join("below a file")] {
            let record = Record::at(path);
            assert_eq!(
                record.exact(&info("1"), || Ok(Arithmetic::ALL)),
                Ok(Arithmetic::ALL)
            );
        }
    }
}
