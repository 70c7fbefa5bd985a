//! A device that is created or recovered, and the check that it belongs to the image.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use evener_runtime::stream::CancelToken;

use super::abi::{ANY_DEVICE, DeviceInfo, LIVE, Params, SECTOR};
use super::control::{Control, FEATURES};
use super::error::Error;
use crate::hash::Hash;
use crate::image::Image;

/// Bytes of the largest request: as many as a sequential reader requests at once, and few enough that other requests do
/// not wait long for it.
const REQUEST: u32 = 512 << 10;
/// How often, and how long each time, to wait for the end of a server that was killed.
const RECOVERY_WAIT: (u32, Duration) = (500, Duration::from_millis(10));

/// The device to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// A new device.
    New {
        /// The maximum number of queues. The driver creates at most one per CPU.
        queues: u16,
        /// Requests in progress in each queue.
        depth: u16,
    },
    /// An existing device by number, whose server has ended.
    Existing(u32),
}

/// A device before it is served.
pub struct Device {
    control: Control,
    info: DeviceInfo,
    /// Whether another server created it.
    recovered: bool,
}

impl Device {
    /// Creates a device for an image, or finds the one to recover, which is not changed yet. `written` is the
    /// writable file, by its device and inode; without one the disk is read only.
    ///
    /// # Errors
    /// There is no driver, no such device, or it has another image.
    pub fn open(
        image: &Image,
        written: Option<(u64, u64)>,
        spec: DeviceSpec,
    ) -> Result<Device, Error> {
        let control = Control::open()?;
        let image_tag = image_tag(image, written);
        let params = Params {
            best_shift: match image.block_size() {
                size if size.is_power_of_two() => size.trailing_zeros().clamp(12, 22) as u8,
                _ => 12,
            },
            request: REQUEST / SECTOR as u32,
            sectors: image.size().div_ceil(SECTOR),
            writable: written.is_some(),
        };
        match spec {
            DeviceSpec::New { queues, depth } => {
                let wanted = DeviceInfo {
                    queues,
                    depth,
                    request: REQUEST,
                    device: ANY_DEVICE,
                    features: FEATURES,
                    server_flags: image_tag,
                    ..DeviceInfo::default()
                };
                Device::create(control, &wanted, &params)
            }
            DeviceSpec::Existing(id) => Device::find(control, id, &params, image_tag),
        }
    }

    fn create(mut control: Control, wanted: &DeviceInfo, params: &Params) -> Result<Device, Error> {
        let info = control.add(wanted)?;
        let mut device = Device {
            control,
            info,
            recovered: false,
        };
        let id = device.id();
        let set = device.control.set_params(id, params);
        match set {
            Ok(()) => Ok(device),
            Err(error) => Err(device.delete_after(error)),
        }
    }

    /// The device `id`, if it belongs to the image with that tag.
    fn find(
        mut control: Control,
        id: u32,
        params: &Params,
        image_tag: u64,
    ) -> Result<Device, Error> {
        let info = control.info(id)?;
        let not_ours = |why: String| Err(Error::NotOurs { id, why });
        if info.features & FEATURES != FEATURES {
            return not_ours("it was not made by evener".into());
        }
        let found = control.params(id)?.sectors;
        if found != params.sectors {
            return not_ours(format!(
                "it has {found} sectors and this image {}; name the image it was made for",
                params.sectors
            ));
        }
        if info.server_flags != image_tag {
            return not_ours("it was made for another image, or for other overlays".into());
        }
        Ok(Device {
            control,
            info,
            recovered: true,
        })
    }

    /// The number of the device.
    pub fn id(&self) -> u32 {
        self.info.device
    }

    /// The number of queues.
    pub fn queues(&self) -> u16 {
        self.info.queues
    }

    /// The number of requests in each queue.
    pub fn depth(&self) -> u16 {
        self.info.depth
    }

    /// Whether another server created it.
    pub fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// Opens the character device, through which queues are served. A recovered device has no server from here to
    /// [`Device::start`] and cannot get another one, so do as little as possible in between. `None`: it was cancelled
    /// before the last server had ended.
    pub fn node(&mut self, cancel: &CancelToken) -> Result<Option<Arc<File>>, Error> {
        let id = self.id();
        if self.recovered {
            let (times, pause) = RECOVERY_WAIT;
            let mut left = times;
            while !self.control.start_recovery(id)? {
                let info = self.control.info(id)?;
                let runs = Path::new(&format!("/proc/{}", info.server)).exists();
                left -= 1;
                if left == 0 || (info.state == LIVE && runs && left < times / 2) {
                    let server = info.server;
                    return Err(Error::Served { id, server });
                }
                if cancel.is_cancelled() {
                    return Ok(None);
                }
                sleep(pause);
            }
        }
        self.control.node(id).map(Some)
    }

    /// Starts the device. All requests of all queues must have been fetched.
    pub fn start(&mut self) -> Result<(), Error> {
        match self.recovered {
            true => self.control.end_recovery(self.id()),
            false => self.control.start(self.id()),
        }
    }

    /// Removes the disk and ends the queues.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.control.stop(self.id())
    }

    /// Removes the device.
    pub fn delete(mut self) -> Result<(), Error> {
        self.control.delete(self.id())
    }

    /// Removes a new device after an error, which is returned.
    pub fn delete_after(self, error: Error) -> Error {
        if !self.recovered {
            // The first error is the one to report.
            let _ = self.delete();
        }
        error
    }
}

/// Tells images apart, and files that are written, so that a device is not recovered with others: the first bytes of the root of the image,
/// or of a hash over what is known of it without reading it.
fn image_tag(image: &Image, written: Option<(u64, u64)>) -> u64 {
    let hash = match image.root() {
        Some(root) => root,
        None => {
            let file = image.file();
            let known = format!("{} {} {}", image.format().name, image.size(), file.size());
            Hash::of(known.as_bytes())
        }
    };
    let hash = match written {
        Some((device, inode)) => Hash::of(format!("{hash} {device} {inode}").as_bytes()),
        None => hash,
    };
    let [a, b, c, d, e, f, g, h, ..] = hash.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
