//! Inputs and outputs as the ends of a stream.

use std::io::Read;

use evener_files::Target;
use evener_runtime::Service;
use evener_runtime::stream::{Sink, Source};

use crate::exec::service::FilterService;
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::ffmpeg::{Decoder, Encoder};
use crate::io::null::Null;
use crate::io::open::{Input, Output};
use crate::io::testsrc::TestSource;
use crate::io::y4m::{Reader, Writer};

impl<R: Read + Send> Source<FilterService> for Reader<R> {
    type Error = Error;

    fn start(&mut self, service: &FilterService) {
        self.want_planes(service.planes_read());
    }

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        Reader::read(self, unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames()
    }
}

impl<S: Service<Input = Frame>> Source<S> for Decoder {
    type Error = Error;

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        Decoder::read(self, unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames()
    }
}

impl<S: Service<Input = Frame>> Source<S> for TestSource {
    type Error = Error;

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        TestSource::read(self, unit)
    }

    fn units(&self) -> Option<u64> {
        Some(self.frames())
    }

    fn may_wait(&self) -> bool {
        false
    }
}

impl Source<FilterService> for Input {
    type Error = Error;

    fn start(&mut self, service: &FilterService) {
        self.want_planes(service.planes_read());
    }

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        Input::read(self, unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames()
    }

    fn may_wait(&self) -> bool {
        Input::may_wait(self)
    }
}

impl<W: Target + Send> Sink<FilterService> for Writer<W> {
    type Error = Error;

    fn start(&mut self, service: &FilterService) -> Result<(), Error> {
        self.describe(service.output_format(), service.timing());
        Ok(())
    }

    fn write(&mut self, unit: &Frame) -> Result<(), Error> {
        Writer::write(self, unit)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Writer::finish(self)
    }
}

impl Sink<FilterService> for Encoder {
    type Error = Error;

    fn write(&mut self, unit: &Frame) -> Result<(), Error> {
        Encoder::write(self, unit)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Encoder::finish(self)
    }
}

impl Sink<FilterService> for Null {
    type Error = Error;

    fn write(&mut self, unit: &Frame) -> Result<(), Error> {
        Null::write(self, unit);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

impl<S: Service<Output = Frame>> Sink<S> for Output {
    type Error = Error;

    fn write(&mut self, unit: &Frame) -> Result<(), Error> {
        Output::write(self, unit)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Output::finish(self)
    }

    fn may_wait(&self) -> bool {
        Output::may_wait(self)
    }

    fn inline(&self) -> bool {
        matches!(self, Output::Null(_))
    }
}
