//! An encoder of samples as they are: every macroblock is `I_PCM`, so that what is decoded is known.

use evener_h264::bits::{BitWriter, NalType, write_nal_unit};
use evener_h264::config::Config;
use evener_h264::preprocess::Preprocess;
use evener_h264::quality::{Plane, Windows, ssd};
use evener_h264::syntax::{Entropy, Parameters};
use evener_h264::unit::{Coded, InputFrame};
use evener_image::exec::service::Scratch;
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Part, Service, Shape, Work};

/// What it keeps of a sample.
pub const ALL: u8 = 0xff;

pub struct Pcm {
    parameters: Parameters,
    preprocess: Preprocess,
    keyint: u64,
    mask: u8,
}

impl Pcm {
    /// Keeps the bits of `mask` of each sample.
    pub fn new(config: &Config, parameters: &Parameters, preprocess: Preprocess, mask: u8) -> Pcm {
        let mut parameters = parameters.clone();
        parameters.picture.entropy = Entropy::Cavlc;
        Pcm {
            parameters,
            preprocess,
            keyint: config.keyint.into(),
            mask,
        }
    }

    fn encode(&self, input: &InputFrame, output: &Coded) {
        let ready = input.ready();
        let sequence = &self.parameters.sequence;
        let (width, height) = (sequence.width as usize, sequence.height as usize);
        let sizes = [
            (width, height),
            (width / 2, height / 2),
            (width / 2, height / 2),
        ];
        let planes: [Vec<u8>; 3] = std::array::from_fn(|p| ready.plane_bytes(p).to_vec());
        let kept: [Vec<u8>; 3] =
            std::array::from_fn(|p| planes[p].iter().map(|v| v & self.mask).collect());
        let within = input.number % self.keyint;
        let key = within == 0;
        let mut bits = BitWriter::new();
        bits.ue(0); // first_mb_in_slice
        bits.ue(7); // slice_type
        bits.ue(0); // pic_parameter_set_id
        let frame_num_bits = u32::from(sequence.frame_num_bits);
        bits.put(within as u32 & ((1 << frame_num_bits) - 1), frame_num_bits);
        if key {
            bits.ue((input.number / self.keyint % 2) as u32); // idr_pic_id
            bits.flag(false); // no_output_of_prior_pics_flag
        }
        bits.flag(false); // long_term_reference_flag, or adaptive_ref_pic_marking_mode_flag
        bits.se(0); // slice_qp_delta
        bits.ue(1); // disable_deblocking_filter_idc
        for y in 0..sequence.height_in_macroblocks() {
            for x in 0..sequence.width_in_macroblocks() {
                bits.ue(25); // mb_type
                bits.align(false);
                for (p, &(width, height)) in sizes.iter().enumerate() {
                    let side = if p == 0 { 16 } else { 8 };
                    for row in y * side..(y + 1) * side {
                        for column in x * side..(x + 1) * side {
                            let at = row.min(height - 1) * width + column.min(width - 1);
                            bits.put(kept[p][at].into(), 8);
                        }
                    }
                }
            }
        }
        bits.trailing_bits();
        let mut picture = output.picture();
        picture.bytes.clear();
        picture.key = key;
        let kind = if key {
            NalType::IdrSlice
        } else {
            NalType::Slice
        };
        if key {
            self.parameters.write(&mut picture.bytes);
        }
        write_nal_unit(&mut picture.bytes, 3, kind, bits.bytes());
        for (p, &(width, height)) in sizes.iter().enumerate() {
            let [a, b] = [&planes[p], &kept[p]].map(|samples| Plane {
                samples,
                stride: width,
                step: 1,
                width,
                height,
            });
            picture.ssd[p] = ssd(a, b);
            let Some(windows) = Windows::of(width, height) else {
                continue;
            };
            picture.ssim[p] = windows.mean((0..windows.rows).map(|row| windows.row(row, a, b)));
        }
    }
}

impl Service for Pcm {
    type Input = InputFrame;
    type Output = Coded;
    type Scratch = Scratch;

    fn key(&self) -> String {
        format!("pcm | {}", self.preprocess.key())
    }

    fn input(&self) -> InputFrame {
        self.preprocess.frame()
    }

    fn output(&self) -> Coded {
        Coded::default()
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let mut passes = self.preprocess.passes();
        passes.push(1);
        vec![Shape::new(&SEQUENTIAL, passes, 1, Work::default())]
    }

    fn run(
        &self,
        part: &Part,
        input: &InputFrame,
        output: &Coded,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        match part.pass == self.preprocess.passes().len() {
            true => self.encode(input, output),
            false => self
                .preprocess
                .run(part.pass, part.items.clone(), input, scratch)?,
        }
        Ok(())
    }
}
