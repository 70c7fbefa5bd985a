//! Frames in memory of the caller.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use evener_image::frame::{Frame, Samples};
use evener_image::{Depth, Format, Size};
use evener_runtime::buffer::{Lent, Rows, Sample};

use crate::status::Failure;

/// A plane of samples, row after row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    /// The first sample, at a multiple of a sample's size.
    pub data: *mut c_void,
    /// Bytes from the beginning of a row to that of the next, a multiple of a sample's size.
    pub stride: usize,
}

/// A frame of `planes`, as many as the format has.
///
/// # Safety
/// Each plane has rows as the format says; they are read, and written if `writable`, as long as the frame lives, and
/// nothing else writes them, or reads them if they are writable, meanwhile.
pub unsafe fn frame(format: &Format, planes: &[Plane], writable: bool) -> Result<Frame, Failure> {
    let planes = planes.iter().enumerate().map(|(p, plane)| {
        let size = format.plane_size(p);
        // SAFETY: promised by the caller.
        unsafe {
            Ok::<_, Failure>(match format.depth {
                Depth::U8 => Samples::U8(rows(plane, size, writable)?),
                Depth::U10 | Depth::U12 | Depth::U16 => Samples::U16(rows(plane, size, writable)?),
                Depth::F32 => Samples::F32(rows(plane, size, writable)?),
            })
        }
    });
    Ok(Frame::of_planes(
        format,
        planes.collect::<Result<_, Failure>>()?,
    ))
}

/// # Safety
/// As for [`frame`].
unsafe fn rows<T: Sample>(plane: &Plane, size: Size, writable: bool) -> Result<Rows<T>, Failure> {
    let (width, rows) = (size.w as usize, size.h as usize);
    let start = NonNull::new(plane.data.cast::<T>());
    let start = start.ok_or_else(|| Failure::invalid("a plane is null"))?;
    let stride = plane.stride / size_of::<T>();
    if !plane.stride.is_multiple_of(size_of::<T>()) || stride < width || !start.is_aligned() {
        let text = format!(
            "rows of {width} samples of {} bytes, {} bytes apart from {start:p} on: rows may not overlap, and samples \
             lie at multiples of their size",
            size_of::<T>(),
            plane.stride
        );
        return Err(Failure::invalid(text));
    }
    let len = stride.checked_mul(rows - 1).map(|len| len + width);
    let len = len.ok_or_else(|| Failure::invalid(format!("a stride of {} bytes", plane.stride)))?;
    // SAFETY: the rows lie there and stay there, as the caller promised; the owner is the caller.
    let lent = unsafe { Lent::new(start, len, writable, Arc::new(())) };
    Ok(Rows::lent(lent, width, stride, rows))
}

/// The bytes that the planes of a frame take, first and end of each.
fn spans(format: &Format, planes: &[Plane]) -> Vec<(usize, usize)> {
    let planes = planes.iter().enumerate();
    let span = planes.map(|(p, plane)| {
        let size = format.plane_size(p);
        let row = size.w as usize * format.depth.bytes();
        let begin = plane.data as usize;
        let len = plane.stride.saturating_mul(size.h as usize - 1);
        (begin, begin.saturating_add(len).saturating_add(row))
    });
    span.collect()
}

/// Refuses a result in memory that is read or written otherwise.
pub fn check_overlap(
    (input, inputs): (&Format, &[Plane]),
    (output, outputs): (&Format, &[Plane]),
) -> Result<(), Failure> {
    let (read, written) = (spans(input, inputs), spans(output, outputs));
    let meet = |a: &(usize, usize), b: &(usize, usize)| a.0 < b.1 && b.0 < a.1;
    let with_input = written.iter().any(|w| read.iter().any(|r| meet(w, r)));
    let with_output = (written.iter().enumerate())
        .any(|(i, one)| written[i + 1..].iter().any(|other| meet(one, other)));
    match with_input || with_output {
        true => Err(Failure::invalid(
            "a result lies where a frame is read or another plane is written; give it memory of its own",
        )),
        false => Ok(()),
    }
}
