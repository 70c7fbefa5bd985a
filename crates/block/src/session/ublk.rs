//! Serving an image as a disk of this machine.

use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use evener_runtime::quantity::Size;
use evener_runtime::stream::CancelToken;
use evener_runtime::{Choice, Runtime};

use super::serve::{ReadAhead, Served, store};
use super::{SessionError, open};
use crate::format::Format;
use crate::image::Image;
use crate::serve::ServeContext;
use crate::ublk::{self, Device, DeviceSpec};

/// Requests that may be under way in a queue unless others are asked for.
pub const DEFAULT_DEPTH: u16 = 128;
/// Queues where no number is asked for: a thread each, that does little but for what is in the cache.
const AUTO_QUEUES: usize = 4;

/// How an image becomes a disk.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// Queues; otherwise one for each worker, but few.
    pub queues: Option<u16>,
    /// Requests under way in each.
    pub depth: u16,
    /// A device to take over, by its number, instead of making one.
    pub recover: Option<u32>,
    /// Its format, where it is not to be recognised.
    pub format: Option<&'static Format>,
    /// Bytes of decoded blocks that are kept.
    pub cache: u64,
    /// What is decoded before it is asked for.
    pub read_ahead: ReadAhead,
    /// How blocks are decoded that are needed at once.
    pub plan: Choice,
}

/// An image that can become a disk.
pub struct DiskSession {
    image: Arc<Image>,
    options: DiskOptions,
    cancel: CancelToken,
}

/// A disk that is there. `Display` is a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The image.
    pub name: String,
    /// Bytes of it.
    pub size: u64,
    /// The number of the device.
    pub id: u32,
    /// Whether it was recovered over from another server.
    pub recovered: bool,
}

/// Opens `input`. `cancel` ends the session.
///
/// # Errors
/// The image cannot be read.
pub fn disk(
    input: &OsStr,
    options: DiskOptions,
    cancel: CancelToken,
) -> Result<DiskSession, SessionError> {
    Ok(DiskSession {
        image: open(input, options.format)?,
        options,
        cancel,
    })
}

impl DiskSession {
    /// Makes the disk, or takes it over, serves it until it is cancelled, and removes it. `started` is called when it
    /// is there.
    ///
    /// # Errors
    /// The driver is not there or refuses.
    pub fn run(
        self,
        runtime: &Runtime,
        started: impl FnOnce(&Disk),
    ) -> Result<Served, SessionError> {
        let options = &self.options;
        let spec = match options.recover {
            Some(id) => DeviceSpec::Existing(id),
            None => DeviceSpec::New {
                queues: options
                    .queues
                    .unwrap_or(runtime.pool().workers().min(AUTO_QUEUES) as u16),
                depth: options.depth,
            },
        };
        let name = self.image.file().name().to_owned();
        let size = self.image.size();
        let context = ServeContext {
            store: store(self.image, options.cache, runtime, options.plan.clone())?,
            read_ahead: options.read_ahead.limit(options.cache),
            cancel: self.cancel,
        };
        // Last, since a device that is made stays if something fails after it.
        let device = Device::open(context.store.image(), spec)?;
        let served = ublk::serve(&context, runtime, device, |device| {
            started(&Disk {
                name,
                size,
                id: device.id(),
                recovered: device.is_recovered(),
            });
        });
        context.store.faults().close();
        served?;
        Ok(Served::of(&context.store))
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, size, id) = (&self.name, Size(self.size), self.id);
        let suffix = if self.recovered { ", taken over" } else { "" };
        write!(f, "{name}: {size} at /dev/ublkb{id}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_refused_is_before_the_driver_is_asked_for_anything() {
        let image = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/frames.zst");
        let options = DiskOptions {
            queues: None,
            depth: DEFAULT_DEPTH,
            // Nothing is made where there is a driver.
            recover: Some(u32::MAX),
            format: None,
            cache: 0,
            read_ahead: ReadAhead::Off,
            plan: "farm".parse().unwrap(),
        };
        let runtime = Runtime::builder().workers(1).memory(false).build().unwrap();
        let session = disk(image.as_ref(), options, CancelToken::new()).unwrap();
        let refused = session.run(&runtime, |_| ()).unwrap_err();
        assert!(matches!(refused, SessionError::Plan(_)), "{refused}");
    }
}
