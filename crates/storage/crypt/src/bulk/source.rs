//! Reading units from a file or a pipe.

use evener_files::{Error, FileId, InputFile, Watch};
use evener_runtime::{Service, Source};

use super::Operation;
use super::unit::UnitIn;
use crate::age::armor::{ArmorError, Decoder};

/// The rows of a file, or a part of them. The last unit is marked, and may be empty unless [`Operation::FULL_LAST`].
pub struct BulkSource {
    input: Input,
    watch: Option<Watch>,
    /// The next byte to read.
    byte: u64,
    next: u64,
    /// Rows of a unit.
    rows: u64,
    /// A byte that was read to know whether one follows, and whether that is looked for.
    ahead: Option<u8>,
    looks_ahead: bool,
    /// If not all bytes are wanted, how many are left, and whether the file ends with them.
    left: Option<(u64, bool)>,
    units: Option<u64>,
    done: bool,
}

impl BulkSource {
    /// Reads the rows of `O` from row `first` on, to the end of `input`, of which `byte` bytes have been read.
    pub fn to_end<O: Operation>(input: impl Into<Input>, byte: u64, first: u64) -> BulkSource {
        let source = BulkSource::new::<O>(input.into(), byte, first);
        let bytes = source.input.remaining();
        BulkSource {
            units: bytes.map(|bytes| match O::FULL_LAST {
                true => bytes.div_ceil(unit::<O>()).max(1),
                false => bytes / unit::<O>() + 1,
            }),
            ..source
        }
    }

    /// Reads the next `bytes` bytes; `last` means that the file ends with them.
    pub fn limited<O: Operation>(
        input: impl Into<Input>,
        byte: u64,
        first: u64,
        (bytes, last): (u64, bool),
    ) -> BulkSource {
        BulkSource {
            left: Some((bytes, last)),
            units: Some(bytes.div_ceil(unit::<O>()).max(1)),
            ..BulkSource::new::<O>(input.into(), byte, first)
        }
    }

    fn new<O: Operation>(input: Input, byte: u64, first: u64) -> BulkSource {
        BulkSource {
            watch: input.file.watch(),
            input,
            byte,
            next: first,
            rows: O::ROWS as u64,
            ahead: None,
            looks_ahead: O::FULL_LAST,
            left: None,
            units: None,
            done: false,
        }
    }

    /// Reads `wanted` bytes into `room`, and says whether fewer or no more follow.
    fn fill(&mut self, room: &mut [u8], wanted: usize) -> Result<(usize, bool), Error> {
        let kept = match self.ahead.take_if(|_| wanted > 0) {
            Some(byte) => {
                room[0] = byte;
                1
            }
            None => 0,
        };
        let got = kept
            + self
                .input
                .fill(&mut room[kept..wanted], self.byte + kept as u64)?;
        if got < wanted || !self.looks_ahead {
            return Ok((got, got < wanted));
        }
        let mut byte = [0];
        let more = self.input.fill(&mut byte, self.byte + got as u64)?;
        self.ahead = (more > 0).then_some(byte[0]);
        Ok((got, more == 0))
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &str {
        &self.input.file.name
    }

    /// The identity of the input, if it is a file.
    pub fn id(&self) -> Option<FileId> {
        self.input.file.id()
    }

    /// The number of bytes, if known.
    pub fn bytes(&self) -> Option<u64> {
        match self.left {
            Some((left, _)) => Some(left),
            None => self.input.remaining(),
        }
    }

    /// Whether the file ends with these bytes.
    pub fn is_whole(&self) -> bool {
        self.left.is_none_or(|(_, last)| last)
    }

    /// Whether a read may wait for a writer.
    pub fn may_wait(&self) -> bool {
        self.input.file.may_wait()
    }

    /// The number of units, if known.
    pub fn count(&self) -> Option<u64> {
        self.units
    }
}

/// A file or pipe, and its armor.
pub struct Input {
    /// The file.
    pub file: InputFile,
    /// The decoder of the armor, if there is any.
    pub armor: Option<Decoder>,
}

impl From<InputFile> for Input {
    fn from(file: InputFile) -> Input {
        Input { file, armor: None }
    }
}

impl Input {
    /// Reads until `buffer` is full or the input ends, as [`InputFile::fill`] does.
    ///
    /// # Errors
    /// The read fails, or the armor is damaged.
    pub fn fill(&mut self, buffer: &mut [u8], byte: u64) -> Result<usize, Error> {
        let Some(armor) = &mut self.armor else {
            return self.file.fill(buffer, byte);
        };
        let file = &mut self.file;
        armor
            .fill(buffer, |room, byte| file.fill(room, byte))
            .map_err(|error| match error {
                ArmorError::Input(error) => error,
                ArmorError::Damaged { line, what } => Error::Damaged {
                    name: self.file.name.clone(),
                    what: format!("line {line} of its armor {what}"),
                },
            })
    }

    /// The number of bytes to the end of a regular file without armor.
    pub fn remaining(&self) -> Option<u64> {
        match &self.armor {
            Some(_) => None,
            None => self.file.remaining(),
        }
    }
}

fn unit<O: Operation>() -> u64 {
    (O::ROWS * O::READ) as u64
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
        let (got, ended) = self.fill(unit.room(), wanted)?;
        self.byte += got as u64;
        unit.keep(got);
        unit.first = self.next;
        self.next += self.rows;
        // A file that became shorter meanwhile ends early.
        unit.last = match &mut self.left {
            None => ended,
            Some((left, last)) => {
                *left -= got as u64;
                ended || *left == 0 && *last
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

    fn may_wait(&self) -> bool {
        BulkSource::may_wait(self)
    }
}
