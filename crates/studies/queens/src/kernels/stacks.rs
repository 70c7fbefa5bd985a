//! The search of many boards at once: a stack of boards for each row, worked off many at a time.
//!
//! A **pass** takes the topmost boards of a row's stack, a register of them after the other. Each board gets a queen
//! on its lowest free column. Children that have a free column in their row go onto the next row's stack; boards that
//! have another free column go back onto their own, where the gaps close. So every lane of every register is a board
//! with something to do, whatever the shapes of their trees.
//!
//! A pass takes many boards (a *batch*) for two reasons. The choice of the next row, which the processor cannot
//! predict, comes once in a pass. And the boards that a pass reads were written long before, in pieces that a load
//! could not be served from while they are in the store buffer. The search goes down as soon as the next row has a
//! batch, so no stack holds more than two batches, and up when a row has less than a batch. A smaller batch is taken
//! only when there are no more boards above, from the highest row that has any.
//!
//! Bound: stores and decoding. A step of eight narrow boards writes four registers, which takes 8 clocks at places that
//! are no multiple of a register, and is 44 instructions, 52 where it looks a row further. It takes about 1.7 times as
//! long as that, 1.7 clocks a node with AVX2 on a Zen 4.

use super::Job;
use super::lanes::Lanes;
use super::layout::Layout;
use crate::counts::Counts;
use crate::inner::Row;

/// Words of the boards of a batch. Half as many cost 5 to 10 % more time, since rows are chosen more often. Twice as
/// many save nothing, since the stacks no longer fit the nearest cache.
const WORDS: usize = 1024;

/// Boards of the widest register.
const WIDEST: usize = 16;

/// The stacks' memory, kept from search to search.
#[derive(Default)]
pub struct Memory(Vec<u32>);

/// In how many of the last rows the search looks one row further ahead. Higher up, this drops too few boards to pay.
const LOOKAHEAD_ROWS: usize = 4;

/// Stacks of boards of `W` words.
struct Stacks<'a, const W: usize> {
    words: &'a mut [u32],
    /// Boards on each row's stack.
    height: [usize; ROWS],
}

/// Rows that a board can have inside its border.
const ROWS: usize = crate::LARGEST as usize;

impl<const W: usize> Stacks<'_, W> {
    /// Boards of a pass.
    const BATCH: usize = WORDS / W;
    /// Words from one word of a stack's boards to the next word: two batches, and a register that reaches beyond.
    const STRIDE: usize = 2 * Self::BATCH + WIDEST;

    /// Where the first word of board number `board` of a row lies.
    #[inline(always)]
    fn place(&self, row: usize, board: usize) -> usize {
        row * W * Self::STRIDE + board
    }

    #[inline(always)]
    fn push(&mut self, row: usize, board: [u32; W]) {
        let at = self.place(row, self.height[row]);
        for (i, word) in board.into_iter().enumerate() {
            self.words[at + i * Self::STRIDE] = word;
        }
        self.height[row] += 1;
    }

    /// Fills the space above the boards of a row with empty lanes, as many as the widest register has.
    #[inline(always)]
    fn pad(&mut self, row: usize) {
        let at = self.place(row, self.height[row]);
        for word in 0..W {
            self.words[at + word * Self::STRIDE..][..WIDEST].fill(u32::MAX);
        }
    }
}

/// Runs a job.
///
/// # Panics
/// If there are not at least two rows from the job's depth on.
#[inline(always)]
pub fn search<S: Lanes, L: Layout<S, W>, const W: usize>(
    s: S,
    _: L,
    job: &Job<'_>,
    memory: &mut Memory,
) -> Counts {
    let Job { rows, depth, roots } = *job;
    assert!(depth + 2 <= rows.len() && rows.len() <= ROWS);
    let last = rows.len() - 2;
    let needed = (last + 1) * W * Stacks::<W>::STRIDE;
    if memory.0.len() < needed {
        memory.0.resize(needed, 0);
    }
    let mut stacks = Stacks::<W> {
        words: &mut memory.0,
        height: [0; ROWS],
    };
    let mut roots = roots.iter();
    let mut found = Counts::default();
    let mut solutions = 0;
    // Rows above `top` have no boards, nor will they get any.
    let (mut top, mut at) = (depth, depth);
    loop {
        if at == depth {
            while stacks.height[depth] < Stacks::<W>::BATCH
                && let Some(&root) = roots.next()
            {
                stacks.push(depth, L::pack(root, rows[depth]));
            }
        }
        let boards = stacks.height[at].min(Stacks::<W>::BATCH);
        if boards < Stacks::<W>::BATCH && at > top {
            at -= 1;
            continue;
        }
        if boards == 0 {
            if top == last {
                break;
            }
            top += 1;
            at = top;
            continue;
        }
        if !boards.is_multiple_of(S::LANES) {
            stacks.pad(at);
        }
        found.nodes += boards as u64;
        if at == last {
            let (counted, more) = finish::<S, L, W>(s, &mut stacks, rows, boards);
            solutions += counted;
            found.nodes += more;
            continue;
        }
        if last - at < LOOKAHEAD_ROWS {
            pass::<S, L, W, true>(s, &mut stacks, rows, at, boards);
        } else {
            pass::<S, L, W, false>(s, &mut stacks, rows, at, boards);
        }
        if stacks.height[at + 1] >= Stacks::<W>::BATCH {
            at += 1;
        }
    }
    found.solutions = u64::into(solutions);
    found
}

/// Places a queen on each of the topmost `boards` of a row. With `LOOKAHEAD`, children without a free column in the row
/// after next are dropped too.
#[inline(always)]
fn pass<S: Lanes, L: Layout<S, W>, const W: usize, const LOOKAHEAD: bool>(
    s: S,
    stacks: &mut Stacks<'_, W>,
    rows: &[Row],
    row: usize,
    boards: usize,
) {
    let below = L::below(s, rows[row + 1]);
    let after = if LOOKAHEAD {
        L::below(s, rows[row + 2])
    } else {
        below
    };
    let bottom = stacks.height[row] - boards;
    let (own, next) = (
        stacks.place(row, bottom),
        stacks.place(row + 1, stacks.height[row + 1]),
    );
    // A pass reads and writes registers that begin at most `boards` - 1 boards above where it begins.
    assert!(
        stacks.height[row] <= 2 * Stacks::<W>::BATCH
            && stacks.height[row + 1] < Stacks::<W>::BATCH
            && boards <= Stacks::<W>::BATCH
    );
    assert!(
        own.max(next) + (W - 1) * Stacks::<W>::STRIDE + boards + S::LANES <= stacks.words.len()
    );
    let words = stacks.words.as_mut_ptr();
    // SAFETY: both begin inside `words`, as just asserted.
    let (own, next) = unsafe { (words.add(own), words.add(next)) };
    let (mut kept, mut children_kept) = (0, 0);
    for board in (0..boards).step_by(S::LANES) {
        // SAFETY: within the bounds asserted above, since `kept` and `children_kept` never exceed `board`.
        let parents = unsafe { read::<S, W>(s, own.add(board)) };
        let (children, parents) = L::place(s, below, parents);
        let mut gone = L::barred(s, children);
        if LOOKAHEAD {
            gone |= L::barred_below(s, after, children);
        }
        // SAFETY: as above.
        unsafe { write(s, s.keep(gone, children), next.add(children_kept)) };
        children_kept += S::LANES - gone.count_ones() as usize;
        let gone = L::barred(s, parents);
        // SAFETY: as above; it ends before the parents that are still to be read.
        unsafe { write(s, s.keep(gone, parents), own.add(kept)) };
        kept += S::LANES - gone.count_ones() as usize;
    }
    stacks.height[row] = bottom + kept;
    stacks.height[row + 1] += children_kept;
}

/// Reads boards.
///
/// # Safety
/// A register's words from `at` on, and from each further `STRIDE` on, are inside one allocation.
#[inline(always)]
unsafe fn read<S: Lanes, const W: usize>(s: S, at: *const u32) -> [S::V; W] {
    // SAFETY: the caller's promise.
    let mut board = [unsafe { s.load(at) }; W];
    for (i, word) in board.iter_mut().enumerate() {
        // SAFETY: as above.
        *word = unsafe { s.load(at.add(i * Stacks::<W>::STRIDE)) };
    }
    board
}

/// Writes boards.
///
/// # Safety
/// A register's words from `at` on, and from each further `STRIDE` on, are inside one allocation that may be written.
#[inline(always)]
unsafe fn write<S: Lanes, const W: usize>(s: S, board: [S::V; W], at: *mut u32) {
    for (i, word) in board.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { s.store(*word, at.add(i * Stacks::<W>::STRIDE)) };
    }
}

/// Takes the topmost `boards` of the last row but one off its stack, and returns how many solutions they have and how
/// many of them have a second free column. There is no third, since two columns are left for two rows. Each child with
/// a free column in the last row is a solution.
#[inline(always)]
fn finish<S: Lanes, L: Layout<S, W>, const W: usize>(
    s: S,
    stacks: &mut Stacks<'_, W>,
    rows: &[Row],
    boards: usize,
) -> (u64, u64) {
    let row = rows.len() - 2;
    let below = L::below(s, rows[row + 1]);
    let bottom = stacks.height[row] - boards;
    let own = stacks.place(row, bottom);
    assert!(stacks.height[row] <= 2 * Stacks::<W>::BATCH);
    assert!(own + (W - 1) * Stacks::<W>::STRIDE + boards + S::LANES <= stacks.words.len());
    // SAFETY: it begins inside `words`, as just asserted.
    let own = unsafe { stacks.words.as_ptr().add(own) };
    let (mut solutions, mut more) = (0, 0);
    for board in (0..boards).step_by(S::LANES) {
        // SAFETY: within the bounds asserted above.
        let parents = unsafe { read::<S, W>(s, own.add(board)) };
        let (first, parents) = L::place(s, below, parents);
        let (second, _) = L::place(s, below, parents);
        let gone = L::barred(s, parents);
        let failed = [L::barred(s, first), L::barred(s, second) | gone];
        let lanes = S::LANES as u32;
        for failed in failed {
            solutions += u64::from(lanes - failed.count_ones());
        }
        more += u64::from(lanes - gone.count_ones());
    }
    stacks.height[row] = bottom;
    (solutions, more)
}
