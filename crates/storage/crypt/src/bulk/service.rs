//! The service that runs an operation on units of a file.

use evener_files::FirstError;
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Part, Service, Shape, Structure, Work};

use super::operation::{Failure, Operation};
use super::unit::{UnitIn, UnitOut};

/// The structures for encrypting and decrypting files.
pub static STRUCTURES: [&Structure; 2] = [&SEQUENTIAL, &FARM];

/// An operation on a file. An item is a row.
pub struct Bulk<O> {
    operation: O,
    first_error: FirstError<Failure>,
}

impl<O: Operation> Bulk<O> {
    /// Creates a service that runs `operation`.
    pub fn new(operation: O) -> Bulk<O> {
        Bulk {
            operation,
            first_error: FirstError::default(),
        }
    }

    /// The place for the first failure.
    pub fn first_error(&self) -> FirstError<Failure> {
        self.first_error.clone()
    }
}

impl<O: Operation> Service for Bulk<O> {
    type Input = UnitIn;
    type Output = UnitOut;
    type Scratch = ();

    fn key(&self) -> String {
        format!("{}, units of {} rows", self.operation.name(), O::ROWS)
    }

    fn input(&self) -> UnitIn {
        UnitIn::new::<O>()
    }

    fn output(&self) -> UnitOut {
        UnitOut::new::<O>()
    }

    fn scratch(&self) {}

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let bytes = (O::ROWS * O::READ) as f64;
        let work = Work {
            ops: self.operation.weight() * bytes,
            bytes: bytes + (O::ROWS * O::WRITTEN) as f64,
            fresh: 0.0,
        };
        let shape =
            |structure| Shape::new(structure, vec![O::ROWS as u32], O::ROWS as u32 / 8, work);
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
        done.map_err(|failure| self.first_error.record(first, failure))
    }
}
