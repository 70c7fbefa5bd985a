//! The shots of several streams that belong together, as FFmpeg joins them: at each moment the latest of every stream.

use super::{Shot, Upstream};
use crate::filters::Joined;
use crate::io::Error;

/// Times that are nearer are equal.
const NEAR: f64 = 1e-6;

/// The shots of several streams.
pub(super) struct Join {
    streams: Vec<Stream>,
    by: Joined,
    started: bool,
}

#[derive(Default)]
struct Stream {
    now: Option<Shot>,
    after: Option<Shot>,
}

impl Join {
    pub fn new(streams: usize, by: Joined) -> Join {
        Join {
            streams: (0..streams).map(|_| Stream::default()).collect(),
            by,
            started: false,
        }
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The shots that are shown from the next moment on; `None` at the end. A stream that has ended keeps its last shot.
    pub fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Vec<Shot>>, Error> {
        if !self.started {
            self.started = true;
            for (i, stream) in self.streams.iter_mut().enumerate() {
                stream.after = upstream.next(i)?;
            }
        }
        let leading = match self.by.led {
            true => 1,
            false => self.streams.len(),
        };
        let coming = self.streams[..leading]
            .iter()
            .filter_map(|s| s.after.as_ref());
        let Some(moment) = coming.map(|shot| shot.time).reduce(f64::min) else {
            return Ok(None);
        };
        for (i, stream) in self.streams.iter_mut().enumerate() {
            let due = |shot: &Shot| shot.time <= moment + NEAR;
            while stream.now.is_none() && stream.after.is_some()
                || stream.after.as_ref().is_some_and(due)
            {
                stream.now = stream.after.take();
                stream.after = upstream.next(i)?;
            }
        }
        let ended = |s: &Stream| {
            let over = |shot: &Shot| shot.end() <= moment + NEAR;
            s.after.is_none() && s.now.as_ref().is_none_or(over)
        };
        let some_ended = self.streams.iter().any(ended);
        if self.by.shortest && some_ended {
            return Ok(None);
        }
        if self.by.passes && some_ended {
            return Ok(self.streams[0].now.clone().map(|shot| vec![shot]));
        }
        let shots: Option<Vec<Shot>> = self.streams.iter().map(|s| s.now.clone()).collect();
        Ok(shots.map(|mut shots| {
            shots[0].time = moment;
            shots
        }))
    }
}
