//! Counting on devices: the host makes roots, many more than starts, and a kernel searches below them.

mod batch;
mod host;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::{Duration, Instant};

use evener_runtime::device::{
    Arg, Arithmetic, Buffer, Command, DeviceError, Lane, Launch, OnDevice, Program, UnitLane,
};

use self::batch::{Batch, LEAST_ROWS, ROOTS_BYTES, TABLES_BYTES};
use crate::inner::{Row, State};
use crate::service::{Search, Sums};
use crate::starts::{Searcher, Starts};

/// The kernel.
static PROGRAM: Program = Program {
    name: "queens",
    source: include_str!("queens.c"),
    needs: Arithmetic::INTEGER,
};

/// Jobs that the kernel makes of a root.
const JOBS: usize = 64;
/// Boards on the stacks of a group.
const STACK: usize = 1536;
/// Threads of a group. With these an H100 has 1152 threads on each of its processors, as many as stacks fit there.
const THREADS: usize = 128;
/// The most groups. No device runs as many at once; those beyond find no job.
const GROUPS: usize = 2048;
/// Bytes of a unit's sum, and before the first one.
const SUM: usize = 8;

/// Steps of the search of 18 rows, and how many times as many there are with one more row.
const STEPS: f64 = 8e9;
const GROWTH: f64 = 8.1;
/// The most steps below a root. Jobs then have some thousands: a thread has many in 50 ms, so that all end together, and
/// the time for the next job does not count. The host fills further rows until roots are that small, which takes a
/// twentieth of a core beside an H100.
const ROOT_STEPS: f64 = 1e6;

/// How many rows below the starts the host fills.
fn rows_to_fill(starts: &Starts) -> usize {
    let n = f64::from(starts.n());
    let mut steps = STEPS * GROWTH.powf(n - 18.0) / starts.len().max(1) as f64;
    let mut rows = 0;
    while steps > ROOT_STEPS {
        // So many ways there are for the queen of a row near the first one.
        steps /= n / 1.8;
        rows += 1;
    }
    rows
}

impl OnDevice<Range<u64>, Sums> for Search {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    /// Some 50 ms of an H100, from the size of units.
    fn most_units(&self) -> usize {
        match self.starts.n() {
            0..=19 => 1024,
            20 => 512,
            21 => 256,
            22 => 128,
            23 => 16,
            24 => 2,
            _ => 1,
        }
    }

    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<Range<u64>, Sums> + 'a>, DeviceError> {
        Ok(Box::new(SearchLane::new(self, lane, THREADS)?))
    }

    fn same(&self, one: &Sums, other: &Sums) -> bool {
        one.range() == other.range() && one.solutions() == other.solutions()
    }
}

/// A lane that counts.
struct SearchLane<'a> {
    search: &'a Search,
    lane: Box<dyn Lane>,
    tables: Buffer,
    roots: Buffer,
    sums: Buffer,
    batch: Batch,
    /// Rows below the starts that the host fills.
    fill: usize,
    /// The most threads of a group.
    threads: usize,
    /// The sums of the units so far.
    solutions: Vec<u128>,
    /// Units that began since the last launch.
    begun: u32,
    /// For borders with too few rows for the kernel.
    searcher: Searcher,
}

/// Starts of one border in one unit.
struct Run<'a> {
    unit: usize,
    weight: u8,
    /// The rows from that of the starts on.
    rows: &'a [Row],
    /// How many of them the host fills.
    fill: usize,
}

impl<'a> SearchLane<'a> {
    fn new(
        search: &'a Search,
        mut lane: Box<dyn Lane>,
        threads: usize,
    ) -> Result<SearchLane<'a>, DeviceError> {
        let sums = SUM * (1 + search.most_units());
        Ok(SearchLane {
            search,
            tables: lane.buffer(TABLES_BYTES)?,
            roots: lane.buffer(ROOTS_BYTES)?,
            sums: lane.buffer(sums)?,
            lane,
            batch: Batch::new(),
            fill: rows_to_fill(&search.starts),
            threads,
            solutions: Vec::new(),
            begun: 0,
            searcher: Searcher::new(search.simd),
        })
    }

    /// Adds what is below a state at row `at` of a run to the batch.
    fn add(
        &mut self,
        run: &Run<'_>,
        at: usize,
        state: State,
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let mut free = state.free(run.rows[at]);
        if at == run.fill {
            if !self.batch.has_room(run.rows.len()) {
                self.launch(limit)?;
                self.batch.begin_table(run);
            }
            if free != 0 {
                self.batch.add_root(state);
            }
            return Ok(());
        }
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            self.add(
                run,
                at + 1,
                state.placed(bit, run.rows[at + 1].shift),
                limit,
            )?;
        }
        Ok(())
    }

    /// Searches below the roots of the batch, and empties it.
    fn launch(&mut self, limit: Duration) -> Result<(), DeviceError> {
        let roots = self.batch.roots();
        let zeros = vec![0; SUM * (1 + self.solutions.len())];
        let mut sums = vec![0; SUM * self.solutions.len()];
        let (tables, from, to) = (self.tables, self.roots, self.sums);
        let simd = self.search.simd;
        let jobs = roots * JOBS;
        let threads = group(self.threads, self.batch.boards());
        let args = [
            Arg::Buffer(tables),
            Arg::Buffer(from),
            Arg::Buffer(to),
            Arg::U32(jobs as u32),
        ];
        let launch = Launch {
            kernel: "queens_count",
            args: &args,
            groups: [jobs.div_ceil(threads).min(GROUPS) as u32, 1],
            threads: [threads as u32, 1],
            units: self.begun,
            host: &|memory| host::count(simd, memory, [tables, from, to], roots),
        };
        if roots > 0 {
            let up = [
                (tables, self.batch.table_bytes()),
                (from, self.batch.root_bytes()),
                (to, &zeros),
            ];
            let [one, two, three] = up.map(|(to, from)| Command::Upload { to, at: 0, from });
            let down = Command::Download {
                from: to,
                at: SUM,
                to: &mut sums,
            };
            let begin = Instant::now();
            self.lane
                .run(&mut [one, two, three, Command::Launch(launch), down], limit)?;
            self.batch.took(begin.elapsed());
            let (sums, _) = sums.as_chunks::<SUM>();
            for (unit, &sum) in self.solutions.iter_mut().zip(sums) {
                *unit += u128::from(u64::from_ne_bytes(sum));
            }
            self.begun = 0;
        }
        self.batch.clear();
        Ok(())
    }
}

/// Threads of a group that have so many boards each on their stacks: whole warps, if there are any.
fn group(most: usize, boards: usize) -> usize {
    let threads = most.min(STACK / boards);
    if threads < 32 {
        threads
    } else {
        threads / 32 * 32
    }
}

impl UnitLane<Range<u64>, Sums> for SearchLane<'_> {
    fn run(
        &mut self,
        inputs: &[&Range<u64>],
        outputs: &[&Sums],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let starts = &self.search.starts;
        self.batch.clear();
        self.solutions.clear();
        self.solutions.resize(inputs.len(), 0);
        self.begun = 0;
        for (unit, &range) in inputs.iter().enumerate() {
            self.begun += 1;
            for (weight, inner, roots) in starts.runs(range.clone()) {
                let depth = starts.depth().min(inner.rows.len());
                let rows = &inner.rows[depth..];
                if rows.len() < LEAST_ROWS {
                    let found = self.searcher.below(&inner, depth, &roots, weight);
                    self.solutions[unit] += found.solutions;
                    continue;
                }
                let fill = self.fill.min(rows.len() - LEAST_ROWS);
                let run = Run {
                    unit,
                    weight,
                    rows,
                    fill,
                };
                if !self.batch.has_room(rows.len()) {
                    self.launch(limit)?;
                }
                self.batch.begin_table(&run);
                for root in roots {
                    self.add(&run, 0, root, limit)?;
                }
            }
        }
        self.launch(limit)?;
        for ((range, sums), &solutions) in inputs.iter().zip(outputs).zip(&self.solutions) {
            sums.set_whole(range, solutions);
        }
        Ok(())
    }
}
