//! Reading units from a file or a pipe.

use evener_files::{Error, FileId, InputFile, Watch};
use evener_runtime::{Service, Source};

use super::Operation;
use super::unit::{UNIT_ROWS, UnitIn};

/// The rows of a file, or some of them. The last unit is marked, and may be empty.
pub struct BulkSource {
    input: InputFile,
    watch: Option<Watch>,
    /// The next byte to read.
    byte: u64,
    next: u64,
    /// If not all bytes are wanted, how many are left, and whether the file ends with them.
    left: Option<(u64, bool)>,
    units: Option<u64>,
    done: bool,
}

impl BulkSource {
    /// The rows of `O` from row `first` on, to the end of `input`, of which `byte` bytes have been read.
    pub fn to_end<O: Operation>(input: InputFile, byte: u64, first: u64) -> BulkSource {
        let bytes = input.remaining();
        BulkSource {
            watch: input.watch(),
            input,
            byte,
            next: first,
            left: None,
            units: bytes.map(|bytes| bytes / unit::<O>() + 1),
            done: false,
        }
    }

    /// The next `bytes` bytes; `last` says that the file ends with them.
    pub fn limited<O: Operation>(
        input: InputFile,
        byte: u64,
        first: u64,
        (bytes, last): (u64, bool),
    ) -> BulkSource {
        BulkSource {
            watch: input.watch(),
            input,
            byte,
            next: first,
            left: Some((bytes, last)),
            units: Some(bytes.div_ceil(unit::<O>()).max(1)),
            done: false,
        }
    }

    /// What messages call the input.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// The identity of the input, if it is a file.
    pub fn id(&self) -> Option<FileId> {
        self.input.id()
    }

    /// How many bytes there will be, if that is known.
    pub fn bytes(&self) -> Option<u64> {
        match self.left {
            Some((left, _)) => Some(left),
            None => self.input.remaining(),
        }
    }

    /// Whether the file ends with them.
    pub fn is_whole(&self) -> bool {
        self.left.is_none_or(|(_, last)| last)
    }

    /// How many units there will be, if that is known.
    pub fn count(&self) -> Option<u64> {
        self.units
    }
}

fn unit<O: Operation>() -> u64 {
    (UNIT_ROWS * O::READ) as u64
}

impl<S: Service<Input = UnitIn>> Source<S> for BulkSource {
    type Error = Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let all = unit.room().len();
        let wanted = match self.left {
            Some((left, _)) => all.min(usize::try_from(left).unwrap_or(all)),
            None => all,
        };
        let got = self.input.fill(&mut unit.room()[..wanted], self.byte)?;
        self.byte += got as u64;
        unit.keep(got);
        unit.first = self.next;
        self.next += UNIT_ROWS as u64;
        // A file that became shorter meanwhile ends early.
        let short = got < wanted;
        unit.last = match &mut self.left {
            None => short,
            Some((left, last)) => {
                *left -= got as u64;
                short || *left == 0 && *last
            }
        };
        self.done = unit.last || self.left.is_some_and(|(left, _)| left == 0);
        if self.done {
            self.watch.iter_mut().for_each(Watch::warn);
        }
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        self.units
    }
}
