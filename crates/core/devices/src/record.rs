//! What was found about devices, kept between runs, so that only the first opening of a device takes time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use evener_runtime::device::{Arithmetic, DeviceError, DeviceInfo};
use evener_runtime::kept::Kept;

use crate::{cuda, opencl, probe};

/// What the entries are.
const WHAT: &str = "devices";

/// A file with the arithmetic of devices.
#[derive(Clone, Debug)]
pub struct Record(Kept);

impl Record {
    /// The file `devices.json` beside that of the remembered plans. `None` where there is no place for it.
    pub fn open_default() -> Option<Record> {
        Kept::in_cache("devices.json", WHAT).map(Record)
    }

    /// A file of one's own. It is created when something is found.
    pub fn at(path: impl Into<PathBuf>) -> Record {
        Record(Kept::at(path.into(), WHAT))
    }

    /// The arithmetic of a device that was found before.
    pub fn get(&self, info: &DeviceInfo) -> Option<Arithmetic> {
        self.0.get(&key(info))
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
        self.0.put(&key(info), exact);
        Ok(exact)
    }
}

/// A device, its driver and this version of evener, which makes the kernels.
fn key(info: &DeviceInfo) -> String {
    let mut kernels = DefaultHasher::new();
    (opencl::PRELUDE, probe::PROGRAM.source, cuda::PACKED).hash(&mut kernels);
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
    use std::fs;

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
        // Beside it only the file of the lock is left.
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 2);
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
