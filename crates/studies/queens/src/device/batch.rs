//! What a launch searches: roots, and tables of the rows below them, as the kernel reads them.

use std::time::Duration;

use super::Run;
use crate::inner::State;

/// The fewest rows from that of a root on that the kernel can search.
pub(super) const LEAST_ROWS: usize = 3;
/// The most roots: some 50 ms of an H100.
const MOST_ROOTS: usize = 1 << 18;
/// The most roots of the first launch, and the fewest that later ones are limited to.
const FIRST_ROOTS: usize = 1 << 12;
const FEWEST_ROOTS: usize = 64;
/// A launch that is full is to take at least so long, and none longer than the other. Otherwise the next ones may have
/// twice as many roots, or half as many. How fast devices are differs a thousandfold, and one that answers late is taken
/// to be lost.
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_millis(200);
/// Bytes for roots.
pub(super) const ROOTS_BYTES: usize = MOST_ROOTS * ROOT;
/// Bytes for tables.
pub(super) const TABLES_BYTES: usize = 512 << 10;

/// Bytes of a word.
const WORD: usize = size_of::<u32>();
/// Bytes of a root.
const ROOT: usize = 4 * WORD;
/// Words of ones before the first table.
const PADDING: usize = 32;
/// Bit of the first column.
pub(super) const FIRST: u32 = 4;
/// Bits that are set in the columns of every root.
const LOW: u32 = (1 << FIRST) - 1;
/// The word below the last row: no free column, at no distance.
const END: u32 = !3;

/// Roots and tables.
pub(super) struct Batch {
    tables: Vec<u8>,
    roots: Vec<u8>,
    /// How many roots there may be.
    most: usize,
    /// Where the last table begins.
    table: u32,
    /// The most boards on a thread's stack.
    boards: usize,
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            tables: Vec::new(),
            roots: Vec::new(),
            most: FIRST_ROOTS,
            table: 0,
            boards: 1,
        }
    }

    /// Takes notice of how long a launch took.
    pub(super) fn took(&mut self, time: Duration) {
        if time > LONG {
            self.most = (self.most / 2).max(FEWEST_ROOTS);
        } else if time < SHORT && self.roots() == self.most {
            self.most = (self.most * 2).min(MOST_ROOTS);
        }
    }

    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.tables.resize(PADDING * WORD, u8::MAX);
        self.roots.clear();
        self.boards = 1;
    }

    /// Whether there is room for a root and for a table of so many rows.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.roots() < self.most && self.tables.len() + (2 + rows + 1) * WORD <= TABLES_BYTES
    }

    /// Begins a table. Further roots are below it.
    pub(super) fn begin_table(&mut self, run: &Run<'_>) {
        let rows = &run.rows[run.fill..];
        self.table = (self.tables.len() / WORD) as u32;
        // The distance of the first row is not used, but it must not look like the end.
        let words = rows
            .iter()
            .map(|row| row.blocked << FIRST | u32::from(row.shift.max(1)));
        let head = [run.unit as u32, u32::from(run.weight)];
        for word in head.into_iter().chain(words).chain([END]) {
            self.tables.extend_from_slice(&word.to_ne_bytes());
        }
        // Boards of the last row have no further free column, and those of the roots' row are not on stacks.
        self.boards = self.boards.max(rows.len() - 2);
    }

    /// Adds a root to the last table.
    pub(super) fn add_root(&mut self, root: State) {
        let columns = root.columns << FIRST | LOW;
        for word in [
            root.rising << FIRST,
            root.falling << FIRST,
            columns,
            self.table,
        ] {
            self.roots.extend_from_slice(&word.to_ne_bytes());
        }
    }

    pub(super) fn roots(&self) -> usize {
        self.roots.len() / ROOT
    }

    pub(super) fn boards(&self) -> usize {
        self.boards
    }

    pub(super) fn table_bytes(&self) -> &[u8] {
        &self.tables
    }

    pub(super) fn root_bytes(&self) -> &[u8] {
        &self.roots
    }
}
