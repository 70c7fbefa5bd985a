//! Frames that go from stream to stream.
//!
//! Memory that a host has to find for its guest first comes far slower than what was in use a moment ago, and
//! a frame is read at a speed that depends on which pages it got. A stream that makes its own would be told from the
//! next by luck.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evener_image::Frame;
use evener_image::exec::service::FilterService;
use evener_runtime::Service;

/// What all streams of a subject read and write.
#[derive(Clone)]
pub(super) struct Buffers {
    frame: Arc<Frame>,
    inputs: Arc<Shelf>,
    outputs: Arc<Shelf>,
}

impl Buffers {
    pub(super) fn new(frame: Frame) -> Buffers {
        Buffers {
            frame: Arc::new(frame),
            inputs: Arc::default(),
            outputs: Arc::default(),
        }
    }

    /// One that holds the frame.
    pub(super) fn input(&self) -> Lent {
        self.inputs.lend(|| frame_copy(&self.frame))
    }

    /// One that the service can write.
    pub(super) fn output(&self, service: &FilterService) -> Lent {
        self.outputs.lend(|| service.output())
    }
}

/// Frames that nobody uses.
#[derive(Default)]
struct Shelf {
    frames: Mutex<Vec<Arc<Frame>>>,
}

/// A frame that goes back to its shelf.
pub(super) struct Lent {
    frame: Arc<Frame>,
    home: Arc<Shelf>,
}

impl Shelf {
    /// The frame that was used last, or a new one.
    fn lend(self: &Arc<Self>, make: impl FnOnce() -> Frame) -> Lent {
        let spare = self.spares().pop();
        Lent {
            frame: spare.unwrap_or_else(|| Arc::new(make())),
            home: Arc::clone(self),
        }
    }

    fn spares(&self) -> MutexGuard<'_, Vec<Arc<Frame>>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Lent {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        &self.frame
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.spares().push(Arc::clone(&self.frame));
    }
}

/// A frame like this one, in memory of its own.
fn frame_copy(frame: &Frame) -> Frame {
    let mut copy = Frame::new(frame.format());
    for p in 0..frame.format().planes() {
        copy.plane_bytes_mut(p)
            .copy_from_slice(&frame.plane_bytes(p));
    }
    copy
}

#[cfg(test)]
mod tests {
    use evener_image::{Chroma, ColourRange, Depth, Format};

    use super::*;

    #[test]
    fn what_was_used_last_is_lent_again() {
        let shelf = Arc::new(Shelf::default());
        let format = Format {
            width: 8,
            height: 2,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        let new = || Frame::new(&format);
        let (first, second) = (shelf.lend(new), shelf.lend(new));
        let place = Arc::as_ptr(&first.frame);
        drop(second);
        drop(first);
        let again = shelf.lend(|| unreachable!());
        assert_eq!(Arc::as_ptr(&again.frame), place);
        assert_eq!(shelf.spares().len(), 1);
    }
}
