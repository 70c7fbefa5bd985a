//! Two devices with a link between them.

use std::io;
use std::time::{Duration, Instant};

use evener_runtime::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Conditions, Counters, Path};
use crate::device::{Capabilities, Count, Device, Medium};
use crate::memory::Shared;
use crate::packet::{Checksum, Offload, Outgoing};
use crate::segments;
use crate::time::Time;
use crate::wire::ethernet;

/// Packets of one device that are read before the other has its turn.
const BATCH: usize = 64;
/// How long it sleeps at most, so that it soon sees that it is to end.
const SLEEP: Duration = Duration::from_millis(100);
/// A sleep shorter than this is spent awake: the system wakes a process no more precisely.
const AWAKE: Duration = Duration::from_micros(60);

/// What became of the segments of each direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// From the first device to the second.
    pub forth: Counters,
    /// From the second to the first.
    pub back: Counters,
    /// Segments that a device had no room for.
    pub refused: u64,
    /// What the devices counted, the first before the second.
    pub devices: Vec<Count>,
}

/// Forwards packets between two devices until it is stopped, and returns what became of them. The conditions are those of
/// each direction; the second has the seed after that of the first.
///
/// # Errors
/// What a device says when it is gone, or that their media differ.
pub fn run(
    first: &mut dyn Device,
    second: &mut dyn Device,
    conditions: &Conditions,
    stop: &CancelToken,
) -> io::Result<Report> {
    let mut report = Report::default();
    run_reporting([first, second], conditions, stop, &mut report)?;
    Ok(report)
}

/// The same, with a report also when a device is gone.
pub(super) fn run_reporting(
    [first, second]: [&mut dyn Device; 2],
    conditions: &Conditions,
    stop: &CancelToken,
    report: &mut Report,
) -> io::Result<()> {
    let media = [first.capabilities().medium, second.capabilities().medium];
    if network(media[0]) != network(media[1]) {
        let message = "one of the devices has frames of Ethernet and the other has not";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut forth = Path::new(*conditions, media[0]);
    let mut back = Path::new(
        Conditions {
            seed: conditions.seed.wrapping_add(1),
            ..*conditions
        },
        media[1],
    );
    let paths = [&mut forth, &mut back];
    let ended = forward([first, second], paths, stop, &mut report.refused);
    first.counts(&mut report.devices);
    second.counts(&mut report.devices);
    (report.forth, report.back) = (forth.counters(), back.counters());
    ended
}

fn forward(
    [first, second]: [&mut dyn Device; 2],
    [forth, back]: [&mut Path; 2],
    stop: &CancelToken,
    refused: &mut u64,
) -> io::Result<()> {
    let start = Instant::now();
    let now = || Time(start.elapsed().as_nanos() as u64);
    while !stop.is_cancelled() {
        let came = take(first, forth, now())? + take(second, back, now())?;
        let went =
            hand_over(forth, second, now(), refused)? + hand_over(back, first, now(), refused)?;
        if came + went > 0 {
            continue;
        }
        let next = forth.next_arrival().min(back.next_arrival());
        let pause = next.since(now()).min(SLEEP);
        if pause < AWAKE {
            std::hint::spin_loop();
        } else if first.before_wait() && second.before_wait() {
            wait(first, second, pause - AWAKE)?;
        }
    }
    Ok(())
}

fn network(medium: Medium) -> usize {
    match medium {
        Medium::Ip => 0,
        Medium::Ethernet(_) => ethernet::LEN,
    }
}

fn take(from: &mut dyn Device, path: &mut Path, now: Time) -> io::Result<usize> {
    from.receive(BATCH, &mut |bytes, offload| path.push(now, bytes, offload))
}

/// Sends what has arrived, and returns how many packets that was.
fn hand_over(
    path: &mut Path,
    to: &mut dyn Device,
    now: Time,
    refused: &mut u64,
) -> io::Result<usize> {
    let capabilities = to.capabilities();
    let (mut count, mut result) = (0, Ok(true));
    while count < BATCH
        && path.pop(now, |bytes, offload| {
            result = send(to, &capabilities, bytes, offload);
        })
    {
        count += 1;
        if !std::mem::replace(&mut result, Ok(true))? {
            *refused += 1;
        }
    }
    if count > 0 {
        to.flush()?;
    }
    Ok(count)
}

fn send(
    to: &mut dyn Device,
    capabilities: &Capabilities,
    bytes: &mut [u8],
    mut offload: Offload,
) -> io::Result<bool> {
    if offload.checksum == Checksum::Partial && !capabilities.checksums {
        segments::complete(bytes, network(capabilities.medium));
        offload.checksum = Checksum::Complete;
    }
    to.send(Outgoing {
        header: bytes,
        payload: [Shared::EMPTY; 2],
        offload,
    })
}

/// Sleeps until a device has packets, or for `pause`.
fn wait(first: &dyn Device, second: &dyn Device, pause: Duration) -> io::Result<()> {
    // A device that cannot be waited for is polled.
    let (Some(first), Some(second)) = (first.readable(), second.readable()) else {
        return Ok(());
    };
    let pause = Timespec {
        tv_sec: pause.as_secs() as i64,
        tv_nsec: pause.subsec_nanos().into(),
    };
    let mut ready = [
        PollFd::new(&first, PollFlags::IN),
        PollFd::new(&second, PollFlags::IN),
    ];
    match poll(&mut ready, Some(&pause)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::device::Wire;

    /// Sends a packet at one end and returns how long it took to the other.
    fn cross(from: &mut Wire, to: &mut Wire, number: u8) -> Duration {
        let start = Instant::now();
        let packet = Outgoing {
            header: &[number; 100],
            payload: [Shared::EMPTY; 2],
            offload: Offload::default(),
        };
        assert!(from.send(packet).expect("a wire"));
        from.flush().expect("a wire");
        let mut found = 0;
        while found == 0 {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "the packet is lost"
            );
            to.receive(1, &mut |bytes, _| {
                assert_eq!(bytes, [number; 100]);
                found += 1;
            })
            .expect("a wire");
            thread::yield_now();
        }
        start.elapsed()
    }

    #[test]
    fn packets_go_both_ways_and_take_their_time() {
        let [mut near, mut first] = Wire::pair(1500, true).expect("a wire");
        let [mut far, mut second] = Wire::pair(1500, true).expect("a wire");
        let stop = CancelToken::new();
        let stops = stop.clone();
        let conditions = Conditions {
            delay: Duration::from_millis(3),
            ..Conditions::default()
        };
        let link = thread::spawn(move || run(&mut first, &mut second, &conditions, &stops));
        for number in 0..20 {
            assert!(cross(&mut near, &mut far, number) >= conditions.delay);
            assert!(cross(&mut far, &mut near, number) >= conditions.delay);
        }
        stop.cancel();
        let report = link.join().expect("a thread").expect("a link");
        assert_eq!((report.forth.forwarded, report.back.forwarded), (20, 20));
        assert_eq!(report.refused, 0);
    }

    #[test]
    fn an_end_that_is_gone_ends_the_link() {
        let [near, mut first] = Wire::pair(1500, true).expect("a wire");
        let [_far, mut second] = Wire::pair(1500, true).expect("a wire");
        drop(near);
        let stop = CancelToken::new();
        let error = run(&mut first, &mut second, &Conditions::default(), &stop);
        assert_eq!(
            error.expect_err("no peer").kind(),
            io::ErrorKind::ConnectionReset
        );
    }
}
