//! A stream that waits uses no processor. Alone in its process, whose time it measures.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

#[path = "common/structures.rs"]
mod structures;

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::Duration;

use evener_runtime::stream::CancelToken;
use evener_runtime::{Part, Runtime, Service, Shape, Sink, Source, Work};
use structures::{FARM, SEQUENTIAL, WAVEFRONT};

struct Nothing;

impl Service for Nothing {
    type Input = ();
    type Output = ();
    type Scratch = ();

    fn key(&self) -> String {
        "nothing".into()
    }

    fn input(&self) {}

    fn output(&self) {}

    fn scratch(&self) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let shape = |structure, items| Shape {
            structure,
            passes: vec![items],
            steps: Vec::new(),
            lines: Vec::new(),
            pass_names: Vec::new(),
            device_pass: None,
            default_grain: 1,
            min_grain: 1,
            units: 1,
            work: Work::default(),
        };
        let wavefront = Shape {
            lines: vec![4],
            units: 3,
            ..shape(&WAVEFRONT, 8)
        };
        vec![shape(&SEQUENTIAL, 8), shape(&FARM, 1), wavefront]
    }

    fn run(&self, _: &Part, _: &(), _: &(), _: &mut ()) -> Result<(), String> {
        Ok(())
    }
}

/// Has a unit whenever something is sent.
struct Pipe(mpsc::Receiver<()>);

impl Source<Nothing> for Pipe {
    type Error = Infallible;

    fn read(&mut self, _: &mut ()) -> Result<bool, Infallible> {
        Ok(self.0.recv().is_ok())
    }
}

/// Tells of every unit, and writes the next when it is let.
struct Door {
    written: mpsc::Sender<()>,
    open: mpsc::Receiver<()>,
}

impl Sink<Nothing> for Door {
    type Error = Infallible;

    fn write(&mut self, _: &()) -> Result<(), Infallible> {
        let _ = self.written.send(());
        let _ = self.open.recv();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Processor time of all threads of this process so far; the first field of `schedstat`, see proc(5).
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(|t| of(t.unwrap())).sum())
}

#[test]
fn a_stream_that_waits_is_parked() {
    for plan in [
        "sequential/fifo",
        "sequential/mailbox",
        "sequential/steal",
        "farm",
        "wavefront",
        "auto",
    ] {
        let (feed, pipe) = mpsc::channel();
        let (written, told) = mpsc::channel();
        let (open, gate) = mpsc::channel();
        let token = CancelToken::new();
        let cancel = token.clone();
        let stream = std::thread::spawn(move || {
            let rt = Runtime::builder().workers(2).build().unwrap();
            let stream = rt
                .stream(Pipe(pipe))
                .through(Nothing)
                .plan(plan.parse().unwrap());
            stream
                .cancel(cancel)
                .into(Door {
                    written,
                    open: gate,
                })
                .unwrap()
        });
        let idle = |what: &str| {
            std::thread::sleep(Duration::from_millis(100));
            let before = processor_time();
            std::thread::sleep(Duration::from_secs(1));
            let used = processor_time() - before;
            println!(
                "{plan}, {what}: {:.4} % of a processor",
                used.as_secs_f64() * 100.0
            );
            assert!(
                used < Duration::from_millis(10),
                "{plan}, {what}: {used:?} in a second"
            );
        };
        let wait = || told.recv_timeout(Duration::from_secs(60)).unwrap();

        // Units have gone through, and now the source is silent.
        (0..20).for_each(|_| feed.send(()).unwrap());
        (0..20).for_each(|_| open.send(()).unwrap());
        (0..20).for_each(|_| wait());
        idle("the source is silent");

        // The sink takes no more, and every buffer is full.
        (0..50).for_each(|_| feed.send(()).unwrap());
        wait();
        idle("the sink is stuck");

        token.cancel();
        drop((feed, open));
        let report = stream.join().unwrap();
        assert!(report.cancelled && report.units >= 21, "{report}");
    }
}
