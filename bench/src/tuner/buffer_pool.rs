//! Frames that go from stream to stream.
//!
//! Memory that a host has to find for its guest first is far slower than memory that was in use a moment ago, and the speed
//! of reading a frame depends on which pages it got. Short streams that make their own frames would differ by that alone.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use evener_files::unpoisoned;
use evener_image::Frame;
use evener_image::exec::service::FilterService;
use evener_runtime::Service;

/// The frames that all short streams of a subject read and write.
#[derive(Clone)]
pub(super) struct BufferPool {
    frame: Arc<Frame>,
    inputs: Arc<FramePool>,
    outputs: Arc<FramePool>,
}

impl BufferPool {
    /// For inputs that hold `frame`.
    pub(super) fn new(frame: Frame) -> BufferPool {
        BufferPool {
            frame: Arc::new(frame),
            inputs: Arc::default(),
            outputs: Arc::default(),
        }
    }

    /// A pool without frames, for a stream that makes its own.
    pub(super) fn empty(&self) -> BufferPool {
        BufferPool {
            frame: Arc::clone(&self.frame),
            inputs: Arc::default(),
            outputs: Arc::default(),
        }
    }

    /// An input that holds the frame.
    pub(super) fn input(&self) -> PooledFrame {
        self.inputs.take(|| frame_copy(&self.frame))
    }

    /// An output that `service` can write.
    pub(super) fn output(&self, service: &FilterService) -> PooledFrame {
        self.outputs.take(|| service.output())
    }
}

/// Frames that no stream uses.
#[derive(Default)]
struct FramePool {
    idle: Mutex<Vec<Arc<Frame>>>,
}

/// A frame that goes back to its pool.
pub(super) struct PooledFrame {
    frame: Arc<Frame>,
    pool: Arc<FramePool>,
}

impl FramePool {
    /// The frame that was used last, or a new one.
    fn take(self: &Arc<Self>, make: impl FnOnce() -> Frame) -> PooledFrame {
        let idle = self.idle().pop();
        PooledFrame {
            frame: idle.unwrap_or_else(|| Arc::new(make())),
            pool: Arc::clone(self),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<Frame>>> {
        unpoisoned(self.idle.lock())
    }
}

impl Deref for PooledFrame {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        &self.frame
    }
}

impl Drop for PooledFrame {
    fn drop(&mut self) {
        self.pool.idle().push(Arc::clone(&self.frame));
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
    fn the_frame_that_was_used_last_is_taken_again() {
        let pool = Arc::new(FramePool::default());
        let format = Format {
            width: 8,
            height: 2,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        let new = || Frame::new(&format);
        let (first, second) = (pool.take(new), pool.take(new));
        let place = Arc::as_ptr(&first.frame);
        drop(second);
        drop(first);
        let again = pool.take(|| unreachable!());
        assert_eq!(Arc::as_ptr(&again.frame), place);
        assert_eq!(pool.idle().len(), 1);
    }
}
