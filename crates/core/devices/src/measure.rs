//! What copies to and from a device take, through a lane, as services use it.

use std::time::{Duration, Instant};

use evener_runtime::device::{Arg, Buffer, Command, Device, DeviceError, Lane, Launch};
use serde::Serialize;

use crate::probe::PROGRAM;

/// Bytes of a copy: some frames, and more than a link needs to be at its full rate.
const BYTES: usize = 16 << 20;
/// How long one thing is measured, but for the copy that is under way.
const SPAN: Duration = Duration::from_millis(50);
const LIMIT: Duration = Duration::from_secs(20);

/// What moving data costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Bytes a second to the device.
    pub up: f64,
    /// Bytes a second from the device.
    pub down: f64,
    /// Seconds from handing over a few bytes and a kernel to having a few bytes back.
    pub round_trip: f64,
}

/// Measures the best of several copies each way, and of several round trips. It takes about 0.2 s.
///
/// # Errors
/// The device is lost, or has no memory left.
pub fn link(device: &dyn Device) -> Result<Link, DeviceError> {
    let mut lane = device.lane(&PROGRAM)?;
    let large = lane.buffer(BYTES)?;
    let mut bytes = vec![1; BYTES];
    // The first copy finds memory on both sides.
    let up = best(1, || {
        let upload = Command::Upload {
            to: large,
            at: 0,
            from: &bytes,
        };
        lane.run(&mut [upload], LIMIT)
    })?;
    let down = best(1, || {
        let download = Command::Download {
            from: large,
            at: 0,
            to: &mut bytes,
        };
        lane.run(&mut [download], LIMIT)
    })?;
    let small = lane.buffer(256)?;
    let round_trip = best(3, || round_trip(&mut *lane, small))?;
    Ok(Link {
        up: BYTES as f64 / up,
        down: BYTES as f64 / down,
        round_trip,
    })
}

fn round_trip(lane: &mut dyn Lane, buffer: Buffer) -> Result<(), DeviceError> {
    let arg = Arg::Buffer(buffer);
    // It has no case to compute.
    let args = [arg, arg, arg, arg, Arg::U32(0)];
    let kernel = Command::Launch(Launch {
        kernel: "probe_sqrt",
        args: &args,
        groups: [1, 1],
        threads: [64, 1],
        units: 1,
        host: &|_| (),
    });
    let upload = Command::Upload {
        to: buffer,
        at: 0,
        from: &[0; 256],
    };
    let download = Command::Download {
        from: buffer,
        at: 0,
        to: &mut [0; 256],
    };
    lane.run(&mut [upload, kernel, download], LIMIT)
}

/// Seconds of the fastest run, after some that do not count.
fn best(first: u32, mut run: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    for _ in 0..first {
        run()?;
    }
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed() < SPAN || best.is_infinite() {
        let one = Instant::now();
        run()?;
        best = best.min(one.elapsed().as_secs_f64());
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use evener_runtime::device::sim::SimDevice;

    use super::*;

    #[test]
    fn a_simulated_link_is_measured_as_it_is_described() {
        let device = SimDevice::parse("sim:latency=500us,up=2G,down=1G").unwrap();
        let begin = Instant::now();
        let link = link(&device).unwrap();
        println!("{link:?} in {:?}", begin.elapsed());
        // A busy machine wakes the lane late, so what is measured may be slower than what is described.
        assert!((0.5e9..=2.0e9).contains(&link.up), "{link:?}");
        assert!((0.25e9..=1.0e9).contains(&link.down), "{link:?}");
        assert!((500e-6..5e-3).contains(&link.round_trip), "{link:?}");
    }
}
