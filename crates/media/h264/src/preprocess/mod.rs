//! What is done to frames before they are coded: filters, then conversion to 8 bits, 4:2:0 and even sizes.

mod convert;

use std::ops::Range;

use evener_image::exec::service::{FilterService, Scratch};
use evener_image::graph::{Graph, GraphError, Planes};
use evener_image::structures::TILED;
use evener_image::{Format, Frame};
use evener_runtime::{Part, Service, Shape};

use crate::unit::InputFrame;

pub use convert::Conversion;

/// What is done to frames before they are coded, as passes that workers share, with a barrier after each.
pub struct Preprocess {
    input: Format,
    filter: Option<FilterService>,
    convert: Option<Conversion>,
    output: Format,
}

/// A pass over a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Filter,
    Convert,
}

impl Preprocess {
    /// Makes frames of `input` ready, through the filters of `graph` if there is one.
    ///
    /// # Errors
    /// The graph does not fit the frames.
    pub fn new(input: &Format, graph: Option<&Graph>) -> Result<Preprocess, GraphError> {
        let filter = match graph {
            Some(graph) => Some(graph.service(input, Planes::Auto)?),
            None => None,
        };
        let filtered = filter.as_ref().map_or(input, |f| f.output_format());
        let convert = Conversion::of(filtered);
        Ok(Preprocess {
            input: *input,
            output: convert.as_ref().map_or(*filtered, |c| *c.output()),
            convert,
            filter,
        })
    }

    /// The format of frames that are ready.
    pub fn output(&self) -> &Format {
        &self.output
    }

    /// Bytes of a frame on its way: as it is read, after the filters, converted.
    pub fn frame_bytes(&self) -> usize {
        let filtered = self.filter.as_ref().map(FilterService::output_format);
        let converted = self.convert.as_ref().map(Conversion::output);
        let all = [Some(&self.input), filtered, converted];
        all.into_iter().flatten().map(Format::frame_bytes).sum()
    }

    /// How frames are converted after the filters, if they have to be.
    pub fn conversion(&self) -> Option<&Conversion> {
        self.convert.as_ref()
    }

    /// Planes of the input that are looked at, from the first on.
    pub fn planes_read(&self) -> usize {
        let filter = self.filter.as_ref();
        filter.map_or(self.input.planes(), |filter| filter.planes_read())
    }

    /// Graph and formats, for remembered plans.
    pub fn key(&self) -> String {
        match &self.filter {
            Some(filter) => format!("{} | {}", filter.key(), self.output),
            None if self.convert.is_some() => format!("{} | {}", self.input, self.output),
            None => self.output.to_string(),
        }
    }

    /// Room for a frame on its way.
    pub fn frame(&self) -> InputFrame {
        InputFrame {
            frame: Frame::new(&self.input),
            filtered: self.filter.as_ref().map(Service::output),
            converted: self.convert.as_ref().map(|c| Frame::new(c.output())),
            number: 0,
        }
    }

    fn all(&self) -> impl Iterator<Item = Pass> {
        let filter = self.filter.as_ref().map(|_| Pass::Filter);
        let convert = self.convert.as_ref().map(|_| Pass::Convert);
        filter.into_iter().chain(convert)
    }

    /// Items of each pass; there may be none.
    pub fn passes(&self) -> Vec<u32> {
        let items = |pass| match pass {
            Pass::Filter => {
                let shape = self.filter.as_ref().and_then(tiled);
                shape.map_or(0, |shape| shape.passes.iter().sum())
            }
            Pass::Convert => self.output.height / 2,
        };
        self.all().map(items).collect()
    }

    /// Vectorised operations that a frame takes, as the runtime predicts times by them.
    pub fn operations(&self) -> f64 {
        let shape = self.filter.as_ref().and_then(tiled);
        let filter = shape.map_or(0.0, |shape| shape.work.ops);
        let convert = self
            .convert
            .as_ref()
            .map_or(0.0, |_| 2.0 * self.output.frame_bytes() as f64);
        filter + convert
    }

    /// Runs items of a pass. Items of one pass may run on several workers at once.
    ///
    /// # Errors
    /// A filter failed.
    pub fn run(
        &self,
        pass: usize,
        items: Range<u32>,
        frame: &InputFrame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        match self.all().nth(pass) {
            Some(Pass::Filter) => {
                let (Some(filter), Some(filtered)) = (&self.filter, &frame.filtered) else {
                    return Ok(());
                };
                let part = Part {
                    structure: &TILED,
                    pass: 0,
                    items,
                };
                filter.run(&part, &frame.frame, filtered, scratch)
            }
            Some(Pass::Convert) => {
                if let (Some(convert), Some(converted)) = (&self.convert, &frame.converted) {
                    let from = frame.filtered.as_ref().unwrap_or(&frame.frame);
                    convert.rows(items.start as usize..items.end as usize, from, converted);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// How a filter runs here: one pass, so that its result is there after it.
fn tiled(filter: &FilterService) -> Option<Shape> {
    // The size of the private cache changes nothing here.
    let shapes = filter.shapes(0);
    shapes.into_iter().find(|shape| *shape.structure == TILED)
}
