//! Pictures to encode.

use std::path::PathBuf;
use std::process::Command;

/// Pictures of one size: Y, Cb, Cr of each, one plane after the other.
#[derive(Clone)]
pub struct Clip {
    pub width: usize,
    pub height: usize,
    pub frames: Vec<Vec<u8>>,
}

impl Clip {
    /// Frames `range` alone.
    pub fn part(&self, range: std::ops::Range<usize>) -> Clip {
        Clip {
            frames: self.frames[range].to_vec(),
            ..*self
        }
    }

    /// This one, then another of the same size.
    pub fn then(mut self, other: Clip) -> Clip {
        assert_eq!((self.width, self.height), (other.width, other.height));
        self.frames.extend(other.frames);
        self
    }

    pub fn frame_bytes(&self) -> usize {
        self.width * self.height * 3 / 2
    }
}

/// Frames of a clip of the folder `EVENER_CLIPS`, scaled to CIF. `None` where it or ffmpeg is missing, which is said.
pub fn clip(name: &str, frames: usize) -> Option<Clip> {
    let path = std::env::var_os("EVENER_CLIPS").map(|folder| PathBuf::from(folder).join(name));
    let Some(path) = path.filter(|path| path.exists()) else {
        evener_testing::skip(format_args!(
            "{name} is not in the folder EVENER_CLIPS names"
        ));
        return None;
    };
    let decoded = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .arg(path)
        .args(["-frames:v", &frames.to_string()])
        .args("-vf scale=352:288 -pix_fmt yuv420p -f rawvideo -fps_mode passthrough -".split(' '))
        .output();
    let Ok(decoded) = decoded else {
        evener_testing::skip("the program ffmpeg is not installed");
        return None;
    };
    assert!(decoded.status.success(), "{decoded:?}");
    let bytes = 352 * 288 * 3 / 2;
    Some(Clip {
        width: 352,
        height: 288,
        frames: decoded.stdout.chunks(bytes).map(<[u8]>::to_vec).collect(),
    })
}

pub const FOREMAN: &str = "foreman_352x288_300f.264";
pub const STREET: &str = "street_1920x1080_54f.264";

/// A texture that moves by a few samples from frame to frame. Texture and brightness are different with each `seed`.
pub fn moving(seed: u64, width: usize, height: usize, frames: usize) -> Clip {
    let noise = |x: i64, y: i64| {
        let mut z =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x as u64) << 32 ^ (y as u64 & 0xffff_ffff);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 56) as i64
    };
    // Noise on a grid of 8 samples, interpolated: soft enough that it can be predicted.
    let soft = |x: i64, y: i64| {
        let (u, v) = (x.rem_euclid(8), y.rem_euclid(8));
        let (x, y) = (x.div_euclid(8), y.div_euclid(8));
        let row = |y: i64| noise(x, y) * (8 - u) + noise(x + 1, y) * u;
        let value = (row(y) * (8 - v) + row(y + 1) * v) / 64;
        (value / 2 + 60 * (seed % 3) as i64) as u8
    };
    let frame = |n: i64| {
        let plane = |width: usize, height: usize, dx: i64, dy: i64| {
            (0..(width * height) as i64)
                .map(move |i| soft(i % width as i64 + n * dx, i / width as i64 + n * dy))
        };
        let chroma = || plane(width / 2, height / 2, 1, 0).map(|v| 96 + v / 4);
        plane(width, height, 3, 1)
            .chain(chroma())
            .chain(chroma())
            .collect()
    };
    Clip {
        width,
        height,
        frames: (0..frames as i64).map(frame).collect(),
    }
}

/// Noise that nothing predicts.
pub fn noise(width: usize, height: usize, frames: usize) -> Clip {
    let mut state = 1u32;
    let mut sample = move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let bytes = width * height * 3 / 2;
    Clip {
        width,
        height,
        frames: (0..frames)
            .map(|_| (0..bytes).map(&mut sample).collect())
            .collect(),
    }
}
