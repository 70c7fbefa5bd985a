//! The encoder as a service of the runtime: pictures as wavefronts.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use evener_image::exec::service::Scratch as FilterScratch;
use evener_runtime::device::OnDevice;
use evener_runtime::{Dispatch, Flow, Need, Part, Service, Shape, Structure, Work};

use crate::config::Config;
use crate::decide::Scratch as DecideScratch;
use crate::encoder::{Encoder, Measured, Needed, Pass, Planes};
use crate::kernels::Kernels;
use crate::preprocess::Preprocess;
use crate::rate::Rates;
use crate::syntax::Parameters;
use crate::unit::{Coded, InputFrame};

/// Several pictures in work, each behind the one before by as far as vectors reach.
pub static WAVEFRONT: Structure = Structure {
    name: "wavefront",
    about: "macroblock rows staggered, each a little behind the one above, and so are frames",
    flow: Flow::Wavefront,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

/// The structures of the service.
pub const STRUCTURES: [&Structure; 1] = [&WAVEFRONT];

/// Pictures in work at once.
const IN_WORK: usize = 3;
/// Frames of a stream at once: those of pictures in work, one that is read, and one that is ready.
const FRAMES: usize = IN_WORK + 2;
/// Parts of a frame that are filtered or converted on different workers.
const STRIPS: u32 = 16;
/// Macroblocks of a job.
const GRAIN: u32 = 2;
/// Operations that coding a macroblock takes, as the runtime counts them.
const OPERATIONS: f64 = 6000.0;

/// Codes frames.
pub struct EncodeService {
    preprocess: Preprocess,
    encoder: Encoder,
    key: String,
}

/// Memory of a worker.
#[derive(Default)]
pub struct Scratch {
    filter: FilterScratch,
    decide: DecideScratch,
}

/// A pass of the service.
#[derive(Clone, Copy)]
enum Step {
    /// Of [`Preprocess`], by its number.
    Before(usize),
    /// Of the encoder.
    Encode(Pass),
}

impl EncodeService {
    /// Codes what `preprocess` makes of frames.
    pub fn new(
        config: &Config,
        parameters: &Parameters,
        preprocess: Preprocess,
        kernels: Kernels,
    ) -> Self {
        let encoder = Encoder::new(
            parameters,
            config.tools,
            Rates::new(config, parameters),
            kernels,
            IN_WORK,
        )
        .measuring(Measured {
            ssd: config.psnr,
            ssim: config.ssim,
        });
        EncodeService {
            key: format!("h264 {} | {}", config.preset.name(), preprocess.key()),
            preprocess,
            encoder,
        }
    }

    /// About how many bytes a stream through the service takes: its encoder, and frames on their way.
    pub fn bytes(config: &Config, parameters: &Parameters, preprocess: &Preprocess) -> usize {
        let encoder = Encoder::bytes(parameters, &config.tools, IN_WORK);
        encoder + FRAMES * preprocess.frame_bytes()
    }

    /// Its rate control.
    pub fn rates(&self) -> Arc<Mutex<Rates>> {
        self.encoder.rates()
    }

    fn step(&self, pass: usize) -> Step {
        let before = self.preprocess.passes().len();
        match pass.checked_sub(before) {
            Some(pass) => Step::Encode(Pass::ALL[pass]),
            None => Step::Before(pass),
        }
    }

    /// What codes frames once they are filtered and converted.
    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The number of a pass of the encoder among all.
    fn number(&self, pass: Pass) -> usize {
        self.preprocess.passes().len() + pass as usize
    }

    /// The line of a part, and its steps.
    fn line(&self, part: &Part, steps: u32) -> (u32, Range<u32>) {
        let line = part.items.start / steps;
        (
            line,
            part.items.start - line * steps..part.items.end - line * steps,
        )
    }
}

impl Service for EncodeService {
    type Input = InputFrame;
    type Output = Coded;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.key.clone()
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

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let geometry = self.encoder.geometry();
        let before = self.preprocess.passes();
        let mut passes: Vec<u32> = before.iter().map(|_| STRIPS).collect();
        let mut lines = passes.clone();
        let mut names = vec!["filter frame"; before.len()];
        for pass in Pass::ALL {
            let (count, steps) = pass.lines(geometry);
            passes.push(count * steps);
            lines.push(count);
            names.push(pass.name());
        }
        let macroblocks = (geometry.columns * geometry.rows) as f64;
        let work = Work {
            ops: self.preprocess.operations() + macroblocks * OPERATIONS,
            bytes: macroblocks * 384.0 * 6.0,
            fresh: 0.0,
        };
        vec![Shape {
            lines,
            pass_names: names,
            units: self.encoder.in_work() as u32,
            device_pass: Some(self.number(Pass::Search)),
            ..Shape::new(&WAVEFRONT, passes, GRAIN, work)
        }]
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        match self.step(part.pass) {
            Step::Before(0) => {}
            Step::Before(pass) => needs.extend((0..STRIPS).map(|line| Need {
                unit,
                pass: pass - 1,
                line,
                steps: 1,
            })),
            Step::Encode(pass) => {
                let (_, steps) = pass.lines(self.encoder.geometry());
                let (line, steps) = self.line(part, steps);
                if pass == Pass::Prepare
                    && let Some(last) = self.preprocess.passes().len().checked_sub(1)
                {
                    needs.extend((0..STRIPS).map(|line| Need {
                        unit,
                        pass: last,
                        line,
                        steps: 1,
                    }));
                }
                self.encoder
                    .needs(unit, pass, line, &steps, |needed: Needed| {
                        needs.push(Need {
                            unit: needed.number,
                            pass: self.number(needed.pass),
                            line: needed.line,
                            steps: needed.steps,
                        });
                    });
            }
        }
    }

    fn run(
        &self,
        part: &Part,
        input: &InputFrame,
        output: &Coded,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        match self.step(part.pass) {
            Step::Before(pass) => {
                let items = u64::from(self.preprocess.passes()[pass]);
                let at = |strip: u32| (items * u64::from(strip) / u64::from(STRIPS)) as u32;
                let items = at(part.items.start)..at(part.items.end);
                self.preprocess.run(pass, items, input, &mut scratch.filter)
            }
            Step::Encode(pass) => {
                let (_, steps) = pass.lines(self.encoder.geometry());
                let (line, steps) = self.line(part, steps);
                let frame = input.ready();
                let planes = [0, 1, 2].map(|p| frame.plane_bytes(p));
                let [luma, cb, cr] = &planes;
                let planes = Planes {
                    luma,
                    chroma: [cb, cr],
                };
                let scratch = &mut scratch.decide;
                self.encoder
                    .run(input.number, (pass, line, steps), planes, output, scratch);
                Ok(())
            }
        }
    }

    fn device(&self) -> Option<&dyn OnDevice<InputFrame, Coded>> {
        Some(self)
    }
}
