//! The kernel's text, compiled by the C compiler and by OpenCL where there is a driver, and the simulated device, against
//! the search on a core.

use std::sync::{Arc, LazyLock};

use evener_devices::c::CDevice;
use evener_devices::opencl::{self, OpenCl};
use evener_runtime::device::{Device, HostMemory};
use evener_runtime::{Service, Simd};

use super::*;
use crate::division::Division;

const LIMIT: Duration = Duration::from_secs(600);

const TOTALS: [u128; 15] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596,
];

/// A lane that does what launches say for a simulated device.
struct HostLane(HostMemory);

impl Lane for HostLane {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        Ok(self.0.add(bytes))
    }

    fn run(&mut self, commands: &mut [Command<'_>], _: Duration) -> Result<(), DeviceError> {
        for command in commands {
            match command {
                Command::Upload { to, at, from } => {
                    self.0.write(*to)[*at..][..from.len()].copy_from_slice(from);
                }
                Command::Launch(launch) => (launch.host)(&self.0),
                Command::Download { from, at, to } => {
                    to.copy_from_slice(&self.0.read(*from)[*at..][..to.len()]);
                }
            }
        }
        Ok(())
    }
}

/// Every way to run the kernel that this machine has.
fn lanes() -> Vec<(&'static str, Box<dyn Lane>)> {
    let c = CDevice::new();
    let mut lanes: Vec<(_, Box<dyn Lane>)> = vec![
        ("host", Box::new(HostLane(HostMemory::default()))),
        ("C", c.lane(&PROGRAM).expect("the kernel is C")),
    ];
    lanes.extend(opencl().map(|device| ("OpenCL", device.lane(&PROGRAM).unwrap())));
    lanes
}

/// The first device of OpenCL, or a line that says that there is none.
fn opencl() -> Option<&'static OpenCl> {
    static DEVICE: LazyLock<Option<OpenCl>> = LazyLock::new(|| {
        let found = opencl::list().unwrap_or_default().into_iter().next();
        if found.is_none() {
            eprintln!("without OpenCL, which has no device; install pocl-opencl-icd");
        }
        Some(OpenCl::open(found?).unwrap())
    });
    DEVICE.as_ref()
}

fn search(starts: Starts) -> Search {
    Search::new(Arc::new(starts), Simd::detect())
}

/// What a core counts.
fn expected(search: &Search, unit: &Range<u64>) -> u128 {
    let found = Searcher::new(search.simd).search(&search.starts, unit.clone());
    found.solutions
}

/// Runs units and compares each with a core.
fn compare(context: &str, lane: &mut SearchLane<'_>, units: &[Range<u64>]) -> u128 {
    let search = lane.search;
    let mut total = 0;
    for units in units.chunks(search.most_units()) {
        let sums: Vec<Sums> = units.iter().map(|_| search.output()).collect();
        let inputs: Vec<&Range<u64>> = units.iter().collect();
        let outputs: Vec<&Sums> = sums.iter().collect();
        lane.run(&inputs, &outputs, LIMIT).unwrap();
        for (unit, sums) in units.iter().zip(&sums) {
            assert_eq!(sums.range(), *unit, "{context}");
            assert_eq!(
                sums.solutions(),
                expected(search, unit),
                "{context}, {unit:?}"
            );
            total += sums.solutions();
        }
    }
    total
}

#[test]
fn boards_up_to_14_rows_have_the_same_units_and_totals() {
    for (n, total) in (0..).zip(TOTALS) {
        let search = search(Starts::new(n).unwrap());
        let units: Vec<_> = Division::new(Arc::clone(&search.starts), 0).collect();
        for (name, lane) in lanes() {
            let mut lane = SearchLane::new(&search, lane, THREADS).unwrap();
            let context = format!("{name}, n {n}");
            assert_eq!(compare(&context, &mut lane, &units), total, "{context}");
        }
    }
}

#[test]
fn groups_of_any_size_and_any_number_of_filled_rows_find_the_same() {
    for (n, depth) in [(6, 0), (9, 1), (11, 0), (12, 2)] {
        let search = search(Starts::with_depth(n, depth).unwrap());
        let units: Vec<_> = Division::new(Arc::clone(&search.starts), 0).collect();
        for threads in [1, 3, 77] {
            for fill in [0, 2, 30] {
                for (name, lane) in lanes() {
                    let mut lane = SearchLane::new(&search, lane, threads).unwrap();
                    lane.fill = fill;
                    let context = format!("{name}, n {n}, {threads} threads, fill {fill}");
                    let total = compare(&context, &mut lane, &units);
                    assert_eq!(total, TOTALS[n as usize], "{context}");
                }
            }
        }
    }
}

#[test]
fn starts_of_larger_boards_have_the_same_solutions() {
    for n in [15, 17, 18, 19, 21, 22, 25, 30] {
        let starts = Starts::with_depth(n, 0).unwrap();
        let classes = starts.len();
        let search = search(starts);
        let mut number = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (name, lane) in lanes() {
            let mut lane = SearchLane::new(&search, lane, THREADS).unwrap();
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let start = (number >> 33) % classes;
            // A walk down to the last eleven rows of the start's border.
            let (weight, inner, roots) = search.starts.runs(start..start + 1).next().unwrap();
            let (mut at, mut state) = (0, roots[0]);
            while inner.rows.len() - at > 11 {
                let free = state.free(inner.rows[at]);
                let kept = (0..32).filter(|column| free >> column & 1 != 0);
                let Some(column) = kept.max_by_key(|column| {
                    let next = state.placed(1 << column, inner.rows[at + 1].shift);
                    next.free(inner.rows[at + 1]).count_ones()
                }) else {
                    break;
                };
                state = state.placed(1 << column, inner.rows[at + 1].shift);
                at += 1;
            }
            let expected = lane.searcher.below(&inner, at, &[state], weight).solutions;
            let run = Run {
                unit: 0,
                weight,
                rows: &inner.rows[at..],
                fill: 1,
            };
            lane.batch.clear();
            lane.solutions = vec![0];
            lane.batch.begin_table(&run);
            lane.add(&run, 0, state, LIMIT).unwrap();
            lane.launch(LIMIT).unwrap();
            assert_eq!(
                lane.solutions,
                [expected],
                "{name}, n {n}, start {start}, row {at}"
            );
        }
    }
}

#[test]
fn launches_are_cut_so_that_slow_devices_answer() {
    let search = search(Starts::new(11).unwrap());
    let all = 0..search.starts.len();
    let mut lane = SearchLane::new(&search, Box::new(HostLane(HostMemory::default())), 64).unwrap();
    lane.fill = 4;
    for time in [0, 0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 0] {
        lane.batch.took(Duration::from_millis(time));
        let total = compare("cut", &mut lane, std::slice::from_ref(&all));
        assert_eq!(total, TOTALS[11]);
    }
}
