//! Chroma goes where luma goes, however it is subsampled.

use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};

/// Where the light of a plane is on average, in luma samples; `dark` is the code of none.
fn centroid(bytes: &[u8], dark: u8, width: usize, (sx, sy): (u32, u32)) -> (f64, f64) {
    let (mut x, mut y, mut sum) = (0.0, 0.0, 0.0);
    for (row, samples) in bytes.chunks_exact(width).enumerate() {
        for (column, &v) in samples.iter().enumerate() {
            let v = f64::from(v) - f64::from(dark);
            x += v * column as f64;
            y += v * row as f64;
            sum += v;
        }
    }
    assert!(sum > 0.0, "it is dark");
    let place = |v: f64, s: u32| v / sum * f64::from(s) + f64::from(s - 1) / 2.0;
    (place(x, sx), place(y, sy))
}

/// The codes of the fill of luma and of chroma.
const DARK: [u8; 2] = [0, 128];

/// Where a block of luma and one of U, both in columns `x` on and rows `y` on, are after `filter`.
fn moved(filter: &str, chroma: Chroma, (x, y): (usize, usize)) -> [(f64, f64); 2] {
    let format = Format {
        width: 192,
        height: 128,
        chroma,
        depth: Depth::U8,
        range: ColourRange::Full,
    };
    let mut frame = Frame::new(&format);
    let subsampling = [(1, 1), chroma.subsampling()];
    for p in 0..3 {
        let (sx, sy) = subsampling[p.min(1)];
        let width = format.plane_size(p).w as usize;
        let plane = frame.plane_bytes_mut(p);
        plane.fill(DARK[p.min(1)]);
        if p == 2 {
            continue;
        }
        for row in plane
            .chunks_exact_mut(width)
            .skip(y / sy as usize)
            .take(12 / sy as usize)
        {
            row[x / sx as usize..][..12 / sx as usize].fill(200);
        }
    }
    let graph = Graph::parse(filter).unwrap();
    let bound = graph.bind(&format, Planes::Each).unwrap();
    let planes = reference::frame(&bound, &frame);
    [0, 1].map(|p| {
        let width = bound.output.plane_size(p).w as usize;
        centroid(&planes[p], DARK[p], width, subsampling[p])
    })
}

#[test]
fn warps_move_chroma_as_they_move_luma() {
    for filter in [
        "rotate=30",
        "rotate=90",
        "undistort=k1=-0.25",
        "undistort=k1=0.2:k2=0.1",
    ] {
        for chroma in [Chroma::C420, Chroma::C422, Chroma::C444] {
            for at in [(64, 56), (140, 64), (88, 100), (132, 84)] {
                let [luma, u] = moved(filter, chroma, at);
                let (dx, dy) = (luma.0 - u.0, luma.1 - u.1);
                assert!(
                    dx.abs() < 1.0 && dy.abs() < 1.0,
                    "{filter} {chroma:?}: luma at {luma:?}, U at {u:?}"
                );
            }
        }
    }
}
