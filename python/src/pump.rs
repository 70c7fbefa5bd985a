//! Sends arrays through an open stream.

use std::time::Instant;

use evener_image::frame::{Frame, Samples};
use evener_image::open::OpenGraph;
use evener_runtime::buffer::{Rows, Sample};
use evener_runtime::stream::Turn;
use pyo3::prelude::*;

use crate::arrays::{Array, CHANNELS};
use crate::frames::Frames;
use crate::waiting;

/// Lends frames and the memory for their results, one after the other. Colour frames are copied.
pub struct Lender {
    input: Frames,
    output: Frames,
    lent: usize,
    taken: usize,
    copies: Copies,
}

impl Lender {
    pub fn new(input: Frames, output: Frames) -> Lender {
        Lender {
            input,
            output,
            lent: 0,
            taken: 0,
            copies: Copies::default(),
        }
    }

    /// The number of frames.
    pub fn count(&self) -> usize {
        self.input.kind().count()
    }

    /// Returns the next frame and the memory for its result.
    fn lend(&mut self) -> (Frame, Frame) {
        let index = self.lent;
        self.lent += 1;
        self.copies.lend(&self.input, &self.output, index)
    }

    /// Takes the next result.
    fn take(&mut self, input: Frame, output: Frame) {
        let index = self.taken;
        self.taken += 1;
        self.copies.take((input, output), &self.output, index);
    }
}

/// Frames with one plane per channel, which are reused.
#[derive(Default)]
pub struct Copies {
    free: Vec<(Frame, Frame)>,
}

impl Copies {
    /// A frame and the memory for its result.
    pub fn lend(&mut self, input: &Frames, output: &Frames, index: usize) -> (Frame, Frame) {
        let Some(colour) = input.colour() else {
            return (input.frame(index), output.frame(index));
        };
        let (mut copy, result) = self.free.pop().unwrap_or_else(|| {
            let of = |frames: &Frames| Frame::new(&frames.kind().format());
            (of(input), of(output))
        });
        split(colour, index, &mut copy);
        (copy, result)
    }

    /// Takes a result.
    pub fn take(&mut self, frames: (Frame, Frame), output: &Frames, index: usize) {
        if let Some(colour) = output.colour() {
            join(&frames.1, colour, index);
            self.free.push(frames);
        }
    }
}

/// Copies the channels of a colour frame into planes.
fn split(colour: &Array, index: usize, frame: &mut Frame) {
    fn copy<T: Sample>(colour: &Rows<T>, channel: usize, plane: &mut Rows<T>) {
        let (width, colour) = (plane.width(), colour.read());
        let lines = plane.as_mut_slice().chunks_exact_mut(width);
        for (line, pixels) in lines.zip(colour.chunks(colour.stride())) {
            for (sample, pixel) in line.iter_mut().zip(pixels.chunks_exact(CHANNELS)) {
                *sample = pixel[channel];
            }
        }
    }
    for channel in 0..CHANNELS {
        match frame.plane_mut(channel) {
            Samples::U8(plane) => copy(&colour.rows(index), channel, plane),
            Samples::U16(plane) => copy(&colour.rows(index), channel, plane),
            Samples::F32(plane) => copy(&colour.rows(index), channel, plane),
        }
    }
}

/// Copies planes into the channels of a colour frame.
fn join(frame: &Frame, colour: &Array, index: usize) {
    fn copy<T: Sample>(plane: &Rows<T>, channel: usize, colour: &Rows<T>) {
        let (width, plane) = (plane.width(), plane.read());
        let mut colour = colour.write(0..colour.rows());
        let stride = colour.stride();
        let lines = plane.chunks_exact(width);
        for (line, pixels) in lines.zip(colour.chunks_mut(stride)) {
            for (&sample, pixel) in line.iter().zip(pixels.chunks_exact_mut(CHANNELS)) {
                pixel[channel] = sample;
            }
        }
    }
    for channel in 0..CHANNELS {
        match frame.plane(channel) {
            Samples::U8(plane) => copy(plane, channel, &colour.rows(index)),
            Samples::U16(plane) => copy(plane, channel, &colour.rows(index)),
            Samples::F32(plane) => copy(plane, channel, &colour.rows(index)),
        }
    }
}

/// Sends all frames through a stream without other frames under way. The stream may be used again only after
/// [`Turn::Done`].
pub fn all(py: Python<'_>, stream: &OpenGraph<()>, frames: &mut Lender) -> PyResult<Turn<()>> {
    let (mut lent, mut taken) = (0, 0);
    let count = frames.count();
    let past = Instant::now();
    waiting::until(py, None, |until| {
        while taken < count {
            while lent < count {
                // With nothing under way there is room soon, at the latest when the stream has made its buffers.
                let wait = if lent == taken { until } else { past };
                match stream.push_with(wait, || {
                    let (input, output) = frames.lend();
                    (input, output, ())
                }) {
                    Turn::Done(()) => lent += 1,
                    Turn::Late if lent == taken => return Turn::Late,
                    Turn::Late => break,
                    Turn::Ended => return Turn::Ended,
                }
            }
            match stream.pull_with(until, |input, output, ()| frames.take(input, output)) {
                Turn::Done(()) => taken += 1,
                Turn::Late => return Turn::Late,
                Turn::Ended => return Turn::Ended,
            }
        }
        Turn::Done(())
    })
}
