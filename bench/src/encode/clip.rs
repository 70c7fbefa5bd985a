//! Frames of a clip in memory.

use std::ffi::OsStr;
use std::path::Path;

use evener_h264::preprocess::Preprocess;
use evener_h264::unit::InputFrame;
use evener_image::io::open_input;
use evener_image::{Format, Ratio};

use crate::error::Error;

/// Macroblocks that are analysed at a time, about.
const MACROBLOCKS: u32 = 1 << 15;

/// The first frames of a clip.
pub(super) struct Clip {
    /// The clip, without its folder.
    pub(super) name: String,
    /// What frames are once they are ready: 8 bits, 4:2:0, even sizes.
    pub(super) format: Format,
    /// Frames a second.
    pub(super) rate: Ratio,
    /// At least two.
    pub(super) frames: Vec<InputFrame>,
}

impl Clip {
    /// Reads as many frames as are analysed, and one before them.
    pub(super) fn read(input: &OsStr, analysed: Option<u32>) -> Result<Clip, Error> {
        let failed = |e: evener_image::io::Error| Error::Picture(e.to_string());
        let unusable = |why: String| Error::Picture(format!("{}: {why}", input.to_string_lossy()));
        let mut source = open_input(input).map_err(failed)?;
        let rate = source.timing().rate;
        let preprocess =
            Preprocess::new(source.format(), None).map_err(|e| unusable(e.to_string()))?;
        let format = *preprocess.output();
        let macroblocks = format.width.div_ceil(16) * format.height.div_ceil(16);
        let fit = (MACROBLOCKS / macroblocks).clamp(4, 16);
        let wanted = analysed.unwrap_or(fit) as usize + 1;
        let mut frames = Vec::new();
        while frames.len() < wanted {
            let mut frame = preprocess.frame();
            if !source.read(&mut frame.frame).map_err(failed)? {
                break;
            }
            let mut scratch = Default::default();
            for (pass, items) in preprocess.passes().into_iter().enumerate() {
                let done = preprocess.run(pass, 0..items, &frame, &mut scratch);
                done.map_err(unusable)?;
            }
            frames.push(frame);
        }
        if frames.len() < 2 {
            return Err(unusable(
                "it takes at least two frames to search one in another".into(),
            ));
        }
        let name = match Path::new(input).file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => input.to_string_lossy().into_owned(),
        };
        Ok(Clip {
            name,
            format,
            rate,
            frames,
        })
    }

    /// Width x height.
    pub(super) fn size(&self) -> String {
        format!("{}x{}", self.format.width, self.format.height)
    }
}
