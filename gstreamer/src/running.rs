//! A graph that runs on frames of one format.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_image::frame::Frame;
use evener_image::graph::{Graph, Planes};
use evener_image::open::OpenGraph;
use evener_runtime::Runtime;
use evener_runtime::stream::{RunOptions, Turn};
use gst::prelude::*;
use gst_video::video_frame::Writable;
use gst_video::{VideoBufferPool, VideoFrame, VideoInfo};

use crate::{formats, frames};

/// How long a wait takes until it is looked whether the pipeline wants something else.
pub const SOON: Duration = Duration::from_millis(50);

/// What goes with a frame to its result.
pub struct Carried {
    /// Sent before the result.
    pub events: Vec<gst::Event>,
    times: [Option<gst::ClockTime>; 3],
    flags: gst::BufferFlags,
    output: Arc<VideoFrame<Writable>>,
}

/// A graph that runs.
pub struct Running {
    open: OpenGraph<Carried>,
    input: VideoInfo,
    output: VideoInfo,
    pool: VideoBufferPool,
    workers: u32,
}

/// What came of a frame.
pub enum Result {
    /// Events and the buffer that follows them.
    Done(Vec<gst::Event>, gst::Buffer),
    /// There is none yet.
    Late,
    /// There is none any more.
    Ended,
}

impl Running {
    /// A graph for frames of `info`, on `workers`, or as many as there are processors at 0.
    pub fn new(
        graph: &Graph,
        info: &VideoInfo,
        workers: u32,
    ) -> std::result::Result<Running, String> {
        let format = formats::read(info);
        let format = format.ok_or_else(|| format!("filters do not take {}", info.format()))?;
        let mut builder = Runtime::builder();
        if workers > 0 {
            builder = builder.workers(workers as usize);
        }
        let runtime = builder.build().map_err(|error| error.to_string())?;
        let workers = runtime.workers() as u32;
        let options = RunOptions::default();
        let open = OpenGraph::new(runtime, graph, &format, Planes::Auto, options);
        let open = open.map_err(|error| error.to_string())?;
        let output = formats::write(open.output(), info);
        let output = output.ok_or("there is no such format of video for the results")?;
        let caps = output.to_caps().map_err(|error| error.to_string())?;
        let pool = VideoBufferPool::new();
        let mut config = pool.config();
        config.set_params(Some(&caps), output.size() as u32, 0, 0);
        let active = pool.set_config(config).and_then(|()| pool.set_active(true));
        active.map_err(|error| error.to_string())?;
        Ok(Running {
            open,
            input: info.clone(),
            output,
            pool,
            workers,
        })
    }

    /// Frames that come.
    pub fn input(&self) -> &VideoInfo {
        &self.input
    }

    /// Results that go.
    pub fn output(&self) -> &VideoInfo {
        &self.output
    }

    /// How long a frame may take at its rate: as many frames may be in work as there are workers.
    pub fn latency(&self) -> gst::ClockTime {
        let fps = self.input.fps();
        let of_frame =
            gst::ClockTime::SECOND.mul_div_floor(fps.denom() as u64, fps.numer().max(1) as u64);
        of_frame.unwrap_or_default() * u64::from(self.workers)
    }

    /// Begins a frame, with `events` to be sent before its result, as soon as there is room; `false` if the stream has ended
    /// or `stops` says so first.
    pub fn push(
        &self,
        buffer: gst::Buffer,
        events: Vec<gst::Event>,
        stops: impl Fn() -> bool,
    ) -> std::result::Result<bool, String> {
        loop {
            match self.open.room(Instant::now() + SOON) {
                Turn::Done(()) => break,
                Turn::Late if !stops() => {}
                Turn::Late | Turn::Ended => return Ok(false),
            }
        }
        let carried_times = [buffer.pts(), buffer.dts(), buffer.duration()];
        let flags = buffer.flags() & (gst::BufferFlags::DISCONT | gst::BufferFlags::GAP);
        let (input, output) = (self.open.input(), self.open.output());
        let to = self.pool.acquire_buffer(None);
        let to = to.map_err(|error| format!("no buffer for a result: {error:?}"))?;
        let (to, mapped): (Frame, _) = frames::writing(output, to, &self.output)
            .ok_or("the memory for a result cannot be mapped")?;
        let from = frames::reading(input, buffer, &self.input);
        let from = from.ok_or("the memory of a frame cannot be mapped")?;
        let carried = Carried {
            events,
            times: carried_times,
            flags,
            output: mapped,
        };
        Ok(self.open.push(Instant::now() + SOON, from, to, carried) == Turn::Done(()))
    }

    /// The next result, if it comes soon.
    pub fn pull(&self) -> Result {
        match self.open.pull(Instant::now() + SOON) {
            Turn::Done((input, output, carried)) => {
                drop((input, output));
                let Carried {
                    events,
                    times: [pts, dts, duration],
                    flags,
                    output,
                } = carried;
                let Some(mut buffer) = frames::written(output) else {
                    return Result::Ended;
                };
                let changed = buffer.make_mut();
                changed.set_pts(pts);
                changed.set_dts(dts);
                changed.set_duration(duration);
                changed.set_flags(flags);
                Result::Done(events, buffer)
            }
            Turn::Late => Result::Late,
            Turn::Ended => Result::Ended,
        }
    }

    /// No more frames come.
    pub fn end(&self) {
        self.open.end();
    }
}
