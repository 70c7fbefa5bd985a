//! Which devices there are, and the one that is asked for.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use evener_runtime::device::sim::SimDevice;
use evener_runtime::device::{Device, DeviceError, DeviceInfo, DeviceKind};
use tracing::info;

use crate::cuda::{self, Cuda};
use crate::opencl::{self, OpenCl};
use crate::probe::probe;
use crate::record::Record;

/// The environment variable that names the device where the user names none.
pub const ENVIRONMENT: &str = "EVENER_DEVICE";

/// Devices behind drivers.
#[derive(Debug)]
pub struct List {
    /// What there is. Arithmetic is that which was found when a device was opened before.
    pub devices: Vec<DeviceInfo>,
    /// Why other drivers are not used.
    pub drivers: Vec<DeviceError>,
}

/// What there is, without opening a device.
pub fn list() -> List {
    let (found, drivers) = found(true, true);
    let record = Record::open_default();
    let devices = found.into_iter().map(|found| {
        let mut info = found.info().clone();
        info.exact = record
            .as_ref()
            .and_then(|record| record.get(&info))
            .unwrap_or_default();
        info
    });
    List {
        devices: devices.collect(),
        drivers,
    }
}

/// The device with a name; `None` for no device.
///
/// A name is `cuda:0`, `opencl:0`, a part of a model's name that no other has, `none`, or `auto`: the best one that has
/// other processors than these cores, if there is one. `sim` and `sim:…` describe a simulated device. Without a name the
/// environment variable `EVENER_DEVICE` gives it, else it is `auto`.
///
/// The first time a device is opened it is probed, which takes some seconds where its compiler is slow.
///
/// # Errors
/// There is no such device, or it does not work. With `auto` a device that does not work is passed over.
pub fn open(name: Option<&str>) -> Result<Option<Arc<dyn Device>>, DeviceError> {
    let default = env::var(ENVIRONMENT).unwrap_or_default();
    let name = name.unwrap_or(&default).trim();
    match name {
        "none" => Ok(None),
        "auto" | "" => Ok(auto()),
        name if name == "sim" || name.starts_with("sim:") => {
            Ok(Some(Arc::new(SimDevice::parse(name)?)))
        }
        name => named(name).map(Some),
    }
}

fn named(name: &str) -> Result<Arc<dyn Device>, DeviceError> {
    let (of_cuda, of_opencl) = (name.starts_with("cuda:"), name.starts_with("opencl:"));
    let (mut found, mut drivers) = found(!of_opencl, !of_cuda);
    let exactly = found.iter().position(|found| found.info().name == name);
    let index = exactly.or_else(|| the_one_called(name, found.iter().map(Found::info)));
    if let Some(index) = index {
        return found.swap_remove(index).open();
    }
    // The driver that was asked for says more than a list.
    if (of_cuda || of_opencl) && found.is_empty() && !drivers.is_empty() {
        return Err(drivers.swap_remove(0));
    }
    let known = self::found(true, true).0;
    let known = known.iter().map(|found| {
        let info = found.info();
        format!(", {} ({})", info.name, info.model)
    });
    Err(DeviceError::Unknown {
        asked: name.to_owned(),
        known: format!("there are auto, none, sim{}", known.collect::<String>()),
    })
}

/// Which device has `part` in its model's name. One that two drivers have is taken from the first.
fn the_one_called<'a>(part: &str, devices: impl Iterator<Item = &'a DeviceInfo>) -> Option<usize> {
    let part = part.to_lowercase();
    let interface = |info: &'a DeviceInfo| info.name.split(':').next();
    let mut called = devices
        .enumerate()
        .filter(|(_, info)| info.model.to_lowercase().contains(&part));
    let (index, first) = called.next()?;
    let mut before = vec![interface(first)];
    for (_, other) in called {
        if other.model != first.model || before.contains(&interface(other)) {
            return None;
        }
        before.push(interface(other));
    }
    Some(index)
}

/// The best device that works.
fn auto() -> Option<Arc<dyn Device>> {
    if !may_have_any() {
        info!("no device: the system has none");
        return None;
    }
    let (mut found, drivers) = found(true, true);
    found.retain(|found| found.info().kind != DeviceKind::Cpu);
    // Of equals the first: CUDA before OpenCL.
    found.sort_by_key(|found| (found.info().kind != DeviceKind::Gpu, found.info().unified));
    let mut why: Vec<String> = drivers.iter().map(ToString::to_string).collect();
    for found in found {
        match found.open() {
            Ok(device) => return Some(device),
            Err(error) => why.push(error.to_string()),
        }
    }
    info!(
        "no device: {}",
        if why.is_empty() {
            "only cores".to_owned()
        } else {
            why.join("; ")
        }
    );
    None
}

/// Whether the system has nodes of devices. Where it has none, loading drivers to be told so would take longer than
/// evener may take to begin.
fn may_have_any() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    // NVIDIA; AMD's compute; Windows' below a Linux guest; two makers of small ones.
    let nodes = ["nvidiactl", "kfd", "dxg", "mali0", "kgsl-3d0"];
    let renders = || {
        let entries = fs::read_dir("/dev/dri").into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name())
            .any(|name| name.to_string_lossy().starts_with("render"))
    };
    nodes
        .iter()
        .any(|node| Path::new("/dev").join(node).exists())
        || renders()
}

enum Found {
    Cuda(cuda::Found),
    OpenCl(opencl::Found),
}

impl Found {
    fn info(&self) -> &DeviceInfo {
        match self {
            Found::Cuda(found) => &found.info,
            Found::OpenCl(found) => &found.info,
        }
    }

    /// Opens it, and probes it unless that was done before.
    fn open(self) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(match self {
            Found::Cuda(found) => {
                let mut device = Cuda::open(found)?;
                device.info.exact = exact(&device)?;
                Arc::new(device)
            }
            Found::OpenCl(found) => {
                let mut device = OpenCl::open(found)?;
                device.info.exact = exact(&device)?;
                Arc::new(device)
            }
        })
    }
}

fn exact(device: &dyn Device) -> Result<evener_runtime::device::Arithmetic, DeviceError> {
    match Record::open_default() {
        Some(record) => record.exact(device.info(), || probe(device)),
        None => probe(device),
    }
}

/// What drivers have, and why others have nothing.
fn found(cuda: bool, opencl: bool) -> (Vec<Found>, Vec<DeviceError>) {
    let (mut found, mut drivers) = (Vec::new(), Vec::new());
    if cuda {
        match cuda::list() {
            Ok(list) => found.extend(list.into_iter().map(Found::Cuda)),
            Err(error) => drivers.push(error),
        }
    }
    if opencl {
        match opencl::list() {
            Ok(list) => found.extend(list.into_iter().map(Found::OpenCl)),
            Err(error) => drivers.push(error),
        }
    }
    (found, drivers)
}

#[cfg(test)]
mod tests {
    use evener_runtime::device::Arithmetic;

    use super::*;

    fn info(name: &str, model: &str) -> DeviceInfo {
        DeviceInfo {
            name: name.to_owned(),
            model: model.to_owned(),
            driver: String::new(),
            kind: DeviceKind::Gpu,
            memory: 1,
            unified: false,
            copy_engines: 1,
            lanes: 2,
            exact: Arithmetic::default(),
        }
    }

    #[test]
    fn a_part_of_a_name_is_enough_if_it_is_of_one_device() {
        let devices = [
            info("cuda:0", "NVIDIA H100"),
            info("cuda:1", "NVIDIA A2"),
            info("cuda:2", "NVIDIA L4"),
            info("cuda:3", "NVIDIA L4"),
            info("opencl:0", "NVIDIA H100"),
            info("opencl:1", "Arc A770"),
        ];
        let called = |part| the_one_called(part, devices.iter());
        assert_eq!(called("h100"), Some(0));
        assert_eq!(called("a7"), Some(5));
        assert_eq!(called("NVIDIA A"), Some(1));
        for none in ["nvidia", "L4", "A", "B200"] {
            assert_eq!(called(none), None, "{none}");
        }
    }
}
