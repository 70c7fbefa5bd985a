//! Inputs and outputs as the ends of a stream.

use std::sync::{Arc, Mutex};

use evener_files::lock;
use evener_image::io::{self, Input};
use evener_runtime::Service;
use evener_runtime::stream::{ByteCount, Sink, Source};

use crate::unit::{Coded, InputFrame};

use super::output::Output;
use super::totals::Totals;

/// Frames of an input, numbered.
pub struct Frames {
    pub(super) input: Input,
    next: u64,
}

impl Frames {
    pub(super) fn new(input: Input) -> Frames {
        Frames { input, next: 0 }
    }
}

impl<S: Service<Input = InputFrame>> Source<S> for Frames {
    type Error = io::Error;

    fn read(&mut self, unit: &mut InputFrame) -> Result<bool, io::Error> {
        unit.number = self.next;
        self.next += 1;
        self.input.read(&mut unit.frame)
    }

    fn units(&self) -> Option<u64> {
        self.input.frames()
    }

    fn may_wait(&self) -> bool {
        self.input.may_wait()
    }
}

/// Writes pictures and adds them up.
pub struct Pictures {
    output: Output,
    totals: Arc<Mutex<Totals>>,
    count: ByteCount,
}

impl Pictures {
    pub(super) fn new(output: Output) -> Pictures {
        Pictures {
            output,
            totals: Arc::default(),
            count: ByteCount::default(),
        }
    }

    /// What is added up, also when the stream is over.
    pub(super) fn totals(&self) -> Arc<Mutex<Totals>> {
        self.totals.clone()
    }

    /// Counts bytes of pictures.
    pub(super) fn count(&self) -> &ByteCount {
        &self.count
    }
}

impl<S: Service<Output = Coded>> Sink<S> for Pictures {
    type Error = io::Error;

    fn write(&mut self, unit: &Coded) -> Result<(), io::Error> {
        let picture = unit.picture();
        self.output.write(&picture)?;
        self.count.add(picture.bytes.len() as u64);
        lock(&self.totals).add(&picture);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), io::Error> {
        let none = lock(&self.totals).pictures() == 0;
        if none && !matches!(self.output, Output::Null) {
            let name = self.output.name().to_owned();
            return Err(io::Error::NoFrames { name });
        }
        self.output.finish()
    }

    fn inline(&self) -> bool {
        matches!(self.output, Output::Null)
    }
}
