//! Serving an image as a disk of this machine.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use evener_runtime::quantity::Size;
use evener_runtime::stream::CancelToken;
use evener_runtime::{Choice, Runtime};

use super::serve::{ReadAhead, Served, store};
use super::{OpenOptions, SessionError, open};
use crate::image::Image;
use crate::overlay::{Base, Overlay};
use crate::serve::{ServeContext, Store};
use crate::ublk::{self, Device, DeviceSpec};

/// The default number of requests that may be under way in a queue.
pub const DEFAULT_DEPTH: u16 = 128;
/// The most queues by default. Each has a thread, which has little to do but for what is in the cache.
const AUTO_QUEUES: usize = 4;

/// How an image becomes a disk.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// Queues; by default one for each worker, up to four.
    pub queues: Option<u16>,
    /// Requests in progress in each queue.
    pub depth: u16,
    /// A device to recover, by its number, instead of a new one.
    pub recover: Option<u32>,
    /// Stacked overlays on the image. The last one is written; without one the disk is read only.
    pub overlays: Vec<PathBuf>,
    /// How to open images.
    pub open: OpenOptions,
    /// The size of the cache of decoded blocks, in bytes.
    pub cache: u64,
    /// The amount of read-ahead.
    pub read_ahead: ReadAhead,
    /// The plan for decoding blocks that are needed at once.
    pub plan: Choice,
}

/// An image that can become a block device.
pub struct DiskSession {
    image: Arc<Image>,
    options: DiskOptions,
    cancel: CancelToken,
}

/// A served block device. `Display` prints one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The image.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The number of the device.
    pub id: u32,
    /// Whether it was recovered.
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
        image: open(input, &options.open)?,
        options,
        cancel,
    })
}

impl DiskSession {
    /// Creates or recovers the block device, serves it until it is cancelled, and removes it. `started` is called
    /// when it exists.
    ///
    /// # Errors
    /// The driver is missing or refuses, an overlay cannot be used, or written data may not be durable.
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
        let mut store = store(self.image, options.cache, runtime, options.plan.clone())?;
        let is_new = options.overlays.last().is_some_and(|last| !last.exists());
        let written = overlay(&mut store, &options.overlays)?;
        let context = ServeContext {
            store,
            read_ahead: options.read_ahead.limit(options.cache),
            cancel: self.cancel,
        };
        // This comes last, since a new device stays if a later step fails.
        let device = Device::open(context.store.image(), written, spec);
        if let (Err(_), true, Some(last)) = (&device, is_new, options.overlays.last()) {
            // There is nothing in it, and perhaps a link leads to it.
            let _ = fs::canonicalize(last).and_then(fs::remove_file);
        }
        let device = device?;
        let served = ublk::serve(&context, runtime, device, |device| {
            started(&Disk {
                name,
                size,
                id: device.id(),
                recovered: device.is_recovered(),
            });
        });
        context.store.faults().close();
        let closed = context.store.overlay().map_or(Ok(()), Overlay::close);
        served?;
        closed?;
        Ok(Served::of(std::iter::once(&context.store), 0))
    }
}

/// Puts overlays over the image. Returns the device and the inode of the one that is written.
fn overlay(store: &mut Store, paths: &[PathBuf]) -> Result<Option<(u64, u64)>, SessionError> {
    let Some(last) = paths.last() else {
        return Ok(None);
    };
    if let Some(overlay) = Overlay::open_chain(paths, &Base::of(store.image())?)? {
        store.set_overlay(overlay);
    }
    let found = std::fs::metadata(last).map_err(|reason| crate::overlay::Error::File {
        name: evener_files::one_line(&last.to_string_lossy()),
        what: "find it",
        reason,
    })?;
    Ok(Some((found.dev(), found.ino())))
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
    fn the_plan_is_checked_before_the_driver_is_used() {
        let image = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/frames.zst");
        let options = DiskOptions {
            queues: None,
            depth: DEFAULT_DEPTH,
            // With a driver, no device is created.
            recover: Some(u32::MAX),
            overlays: Vec::new(),
            open: OpenOptions::default(),
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
