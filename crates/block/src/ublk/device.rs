//! A device, made or taken over: what it is, and whether it belongs to the image.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use evener_runtime::stream::CancelToken;

use super::abi::{ANY_DEVICE, DeviceInfo, LIVE, Params, SECTOR};
use super::control::{Control, FEATURES};
use super::error::Error;
use crate::image::Image;
use crate::tree::Hash;

/// Bytes of the largest request: what one request of a sequential reader is, and small enough not to be waited for
/// long.
const REQUEST: u32 = 512 << 10;
/// How often, and how long each time, to wait for the end of a server that was killed.
const PATIENCE: (u32, Duration) = (500, Duration::from_millis(10));

/// How a device is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A new one, with so many queues at most, and so many requests in each.
    New {
        /// Queues; the driver makes no more than there are processors.
        queues: u16,
        /// Requests under way in each.
        depth: u16,
    },
    /// One whose server has ended, by its number.
    Old(u32),
}

/// A device that nobody serves yet.
pub struct Device {
    control: Control,
    info: DeviceInfo,
    /// Whether it was made by another server.
    taken: bool,
}

impl Device {
    /// Makes a device for an image, or finds the one that is to be taken over, which stays as it is.
    ///
    /// # Errors
    /// There is no driver, no such device, or it has another image.
    pub fn open(image: &Image, wanted: Wanted) -> Result<Device, Error> {
        let mut control = Control::open()?;
        let note = note(image);
        let params = Params {
            best_shift: match image.block_size() {
                size if size.is_power_of_two() => size.trailing_zeros().clamp(12, 22) as u8,
                _ => 12,
            },
            request: REQUEST / SECTOR as u32,
            sectors: image.size().div_ceil(SECTOR),
        };
        match wanted {
            Wanted::New { queues, depth } => {
                let info = control.add(&DeviceInfo {
                    queues,
                    depth,
                    request: REQUEST,
                    device: ANY_DEVICE,
                    features: FEATURES,
                    note,
                    ..DeviceInfo::default()
                })?;
                let mut device = Device {
                    control,
                    info,
                    taken: false,
                };
                let id = device.id();
                let set = device.control.set_params(id, &params);
                match set {
                    Ok(()) => Ok(device),
                    Err(error) => Err(device.withdraw(error)),
                }
            }
            Wanted::Old(id) => {
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
                if info.note != note {
                    return not_ours("it was made for another image".into());
                }
                Ok(Device {
                    control,
                    info,
                    taken: true,
                })
            }
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.info.device
    }

    /// How many queues it has.
    pub fn queues(&self) -> u16 {
        self.info.queues
    }

    /// How many requests each has.
    pub fn depth(&self) -> u16 {
        self.info.depth
    }

    /// Whether it is taken over from another server.
    pub fn is_taken(&self) -> bool {
        self.taken
    }

    /// Opens the character device, through which queues are served. From here to [`Device::start`] one that is taken
    /// over has no server and cannot have another, so nothing should be left to do meanwhile. `None`: cancelled while
    /// its last server was still about to end.
    pub fn node(&mut self, cancel: &CancelToken) -> Result<Option<Arc<File>>, Error> {
        let id = self.id();
        if self.taken {
            let (times, pause) = PATIENCE;
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

    /// Lets requests come. All of all queues must have been fetched.
    pub fn start(&mut self) -> Result<(), Error> {
        match self.taken {
            true => self.control.end_recovery(self.id()),
            false => self.control.start(self.id()),
        }
    }

    /// Takes the disk away and ends the queues.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.control.stop(self.id())
    }

    /// Removes it.
    pub fn delete(mut self) -> Result<(), Error> {
        self.control.delete(self.id())
    }

    /// Removes it after something went wrong, unless it was there before.
    pub fn withdraw(self, error: Error) -> Error {
        if !self.taken {
            // What went wrong first is what counts.
            let _ = self.delete();
        }
        error
    }
}

/// What a device remembers of its image, so that nobody takes it over with another: the first bytes of a hash over its
/// own, or over what can be known of it at once.
fn note(image: &Image) -> u64 {
    let hash = match image.root() {
        Some(root) => root,
        None => {
            let file = image.file();
            let known = format!("{} {} {}", image.format().name, image.size(), file.size());
            Hash::of(known.as_bytes())
        }
    };
    let [a, b, c, d, e, f, g, h, ..] = hash.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
