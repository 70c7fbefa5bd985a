//! Buffers in locked pages, which devices copy directly. Pages are locked while a device is open.
//!
//! A driver copies other memory through a buffer of its own. That occupies a core during the copy and halves the
//! rate. Every large buffer is locked, whenever it was allocated, so sources read into locked memory and sinks write
//! from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::sync::lock;

/// Locks pages for a device.
pub trait PageLock: Send + Sync {
    /// Locks `bytes` from address `start` on, which stay mapped until [`PageLock::unlock`]. Returns whether it
    /// succeeded.
    fn lock(&self, start: usize, bytes: usize) -> bool;

    /// Unlocks the range that was locked from `start` on.
    fn unlock(&self, start: usize);
}

static LOCKED: Mutex<Locked> = Mutex::new(Locked {
    mappings: BTreeMap::new(),
    devices: Vec::new(),
});

struct Locked {
    /// Mappings by their start: bytes, and for which devices they are locked.
    mappings: BTreeMap<usize, (usize, Vec<Weak<dyn PageLock>>)>,
    devices: Vec<Weak<dyn PageLock>>,
}

/// Locks all mappings for a device as long as it lives, those there are and those to come.
pub(crate) fn lock_for(device: &Arc<dyn PageLock>) {
    let mut locked = lock(&LOCKED);
    locked.devices.retain(|known| known.strong_count() > 0);
    let weak = Arc::downgrade(device);
    if locked.devices.iter().any(|known| known.ptr_eq(&weak)) {
        return;
    }
    for (&start, (bytes, devices)) in &mut locked.mappings {
        if device.lock(start, *bytes) {
            devices.push(Weak::clone(&weak));
        }
    }
    locked.devices.push(weak);
}

/// There is a new mapping.
pub(super) fn mapped(start: usize, bytes: usize) {
    let mut locked = lock(&LOCKED);
    let devices = locked.devices.iter().filter(|device| {
        let device = device.upgrade();
        device.is_some_and(|device| device.lock(start, bytes))
    });
    let devices = devices.cloned().collect();
    locked.mappings.insert(start, (bytes, devices));
}

/// A mapping is about to go.
pub(super) fn unmapping(start: usize) {
    let gone = lock(&LOCKED).mappings.remove(&start);
    let devices = gone.into_iter().flat_map(|(_, devices)| devices);
    for device in devices.filter_map(|device| device.upgrade()) {
        device.unlock(start);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::buffer::Aligned;

    /// Remembers what is locked.
    #[derive(Default)]
    struct Pages(Mutex<BTreeSet<usize>>);

    impl PageLock for Pages {
        fn lock(&self, start: usize, bytes: usize) -> bool {
            assert!(bytes > 0);
            assert!(lock(&self.0).insert(start), "locked twice");
            true
        }

        fn unlock(&self, start: usize) {
            assert!(lock(&self.0).remove(&start), "unlocked, but not locked");
        }
    }

    impl Pages {
        fn has(&self, buffer: &Aligned<u8>) -> bool {
            let at = buffer.as_ptr() as usize;
            // A coloured buffer begins a little into its mapping.
            let locked = lock(&self.0);
            locked
                .range(..=at)
                .next_back()
                .is_some_and(|start| at - start < 1 << 20)
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn buffers_made_before_and_after_are_locked_until_they_are_freed() {
        let large = || Aligned::<u8>::zeroed(8 << 20);
        let before = large();
        let pages = Arc::new(Pages::default());
        let device: Arc<dyn PageLock> = Arc::<Pages>::clone(&pages);
        lock_for(&device);
        lock_for(&device);
        let after = large();
        assert!(pages.has(&before) && pages.has(&after));
        drop(before);
        assert!(pages.has(&after));
        drop(device);
        drop(after);
        // Without the device nothing is left to unlock.
        let weak: Weak<dyn PageLock> = Arc::downgrade(&pages) as Weak<dyn PageLock>;
        drop(pages);
        assert!(weak.upgrade().is_none());
        drop(large());
    }
}
