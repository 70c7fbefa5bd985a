//! Streams that stay open.

use std::ffi::{CStr, c_char, c_void};
use std::slice;
use std::time::{Duration, Instant};

use evener_image::graph::Planes;
use evener_image::open::OpenGraph;
use evener_runtime::stream::{RunOptions, Turn};
use evener_runtime::{Choice, Runtime};

use crate::format::Format;
use crate::graph::Graph;
use crate::memory::{self, Plane};
use crate::status::{Failure, Status, guarded};

/// A wait without an end is one of so long, again and again.
const LONG: Duration = Duration::from_secs(3600);

/// What can be chosen about a stream. All zero is a good choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many workers; 0 for as many as there are processors.
    pub workers: u32,
    /// How frames are divided, as `--plan` of `evener filter` takes it; null for whatever proves to be fast.
    pub plan: *const c_char,
}

/// A graph on a stream that stays open. All its functions may be called by several threads at once, but
/// `evener_stream_free`.
pub struct Stream(OpenGraph<Given>);

/// A pointer of the caller, which is only given back.
struct Given(*mut c_void);

// SAFETY: the library does not follow it; the caller knows which thread may.
unsafe impl Send for Given {}

/// Opens a stream for frames of a format. `options` may be null. It is ended by `evener_stream_free`.
///
/// # Safety
/// `graph` was made by `evener_graph_new`; `format`, `options` and what they point to are as their types say; `stream` is a
/// place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_stream_open(
    graph: *const Graph,
    format: *const Format,
    options: *const Options,
    stream: *mut *mut Stream,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(graph), Some(format), false) =
            (unsafe { (graph.as_ref(), format.as_ref(), stream.is_null()) })
        else {
            return Err(Failure::invalid(
                "evener_stream_open takes no null but options",
            ));
        };
        // SAFETY: promised by the caller.
        let options = unsafe { options.as_ref() };
        let mut builder = Runtime::builder();
        if let Some(workers) = options.map(|o| o.workers).filter(|&workers| workers > 0) {
            builder = builder.workers(workers as usize);
        }
        let mut plan = Choice::Auto;
        if let Some(options) = options.filter(|options| !options.plan.is_null()) {
            // SAFETY: promised by the caller.
            let text = unsafe { CStr::from_ptr(options.plan) };
            let text = text
                .to_str()
                .map_err(|_| Failure::invalid("a plan is UTF-8"))?;
            plan = text.parse().map_err(Failure::invalid)?;
        }
        let options = RunOptions {
            plan,
            ..RunOptions::default()
        };
        let runtime = builder.build().map_err(Failure::failed)?;
        let open = OpenGraph::new(runtime, &graph.0, &format.read()?, Planes::Auto, options);
        let made = Stream(open.map_err(Failure::invalid)?);
        // SAFETY: promised by the caller.
        unsafe { stream.write(Box::into_raw(Box::new(made))) };
        Ok(Status::Ok)
    })
}

/// Asks until there is an answer, for `timeout_ms` or, if that is less than 0, for ever.
fn wait<T>(
    timeout_ms: i64,
    mut ask: impl FnMut(Instant) -> Result<Turn<T>, Failure>,
) -> Result<Turn<T>, Failure> {
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        match (ask(end.unwrap_or_else(|| Instant::now() + LONG))?, end) {
            (Turn::Late, None) => {}
            (turn, _) => return Ok(turn),
        }
    }
}

/// Begins a frame: `input` and `output` are as many planes as the format of frames and of results has. They are read and
/// written until `evener_stream_pull` gives the frame's `given` back. Waits for room at most `timeout_ms`, or for ever if
/// that is less than 0.
///
/// A thread that pushes and pulls must pull before it has pushed many: there is room for some frames only.
///
/// `EVENER_STATUS_LATE` if there was no room in time, `_ENDED` if the stream has ended; the frame is not begun then.
///
/// # Safety
/// `stream` was made by `evener_stream_open`. The planes are there, the input is not written and the output neither read nor
/// written by others, until the frame is pulled or the stream is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_stream_push(
    stream: *const Stream,
    input: *const Plane,
    output: *const Plane,
    given: *mut c_void,
    timeout_ms: i64,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Stream(open)), false) = (
            unsafe { stream.as_ref() },
            input.is_null() || output.is_null(),
        ) else {
            return Err(Failure::invalid("evener_stream_push takes no null"));
        };
        // SAFETY: promised by the caller.
        let (inputs, outputs) = unsafe {
            (
                slice::from_raw_parts(input, open.input().planes()),
                slice::from_raw_parts(output, open.output().planes()),
            )
        };
        memory::check_overlap((open.input(), inputs), (open.output(), outputs))?;
        let turn = wait(timeout_ms, |until| {
            // SAFETY: promised by the caller.
            let (input, output) = unsafe {
                (
                    memory::frame(open.input(), inputs, false)?,
                    memory::frame(open.output(), outputs, true)?,
                )
            };
            Ok(open.push(until, input, output, Given(given)))
        })?;
        Ok(match turn {
            Turn::Done(()) => Status::Ok,
            Turn::Late => Status::Late,
            Turn::Ended => Status::Ended,
        })
    })
}

/// Waits for the next result, in the order in which frames were pushed, at most `timeout_ms`, or for ever if that is less
/// than 0. It lies in the `output` that was pushed with it. `given`, unless it is null, gets what was given with it.
///
/// `EVENER_STATUS_LATE` if there was none in time, `_ENDED` if there is none any more. `evener_stream_free` says why a stream
/// ended that was not told to.
///
/// # Safety
/// `stream` was made by `evener_stream_open`; `given` is a place for a pointer or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_stream_pull(
    stream: *const Stream,
    given: *mut *mut c_void,
    timeout_ms: i64,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(Stream(open)) = (unsafe { stream.as_ref() }) else {
            return Err(Failure::invalid("evener_stream_pull takes no null stream"));
        };
        Ok(match wait(timeout_ms, |until| Ok(open.pull(until)))? {
            Turn::Done((_, _, Given(pointer))) => {
                if !given.is_null() {
                    // SAFETY: promised by the caller.
                    unsafe { given.write(pointer) };
                }
                Status::Ok
            }
            Turn::Late => Status::Late,
            Turn::Ended => Status::Ended,
        })
    })
}

/// Says that no more frames come. Results of those that came can still be pulled; then the stream has ended.
///
/// # Safety
/// `stream` was made by `evener_stream_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_stream_end(stream: *const Stream) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(Stream(open)) = (unsafe { stream.as_ref() }) else {
            return Err(Failure::invalid("evener_stream_end takes no null"));
        };
        open.end();
        Ok(Status::Ok)
    })
}

/// Ends a stream and frees it, when frames under way are done. Their results are in their place, and no memory of the caller
/// is read or written afterwards. `EVENER_STATUS_FAILED` if the stream had ended because a frame could not be computed or its
/// plan not be run. Null is allowed.
///
/// # Safety
/// `stream` was made by `evener_stream_open`, was not freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_stream_free(stream: *mut Stream) -> Status {
    guarded(|| {
        if stream.is_null() {
            return Ok(Status::Ok);
        }
        // SAFETY: promised by the caller.
        let Stream(open) = *unsafe { Box::from_raw(stream) };
        open.close().map_err(Failure::failed)?;
        Ok(Status::Ok)
    })
}
