//! Units of a file as work for the runtime.

use std::sync::{Arc, Mutex, PoisonError};

use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Part, Service, Shape, Structure, Work};

use super::operation::{Failure, Operation};
use super::unit::{UNIT_ROWS, UnitIn, UnitOut};

/// The structures that files are encrypted and decrypted in.
pub static STRUCTURES: [&Structure; 2] = [&SEQUENTIAL, &FARM];

/// Why a file cannot go on, for whoever ran the stream: the stream itself knows only text.
#[derive(Clone, Debug, Default)]
pub struct FirstFailure(Arc<Mutex<Option<(u64, Failure)>>>);

impl FirstFailure {
    /// The failure of the first row that failed.
    pub fn get(&self) -> Option<Failure> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.map(|(_, failure)| failure)
    }

    fn put(&self, row: u64, failure: Failure) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none_or(|(at, _)| row < at) {
            *first = Some((row, failure));
        }
    }
}

/// An operation on a file. An item is a row.
pub struct Bulk<O> {
    operation: O,
    first_failure: FirstFailure,
}

impl<O: Operation> Bulk<O> {
    /// What to do to a file.
    pub fn new(operation: O) -> Bulk<O> {
        Bulk {
            operation,
            first_failure: FirstFailure::default(),
        }
    }

    /// Where a failure will be found.
    pub fn first_failure(&self) -> FirstFailure {
        self.first_failure.clone()
    }
}

impl<O: Operation> Service for Bulk<O> {
    type Input = UnitIn;
    type Output = UnitOut;
    type Scratch = ();

    fn key(&self) -> String {
        format!("{}, units of {UNIT_ROWS} rows", self.operation.name())
    }

    fn input(&self) -> UnitIn {
        UnitIn::new::<O>()
    }

    fn output(&self) -> UnitOut {
        UnitOut::new::<O>()
    }

    fn scratch(&self) {}

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let bytes = (UNIT_ROWS * O::READ) as f64;
        let work = Work {
            ops: self.operation.weight() * bytes,
            bytes: bytes + (UNIT_ROWS * O::WRITTEN) as f64,
            fresh: 0.0,
        };
        let shape = |structure| Shape::new(structure, vec![UNIT_ROWS as u32], 8, work);
        STRUCTURES.map(shape).to_vec()
    }

    fn run(
        &self,
        part: &Part,
        input: &UnitIn,
        output: &UnitOut,
        (): &mut (),
    ) -> Result<(), String> {
        let (bytes, last) = (input.bytes(), input.last);
        let (len, rows) = (O::written(bytes.len(), last), O::rows(bytes.len(), last));
        output.describe(len, last);
        let items = part.of(rows);
        if items.is_empty() {
            return Ok(());
        }
        let ends = last && items.end == rows;
        let from = bytes.len().min(items.start * O::READ);
        let read = &bytes[from..bytes.len().min(items.end * O::READ)];
        let from = items.start * O::WRITTEN;
        let written = len.min(items.end * O::WRITTEN).saturating_sub(from);
        let first = input.first + items.start as u64;
        let mut rows = output.rows.write(items);
        let done = self.operation.run(first, read, ends, &mut rows[..written]);
        done.map_err(|failure| {
            self.first_failure.put(first, failure);
            failure.to_string()
        })
    }
}
