//! Frames: planes of samples in shared buffers.

use std::ops::Deref;

use evener_runtime::buffer::{Rows, RowsMut, RowsRef};

use crate::format::{Depth, Format, Size};

/// The samples of a plane, row after row. Only memory of another owner has padding between rows.
pub enum Samples {
    /// Codes of 8 bits.
    U8(Rows<u8>),
    /// Codes of more than 8 bits.
    U16(Rows<u16>),
    /// Values, 0 for black and 1 for white.
    F32(Rows<f32>),
}

impl Samples {
    /// A zeroed plane.
    pub fn new(size: Size, depth: Depth) -> Self {
        let (w, h) = (size.w as usize, size.h as usize);
        match depth {
            Depth::U8 => Samples::U8(Rows::zeroed(w, h)),
            Depth::U10 | Depth::U12 | Depth::U16 => Samples::U16(Rows::zeroed(w, h)),
            Depth::F32 => Samples::F32(Rows::zeroed(w, h)),
        }
    }

    /// The bytes, in the machine's order, with the padding of memory of another owner.
    pub fn bytes(&self) -> PlaneBytes<'_> {
        match self {
            Samples::U8(rows) => PlaneBytes::U8(rows.read()),
            Samples::U16(rows) => PlaneBytes::U16(rows.read()),
            Samples::F32(rows) => PlaneBytes::F32(rows.read()),
        }
    }

    /// The bytes for overwriting.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Samples::U8(rows) => rows.as_mut_slice(),
            Samples::U16(rows) => bytemuck::cast_slice_mut(rows.as_mut_slice()),
            Samples::F32(rows) => bytemuck::cast_slice_mut(rows.as_mut_slice()),
        }
    }
}

/// One unit of a video stream.
pub struct Frame {
    format: Format,
    planes: Vec<Samples>,
}

impl Frame {
    /// A frame with every sample zero.
    pub fn new(format: &Format) -> Self {
        let planes = (0..format.planes())
            .map(|p| Samples::new(format.plane_size(p), format.depth))
            .collect();
        Frame {
            format: *format,
            planes,
        }
    }

    /// A frame of planes that may be in memory of another owner.
    ///
    /// # Panics
    /// If they are not the planes of such a frame.
    pub fn of_planes(format: &Format, planes: Vec<Samples>) -> Self {
        assert_eq!(planes.len(), format.planes(), "planes of {format}");
        for (p, plane) in planes.iter().enumerate() {
            let Size { w, h } = format.plane_size(p);
            let (size, bytes) = match plane {
                Samples::U8(rows) => ((rows.width(), rows.rows()), 1),
                Samples::U16(rows) => ((rows.width(), rows.rows()), 2),
                Samples::F32(rows) => ((rows.width(), rows.rows()), 4),
            };
            let expected = ((w as usize, h as usize), format.depth.bytes());
            assert_eq!((size, bytes), expected);
        }
        Frame {
            format: *format,
            planes,
        }
    }

    /// Size, chroma layout and depth.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The samples of a plane: 0 luma, 1 and 2 chroma.
    pub fn plane(&self, plane: usize) -> &Samples {
        &self.planes[plane]
    }

    /// The samples of a plane for overwriting.
    pub fn plane_mut(&mut self, plane: usize) -> &mut Samples {
        &mut self.planes[plane]
    }

    /// The bytes of a plane for overwriting, in the machine's order.
    pub fn plane_bytes_mut(&mut self, plane: usize) -> &mut [u8] {
        self.planes[plane].bytes_mut()
    }

    /// The bytes of a plane.
    pub fn plane_bytes(&self, plane: usize) -> PlaneBytes<'_> {
        self.planes[plane].bytes()
    }

    /// The bytes of a plane, held for overwriting.
    ///
    /// # Panics
    /// If a part of the plane is being read or written.
    pub fn write_plane_bytes(&self, plane: usize) -> PlaneBytesMut<'_> {
        match &self.planes[plane] {
            Samples::U8(rows) => PlaneBytesMut::U8(rows.write(0..rows.rows())),
            Samples::U16(rows) => PlaneBytesMut::U16(rows.write(0..rows.rows())),
            Samples::F32(rows) => PlaneBytesMut::F32(rows.write(0..rows.rows())),
        }
    }

    /// The bytes of all planes for overwriting, in order, as vectored reads take them.
    pub fn all_bytes_mut(&mut self) -> Vec<&mut [u8]> {
        self.planes.iter_mut().map(Samples::bytes_mut).collect()
    }
}

/// The bytes of a plane, borrowed from its frame.
pub enum PlaneBytes<'a> {
    /// Of 8-bit codes.
    U8(RowsRef<'a, u8>),
    /// Of codes of more than 8 bits.
    U16(RowsRef<'a, u16>),
    /// Of floats.
    F32(RowsRef<'a, f32>),
}

impl Deref for PlaneBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            PlaneBytes::U8(rows) => rows,
            PlaneBytes::U16(rows) => bytemuck::cast_slice(rows),
            PlaneBytes::F32(rows) => bytemuck::cast_slice(rows),
        }
    }
}

/// The bytes of a plane, held for overwriting.
pub enum PlaneBytesMut<'a> {
    /// Of 8-bit codes.
    U8(RowsMut<'a, u8>),
    /// Of codes of more than 8 bits.
    U16(RowsMut<'a, u16>),
    /// Of floats.
    F32(RowsMut<'a, f32>),
}

impl PlaneBytesMut<'_> {
    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        match self {
            PlaneBytesMut::U8(rows) => rows,
            PlaneBytesMut::U16(rows) => bytemuck::cast_slice_mut(rows),
            PlaneBytesMut::F32(rows) => bytemuck::cast_slice_mut(rows),
        }
    }
}
