//! What a launch searches: roots, and tables of the rows below them, as the kernel reads them.

use super::Run;
use crate::inner::State;

/// The fewest rows from that of a root on that the kernel can search.
pub(super) const LEAST_ROWS: usize = 3;
/// Bytes for roots: some 50 ms of an H100.
pub(super) const ROOTS_BYTES: usize = 4 << 20;
/// Bytes for tables.
pub(super) const TABLES_BYTES: usize = 512 << 10;

/// Bytes of a word.
const WORD: usize = size_of::<u32>();
/// Words of ones before the first table.
const PADDING: usize = 32;
/// Bit of the first column.
pub(super) const FIRST: u32 = 4;
/// Bits that are set in the columns of every root.
const LOW: u32 = (1 << FIRST) - 1;
/// The word below the last row: no free column, at no distance.
const END: u32 = !3;

/// Roots and tables.
#[derive(Default)]
pub(super) struct Batch {
    tables: Vec<u8>,
    roots: Vec<u8>,
    /// Where the last table begins.
    table: u32,
    /// The most boards on a thread's stack.
    boards: usize,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.tables.resize(PADDING * WORD, u8::MAX);
        self.roots.clear();
        self.boards = 1;
    }

    /// Whether there is room for a root and for a table of so many rows.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.roots.len() + 4 * WORD <= ROOTS_BYTES
            && self.tables.len() + (2 + rows + 1) * WORD <= TABLES_BYTES
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
        self.roots.len() / (4 * WORD)
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
