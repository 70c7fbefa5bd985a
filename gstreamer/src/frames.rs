//! Buffers of GStreamer as frames, without a copy.

use std::ptr::NonNull;
use std::sync::Arc;

use evener_image::frame::{Frame, Samples};
use evener_image::{Depth, Format};
use evener_runtime::buffer::{Lent, Rows, Sample};
use gst_video::prelude::*;
use gst_video::video_frame::{Readable, Writable};
use gst_video::{VideoFrame, VideoInfo};

/// A frame that reads a buffer, which it holds.
pub fn reading(format: &Format, buffer: gst::Buffer, info: &VideoInfo) -> Option<Frame> {
    let mapped = VideoFrame::<Readable>::from_buffer_readable(buffer, info).ok()?;
    let mapped = Arc::new(mapped);
    let planes = (0..format.planes()).map(|p| {
        let data = mapped.plane_data(p as u32).ok()?;
        let stride = mapped.plane_stride()[p];
        plane(
            format,
            p,
            (data.as_ptr().cast_mut(), data.len()),
            stride,
            Access::Read,
            mapped.clone(),
        )
    });
    Some(Frame::of_planes(format, planes.collect::<Option<_>>()?))
}

/// A frame that writes a buffer. When the frame is gone, [`written`] gives the buffer back.
pub fn writing(
    format: &Format,
    buffer: gst::Buffer,
    info: &VideoInfo,
) -> Option<(Frame, Arc<VideoFrame<Writable>>)> {
    let mut mapped = VideoFrame::<Writable>::from_buffer_writable(buffer, info).ok()?;
    let places: Option<Vec<_>> = (0..format.planes())
        .map(|p| {
            let stride = mapped.plane_stride()[p];
            let data = mapped.plane_data_mut(p as u32).ok()?;
            Some((data.as_mut_ptr(), data.len(), stride))
        })
        .collect();
    let mapped = Arc::new(mapped);
    let planes = places?
        .into_iter()
        .enumerate()
        .map(|(p, (start, len, stride))| {
            plane(
                format,
                p,
                (start, len),
                stride,
                Access::Write,
                mapped.clone(),
            )
        });
    let frame = Frame::of_planes(format, planes.collect::<Option<_>>()?);
    Some((frame, mapped))
}

/// The buffer that was written, when its frame is gone.
pub fn written(mapped: Arc<VideoFrame<Writable>>) -> Option<gst::Buffer> {
    Arc::into_inner(mapped).map(VideoFrame::into_buffer)
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Read,
    Write,
}

/// A plane of a buffer; `None` if it does not have the rows.
fn plane<O: Send + Sync + 'static>(
    format: &Format,
    number: usize,
    (start, len): (*mut u8, usize),
    stride: i32,
    access: Access,
    owner: Arc<O>,
) -> Option<Samples> {
    let size = format.plane_size(number);
    let (width, rows) = (size.w as usize, size.h as usize);
    let stride = usize::try_from(stride).ok()?;
    let bytes = format.depth.bytes();
    let fits = stride.is_multiple_of(bytes)
        && stride / bytes >= width
        && stride * (rows - 1) + width * bytes <= len
        && start.addr().is_multiple_of(bytes);
    if !fits {
        return None;
    }
    fn lend<T: Sample>(
        start: *mut u8,
        len: usize,
        access: Access,
        owner: Arc<dyn std::any::Any + Send + Sync>,
    ) -> Option<Lent<T>> {
        let start = NonNull::new(start.cast::<T>())?;
        // SAFETY: the mapping is held by the owner, so the samples are there; a buffer that is mapped for writing has no
        // other user, and one that is mapped for reading is not written. The caller has looked at the alignment.
        Some(unsafe { Lent::new(start, len / size_of::<T>(), access == Access::Write, owner) })
    }
    Some(match format.depth {
        Depth::U8 => Samples::U8(Rows::lent(
            lend(start, len, access, owner)?,
            width,
            stride,
            rows,
        )),
        Depth::U10 | Depth::U12 | Depth::U16 => Samples::U16(Rows::lent(
            lend(start, len, access, owner)?,
            width,
            stride / 2,
            rows,
        )),
        Depth::F32 => return None,
    })
}
