//! PyAV frames: planes with padded lines.

use std::sync::Arc;

use evener_image::frame::{Frame, Samples};
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::buffer::{Rows, Sample};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

use crate::errors::{self, FrameError};
use crate::lend::{Access, Loan};

/// FFmpeg's names of formats. Those with `j` have full range.
const FORMATS: [(&str, Chroma, Depth); 19] = [
    ("gray", Chroma::Mono, Depth::U8),
    ("yuv420p", Chroma::C420, Depth::U8),
    ("yuv422p", Chroma::C422, Depth::U8),
    ("yuv444p", Chroma::C444, Depth::U8),
    ("gray10le", Chroma::Mono, Depth::U10),
    ("yuv420p10le", Chroma::C420, Depth::U10),
    ("yuv422p10le", Chroma::C422, Depth::U10),
    ("yuv444p10le", Chroma::C444, Depth::U10),
    ("gray12le", Chroma::Mono, Depth::U12),
    ("yuv420p12le", Chroma::C420, Depth::U12),
    ("yuv422p12le", Chroma::C422, Depth::U12),
    ("yuv444p12le", Chroma::C444, Depth::U12),
    ("gray16le", Chroma::Mono, Depth::U16),
    ("yuv420p16le", Chroma::C420, Depth::U16),
    ("yuv422p16le", Chroma::C422, Depth::U16),
    ("yuv444p16le", Chroma::C444, Depth::U16),
    ("yuvj420p", Chroma::C420, Depth::U8),
    ("yuvj422p", Chroma::C422, Depth::U8),
    ("yuvj444p", Chroma::C444, Depth::U8),
];

/// `AVCOL_RANGE_MPEG` and `AVCOL_RANGE_JPEG` of FFmpeg's `pixfmt.h`.
const LIMITED: i64 = 1;
const FULL: i64 = 2;

/// A frame with lent planes.
pub struct Video {
    format: Format,
    /// Each with the bytes from one line to the next.
    planes: Vec<(Arc<Loan>, usize)>,
}

/// Whether `object` is a PyAV frame.
pub fn is_video(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    Ok(class.name()? == "VideoFrame" && class.module()?.to_str()?.starts_with("av."))
}

impl Video {
    /// Lends the planes of `frame`. `what` names it in errors.
    pub fn new(frame: &Bound<'_, PyAny>, access: Access, what: &str) -> PyResult<Video> {
        let py = frame.py();
        let format = format_of(frame, what)?;
        let mut planes = Vec::with_capacity(format.planes());
        for (index, plane) in frame.getattr("planes")?.try_iter()?.enumerate() {
            let plane = plane?;
            let stride: i64 = plane.getattr("line_size")?.extract()?;
            let size = format.plane_size(index);
            let sample = format.depth.bytes();
            let buffer = PyUntypedBuffer::get(&plane)?;
            let bytes =
                (size.h as usize - 1) * stride.unsigned_abs() as usize + size.w as usize * sample;
            let fits = stride >= i64::from(size.w) * sample as i64
                && (stride as usize).is_multiple_of(sample)
                && bytes <= buffer.len_bytes();
            if !fits {
                buffer.release(py);
                return Err(FrameError::new_err(format!(
                    "{what} has overlapping, reversed or unaligned lines; give a copy of the frame"
                )));
            }
            let loan = Loan::new(py, buffer, access);
            let loan = loan.map_err(|why| errors::refused(what, &why))?;
            planes.push((loan, stride as usize));
        }
        Ok(Video { format, planes })
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The frame in the lent memory.
    pub fn frame(&self) -> Frame {
        let planes = self.planes.iter().enumerate();
        let planes = planes.map(|(index, (loan, stride))| match self.format.depth {
            Depth::U8 => Samples::U8(self.rows(index, loan, *stride)),
            Depth::U10 | Depth::U12 | Depth::U16 => Samples::U16(self.rows(index, loan, *stride)),
            Depth::F32 => unreachable!("no format of FFmpeg that is read is of floats"),
        });
        Frame::of_planes(&self.format, planes.collect())
    }

    fn rows<T: Sample>(&self, plane: usize, loan: &Arc<Loan>, bytes: usize) -> Rows<T> {
        let size = self.format.plane_size(plane);
        let (width, height, stride) = (size.w as usize, size.h as usize, bytes / size_of::<T>());
        Rows::lent(
            loan.lent(0, stride * (height - 1) + width),
            width,
            stride,
            height,
        )
    }
}

/// Returns a new frame of `format` with the timestamps of the frame `of`.
pub fn empty<'py>(format: &Format, of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let known = |&&(_, chroma, depth): &&(&str, Chroma, Depth)| {
        (chroma, depth) == (format.chroma, format.depth)
    };
    let name = FORMATS.iter().find(known).map_or("gray", |(name, ..)| name);
    let frame = of.get_type().call1((format.width, format.height, name))?;
    for attribute in ["pts", "time_base"] {
        let value = of.getattr(attribute)?;
        if !value.is_none() {
            frame.setattr(attribute, value)?;
        }
    }
    frame.setattr(
        "color_range",
        match format.range {
            ColourRange::Full => FULL,
            ColourRange::Limited => LIMITED,
        },
    )?;
    Ok(frame)
}

/// Returns the format for FFmpeg's pixel format `name`, with its usual range.
pub fn format_named(name: &str, height: usize, width: usize) -> PyResult<Format> {
    let found = FORMATS.iter().find(|(known, ..)| *known == name);
    let (Some(&(_, chroma, depth)), Ok(height), Ok(width)) =
        (found, height.try_into(), width.try_into())
    else {
        let names: Vec<_> = FORMATS.iter().map(|(name, ..)| *name).collect();
        return Err(FrameError::new_err(format!(
            "format={name:?}: give one of {}, and a width and height below 2^32",
            names.join(", ")
        )));
    };
    Ok(Format {
        width,
        height,
        chroma,
        depth,
        range: match name.starts_with("yuvj") {
            true => ColourRange::Full,
            false => chroma.usual_range(),
        },
    })
}

fn format_of(frame: &Bound<'_, PyAny>, what: &str) -> PyResult<Format> {
    let name: String = frame.getattr("format")?.getattr("name")?.extract()?;
    let found = FORMATS.iter().find(|(known, ..)| *known == name);
    let Some(&(_, chroma, depth)) = found else {
        return Err(FrameError::new_err(format!(
            "{what} has the pixel format {name}; give gray or planar YUV with 8 to 16 bits: frame.reformat(format='yuv420p')"
        )));
    };
    let range: i64 = frame.getattr("color_range")?.extract()?;
    Ok(Format {
        width: frame.getattr("width")?.extract()?,
        height: frame.getattr("height")?.extract()?,
        chroma,
        depth,
        range: match range {
            _ if name.starts_with("yuvj") => ColourRange::Full,
            LIMITED => ColourRange::Limited,
            FULL => ColourRange::Full,
            _ => chroma.usual_range(),
        },
    })
}
