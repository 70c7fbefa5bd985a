//! Makes a kernel panic on a chosen frame, for tests. Not in release builds.

use evener_runtime::stream::Source;
use evener_runtime::{Part, Service, Shape, Structure};

use super::units::Shots;
use crate::exec::service::{FilterService, Scratch};
use crate::frame::Frame;
use crate::io::Error;

/// A frame with its number.
pub struct Numbered {
    frame: Frame,
    number: u64,
}

/// Numbers frames as they are read.
pub struct Counted {
    shots: Shots,
    next: u64,
}

/// A service that panics on one frame.
pub struct PanicAt {
    service: FilterService,
    frame: u64,
}

/// Makes `service` panic on frame `frame` of `input`, counted from 0.
pub fn wrap(shots: Shots, service: FilterService, frame: u64) -> (Counted, PanicAt) {
    (Counted { shots, next: 0 }, PanicAt { service, frame })
}

impl Source<PanicAt> for Counted {
    type Error = Error;

    fn read(&mut self, unit: &mut Numbered) -> Result<bool, Error> {
        unit.number = self.next;
        self.next += 1;
        self.shots.read_frame(&mut unit.frame)
    }

    fn units(&self) -> Option<u64> {
        self.shots.frames
    }
}

impl Service for PanicAt {
    type Input = Numbered;
    type Output = Frame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.service.key()
    }

    fn input(&self) -> Numbered {
        Numbered {
            frame: self.service.input(),
            number: 0,
        }
    }

    fn output(&self) -> Frame {
        self.service.output()
    }

    fn scratch(&self) -> Scratch {
        self.service.scratch()
    }

    fn prepare(&self, structure: &'static Structure) {
        self.service.prepare(structure);
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        self.service.shapes(private_cache)
    }

    fn run(
        &self,
        part: &Part,
        input: &Numbered,
        output: &Frame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        assert!(input.number != self.frame, "asked to panic on this frame");
        self.service.run(part, &input.frame, output, scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Numbered],
        outputs: &[&Frame],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let bad = inputs.iter().any(|input| input.number == self.frame);
        assert!(!bad, "asked to panic on this frame");
        let inputs: Vec<_> = inputs.iter().map(|input| &input.frame).collect();
        self.service.run_group(part, &inputs, outputs, scratch)
    }
}
