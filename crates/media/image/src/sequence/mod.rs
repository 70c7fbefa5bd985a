//! Filters that pass on the frames of a stream: fewer of them, more, at other times, in another order, or several as one.
//!
//! No frame is computed here. A [`Shot`] says how its picture is made, and of which frames; it is computed when it is
//! known to be written.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `picture.rs` | how a picture is made, of which frames |
//! | `flow.rs` | the shots that a graph gives, one by one |
//! | `join.rs` | the frames of several streams that belong together |
//! | `rate.rs` | shots at a constant rate |
//! | `memory.rs` | whether there is memory for more frames |
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::filters::Filter;
use crate::format::Video;
use crate::io::Error;

pub(crate) mod flow;
mod join;
mod memory;
pub(crate) mod picture;
pub(crate) mod rate;

pub use picture::Picture;

/// A picture and when it is shown, both in seconds.
#[derive(Clone)]
pub struct Shot {
    /// How it is made.
    pub picture: Picture,
    /// When it is shown first.
    pub time: f64,
    /// How long.
    pub duration: f64,
}

impl Shot {
    /// When the next one is shown, if it follows at once.
    pub fn end(&self) -> f64 {
        self.time + self.duration
    }
}

/// A filter that passes on frames.
pub trait Sequence: Send + Sync {
    /// Begins to pass on the frames of `inputs`.
    fn start(&self, inputs: &[Video]) -> Box<dyn Passing>;

    /// The filter that makes a picture of several frames of its first stream, and of how many; `None` if frames pass as
    /// they are.
    fn makes(&self) -> Option<(Arc<dyn Filter>, usize)> {
        None
    }

    /// Whether frames pass as they are.
    fn only_passes(&self) -> bool {
        self.makes().is_none()
    }

    /// Whether frames come at the rate of the stream, if those that it reads do, or do not.
    fn is_steady_after(&self, before: bool) -> bool {
        before
    }

    /// How many frames come, where that is known, of how many in each stream.
    fn frames(&self, inputs: &[u64], videos: &[Video]) -> Option<u64> {
        let _ = (inputs, videos);
        None
    }
}

/// Passes on the frames of a stream.
pub trait Passing: Send {
    /// The next shot; `None` at the end.
    ///
    /// # Errors
    /// An input cannot be read.
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error>;
}

/// What a filter reads.
pub trait Upstream {
    /// The next shot of a stream.
    ///
    /// # Errors
    /// An input cannot be read.
    fn next(&mut self, stream: usize) -> Result<Option<Shot>, Error>;

    /// What the filter that reads makes of `pictures`, as `filter`. `key` tells it from others that it makes.
    fn make(&self, filter: &Arc<dyn Filter>, key: &[u64], pictures: Vec<Picture>) -> Picture;
}

/// A moment of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// The number of the frame, from 0 on.
    pub n: u64,
    /// Its time in seconds.
    pub t: f64,
}

/// A filter as it is at a moment.
pub struct Still {
    /// Equal for filters that do the same.
    pub key: Vec<u64>,
    /// The filter.
    pub filter: Arc<dyn Filter>,
}
