//! Arrays as frames: their layout, what is refused, and the planes of each frame.

use std::fmt;
use std::sync::Arc;

use evener_image::frame::{Frame, Samples};
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::buffer::{Rows, Sample};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::{self, FrameError};
use crate::lend::{Access, Loan};

/// Channels of a colour frame, the last axis of its array.
pub const CHANNELS: usize = 3;

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many frames, `None` for an array that is one frame.
    pub frames: Option<usize>,
    pub height: u32,
    pub width: u32,
    /// The last axis is of three channels.
    pub colour: bool,
    pub depth: Depth,
}

impl Shape {
    /// Of an array with `axes`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(axes: &[usize], depth: Depth) -> PyResult<Shape> {
        Shape::of(axes, depth).map_err(|why| FrameError::new_err(format!("the shape {why}")))
    }

    fn of(axes: &[usize], depth: Depth) -> Result<Shape, String> {
        let (frames, height, width, colour) = match *axes {
            [h, w] => (None, h, w, false),
            [h, w, CHANNELS] => (None, h, w, true),
            [_, _, last @ (1 | 2 | 4)] => {
                return Err(format!(
                    "has {last} samples in its last axis; give 3 channels, or one channel: frames[..., 0]. Gray frames of \
                     this width must be given one by one"
                ));
            }
            [n, h, w] => (Some(n), h, w, false),
            [n, h, w, CHANNELS] => (Some(n), h, w, true),
            [_, _, _, last] => {
                return Err(format!(
                    "has {last} channels in its last axis; give 3, or one channel: frames[..., 0]"
                ));
            }
            _ => {
                return Err(format!(
                    "has {} axes; give (H, W), (N, H, W), (H, W, 3) or (N, H, W, 3)",
                    axes.len()
                ));
            }
        };
        match (u32::try_from(height), u32::try_from(width)) {
            (Ok(height @ 1..), Ok(width @ 1..)) => Ok(Shape {
                frames,
                height,
                width,
                colour,
                depth,
            }),
            _ => Err(format!(
                "has frames of {width}x{height}; both must be above 0 and below 2^32"
            )),
        }
    }

    /// Frames, 1 where the array is one.
    pub fn count(&self) -> usize {
        self.frames.unwrap_or(1)
    }

    pub fn channels(&self) -> usize {
        if self.colour { CHANNELS } else { 1 }
    }

    fn axes(&self) -> Vec<usize> {
        let frame = [self.height as usize, self.width as usize];
        let axes = self.frames.into_iter().chain(frame);
        axes.chain(self.colour.then_some(CHANNELS)).collect()
    }

    /// The format of a frame.
    pub fn format(&self) -> Format {
        Format {
            width: self.width,
            height: self.height,
            chroma: if self.colour {
                Chroma::Rgb
            } else {
                Chroma::Mono
            },
            depth: self.depth,
            range: ColourRange::Full,
        }
    }

    /// That of the results, whose frames have `format`.
    pub fn resulting(&self, format: &Format) -> Shape {
        Shape {
            height: format.height,
            width: format.width,
            depth: format.depth,
            ..*self
        }
    }

    /// A new array of this shape, of memory that is not yet written.
    pub fn empty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DTYPES: PyOnceLock<[Py<PyAny>; 3]> = PyOnceLock::new();
        let numpy = || py.import("numpy");
        let empty =
            EMPTY.get_or_try_init(py, || PyResult::Ok(numpy()?.getattr("empty")?.unbind()))?;
        let dtypes = DTYPES.get_or_try_init(py, || {
            let dtype = numpy()?.getattr("dtype")?;
            let of = |name| PyResult::Ok(dtype.call1((name,))?.unbind());
            PyResult::Ok([of("u1")?, of("u2")?, of("f4")?])
        })?;
        let dtype = &dtypes[match self.depth {
            Depth::U8 => 0,
            Depth::U10 | Depth::U12 | Depth::U16 => 1,
            Depth::F32 => 2,
        }];
        let shape = PyTuple::new(py, self.axes())?;
        empty.bind(py).call1((shape, dtype))
    }
}

/// `u8`, `u16` or `f32`, as errors name it.
pub fn dtype_name(depth: Depth) -> &'static str {
    match depth {
        Depth::U8 => "u8",
        Depth::U10 | Depth::U12 | Depth::U16 => "u16",
        Depth::F32 => "f32",
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<_> = self.axes().iter().map(usize::to_string).collect();
        write!(
            f,
            "an array of {} and shape ({})",
            dtype_name(self.depth),
            axes.join(", ")
        )
    }
}

/// The depth that users name: as above, as NumPy does, or by a type of NumPy; `u8` unless given.
pub fn depth_named(given: Option<&Bound<'_, PyAny>>) -> PyResult<Depth> {
    let Some(given) = given else {
        return Ok(Depth::U8);
    };
    let name: String = match given.extract() {
        Ok(name) => name,
        Err(_) => {
            let dtype = given.py().import("numpy")?.getattr("dtype")?;
            dtype.call1((given,))?.getattr("name")?.extract()?
        }
    };
    match name.as_str() {
        "u8" | "uint8" | "u1" | "|u1" => Ok(Depth::U8),
        "u16" | "uint16" | "u2" | "<u2" => Ok(Depth::U10),
        "f32" | "float32" | "f4" | "<f4" => Ok(Depth::F32),
        _ => Err(PyValueError::new_err(format!(
            "dtype={name:?}: give u8, u16 (10-bit codes) or f32"
        ))),
    }
}

/// An array whose memory is lent.
pub struct Array {
    loan: Arc<Loan>,
    shape: Shape,
    /// Bytes from a frame to the next.
    frame_stride: isize,
    /// Samples from a row to the next.
    row_stride: usize,
}

impl Array {
    /// Lends the memory of `buffer`. `what` is how errors call it. Axes that could be those of gray frames of three
    /// columns, or of one frame of colour, are read as `expected` has them.
    pub fn new(
        py: Python<'_>,
        buffer: PyUntypedBuffer,
        access: Access,
        what: &str,
        expected: Option<&Shape>,
    ) -> PyResult<Array> {
        let layout = layout(&buffer, access, expected).map_err(|why| why.named(what));
        let (shape, frame_stride, row_stride) = match layout {
            Ok(layout) => layout,
            Err(error) => {
                buffer.release(py);
                return Err(error);
            }
        };
        let loan = Loan::new(py, buffer, access).map_err(|why| errors::refused(what, &why))?;
        Ok(Array {
            loan,
            shape,
            frame_stride,
            row_stride,
        })
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A gray frame.
    pub fn frame(&self, index: usize) -> Frame {
        debug_assert!(!self.shape.colour);
        let plane = match self.shape.depth {
            Depth::U8 => Samples::U8(self.rows(index)),
            Depth::U10 | Depth::U12 | Depth::U16 => Samples::U16(self.rows(index)),
            Depth::F32 => Samples::F32(self.rows(index)),
        };
        Frame::of_planes(&self.shape.format(), vec![plane])
    }

    /// The rows of a frame, with the samples of all channels side by side.
    pub fn rows<T: Sample>(&self, index: usize) -> Rows<T> {
        assert!(index < self.shape.count());
        let width = self.shape.width as usize * self.shape.channels();
        let height = self.shape.height as usize;
        let len = self.row_stride * (height - 1) + width;
        let lent = self.loan.lent(index as isize * self.frame_stride, len);
        Rows::lent(lent, width, self.row_stride, height)
    }
}

/// What is wrong with an array.
enum Wrong {
    /// The type of its items.
    Type(String),
    Value(String),
}

impl Wrong {
    fn named(self, what: &str) -> PyErr {
        match self {
            Wrong::Type(why) => PyTypeError::new_err(format!("{what} {why}")),
            Wrong::Value(why) => FrameError::new_err(format!("{what} {why}")),
        }
    }
}

/// The shape of an array, the bytes between frames, and the samples between rows.
fn layout(
    buffer: &PyUntypedBuffer,
    access: Access,
    expected: Option<&Shape>,
) -> Result<(Shape, isize, usize), Wrong> {
    let depth = depth(buffer)?;
    let shape = match expected {
        Some(shape) if shape.depth == depth && shape.axes() == buffer.shape() => *shape,
        _ => Shape::of(buffer.shape(), depth).map_err(Wrong::Value)?,
    };
    let (frame_stride, row_stride) = strides(buffer, &shape, access)?;
    Ok((shape, frame_stride, row_stride))
}

/// The bytes between frames and the samples between rows. Strides of axes with one item mean nothing.
fn strides(
    buffer: &PyUntypedBuffer,
    shape: &Shape,
    access: Access,
) -> Result<(isize, usize), Wrong> {
    let contiguous = |why: &str| {
        let what = match access {
            Access::Read => "np.ascontiguousarray of it",
            Access::Write => "a separate array, such as np.empty(shape, dtype)",
        };
        Err(Wrong::Value(format!("{why}; give {what}")))
    };
    let item = buffer.item_size();
    let strides = buffer.strides();
    let frame_axes = usize::from(shape.frames.is_some());
    let (row, column) = (strides[frame_axes], strides[frame_axes + 1]);
    let channels = shape.channels();
    let (width, height) = (shape.width as usize, shape.height as usize);
    let apart = shape.colour && strides[frame_axes + 2] != item as isize;
    if apart || width > 1 && column != (channels * item) as isize {
        return contiguous("has rows whose samples are not side by side");
    }
    let row_stride = match height {
        1 => width * channels,
        _ if row < (width * channels * item) as isize || !(row as usize).is_multiple_of(item) => {
            return contiguous("has overlapping or reversed rows");
        }
        _ => row as usize / item,
    };
    if !buffer.buf_ptr().addr().is_multiple_of(item) {
        return contiguous("has samples that are not aligned to their size");
    }
    let Some(2..) = shape.frames else {
        return Ok((0, row_stride));
    };
    let frame = strides[0];
    let bytes = (row_stride * (height - 1) + width * channels) * item;
    if !frame.unsigned_abs().is_multiple_of(item) {
        return contiguous("has samples that are not aligned to their size");
    }
    if access == Access::Write && frame.unsigned_abs() < bytes {
        return contiguous("has overlapping frames");
    }
    Ok((frame, row_stride))
}

fn depth(buffer: &PyUntypedBuffer) -> Result<Depth, Wrong> {
    let format = buffer.format();
    let native = !matches!(format.to_bytes(), [b'>' | b'!', _]) || buffer.item_size() == 1;
    match ElementType::from_format(format) {
        ElementType::UnsignedInteger { bytes: 1 } => Ok(Depth::U8),
        ElementType::UnsignedInteger { bytes: 2 } if native => Ok(Depth::U10),
        ElementType::Float { bytes: 4 } if native => Ok(Depth::F32),
        _ => Err(Wrong::Type(format!(
            "has items of format '{}'; give uint8, uint16 (10-bit codes) or float32, e.g. frames.astype(np.uint8)",
            format.to_string_lossy()
        ))),
    }
}
