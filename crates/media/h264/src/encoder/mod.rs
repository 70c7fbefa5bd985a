//! An encoder: pictures in work, and the passes that each goes through.

mod analyse;
mod output;
mod passes;
mod reconstruct;

use std::ops::Range;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use evener_files::{lock, unpoisoned};

use crate::config::Tools;
#[doc(hidden)]
#[cfg(feature = "forced")]
pub use crate::decide::Forced;
pub use crate::decide::Scratch;
use crate::decide::{self, MOST_REFERENCES};
use crate::filter::Band;
use crate::geometry::Geometry;
use crate::kernels::Kernels;
use crate::macroblock::Levels;
use crate::picture::Picture;
use crate::rate::{Rates, Summary};
pub use crate::source::Planes;
use crate::spare::Spare;
use crate::syntax::Parameters;
use crate::unit::Coded;

pub use passes::{Needed, Pass, RATE_DELAY};
use passes::{Needs, Operands, Steps};

/// Codes pictures of one size.
///
/// Most programs use [`Session`](crate::session::Session), which runs the encoder on all cores. To drive it yourself:
///
/// 1. Check the options with [`Config::new`](crate::config::Config::new), and make the
///    [`parameters`](crate::session::parameters) of the stream.
/// 2. Create the encoder with [`Encoder::new`].
/// 3. For each picture, [run](Encoder::run) all steps of all lines of all passes. They may run on any threads, in any
///    order that [`Encoder::needs`] allows; the order of [`Pass::ALL`] is one of them.
/// 4. After the last step of [`Pass::Write`], take the bytes from the [`Coded`].
///
/// The stream is a function of frames and options alone.
///
/// ```
/// use evener_h264::config::{Config, Settings};
/// use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
/// use evener_h264::kernels::Kernels;
/// use evener_h264::rate::Rates;
/// use evener_h264::session::parameters;
/// use evener_h264::syntax::Vui;
/// use evener_h264::unit::Coded;
/// use evener_image::{Chroma, ColourRange, Depth, Format, Ratio};
/// use evener_runtime::Simd;
///
/// let format = Format {
///     width: 64,
///     height: 48,
///     chroma: Chroma::C420,
///     depth: Depth::U8,
///     range: ColourRange::Limited,
/// };
/// let config = Config::new(&Settings::default())?;
/// let parameters = parameters(&config, &format, Ratio { num: 25, den: 1 }, Vui::default())?;
/// let rates = Rates::new(&config, &parameters);
/// let encoder = Encoder::new(&parameters, config.tools, rates, Kernels::at(Simd::detect()), 1);
///
/// let (luma, chroma) = (vec![90; 64 * 48], vec![128; 32 * 24]); // a grey picture
/// let planes = Planes { luma: &luma, chroma: [&chroma, &chroma] };
/// let (coded, mut scratch) = (Coded::default(), Scratch::default());
/// for pass in Pass::ALL {
///     let (lines, steps) = pass.lines(encoder.geometry());
///     for line in 0..lines {
///         encoder.run(0, (pass, line, 0..steps), planes, &coded, &mut scratch);
///     }
/// }
/// assert!(coded.picture().key); // an IDR picture with its parameter sets
/// assert!(coded.picture().bytes.starts_with(&[0, 0, 0, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Encoder {
    geometry: Geometry,
    kernels: Kernels,
    tools: Tools,
    parameters: Parameters,
    rates: Arc<Mutex<Rates>>,
    /// Whether what macroblocks cost is estimated.
    estimates: bool,
    pictures: Vec<RwLock<Picture>>,
    /// Memory of rows of macroblocks in work.
    bands: Spare<Band>,
    levels: Spare<Vec<Levels>>,
    in_work: usize,
    measured: Measured,
    forced: Option<Box<ForcedPicture>>,
}

/// What a test demands of macroblocks: by picture, column and row.
type ForcedPicture = dyn Fn(u64, usize, usize) -> decide::Forced + Send + Sync;

/// Which measures of quality are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Sums of squared differences.
    pub ssd: bool,
    /// Structural similarity.
    pub ssim: bool,
}

impl Encoder {
    /// An encoder of which `in_work` pictures are in work at once.
    pub fn new(
        parameters: &Parameters,
        tools: Tools,
        rates: Rates,
        kernels: Kernels,
        in_work: usize,
    ) -> Encoder {
        let (geometry, references) = sizes(parameters, &tools);
        let tools = Tools {
            references: references as u8,
            ..tools
        };
        let kept = kept(in_work, references);
        let picture = |_| RwLock::new(Picture::new(geometry, references, parameters));
        Encoder {
            geometry,
            kernels,
            tools,
            parameters: parameters.clone(),
            estimates: rates.uses_costs(&tools),
            rates: Arc::new(Mutex::new(rates)),
            pictures: (0..kept).map(picture).collect(),
            bands: Spare::new(),
            levels: Spare::new(),
            in_work,
            measured: Measured::default(),
            forced: None,
        }
    }

    /// About how many bytes an encoder takes of which `in_work` pictures are in work at once.
    pub fn bytes(parameters: &Parameters, tools: &Tools, in_work: usize) -> usize {
        let (geometry, references) = sizes(parameters, tools);
        let pictures = kept(in_work, references) * Picture::bytes(geometry, references);
        pictures + in_work * Picture::bytes_in_work(geometry)
    }

    /// The same, which codes macroblocks as a test demands: by picture, column and row.
    #[cfg(feature = "forced")]
    #[must_use]
    pub fn forcing(self, forced: Box<ForcedPicture>) -> Encoder {
        Encoder {
            forced: Some(forced),
            ..self
        }
    }

    /// The same, which measures quality.
    #[must_use]
    pub fn measuring(self, measured: Measured) -> Encoder {
        Encoder { measured, ..self }
    }

    /// The size of its pictures.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Pictures that may be in work at once.
    pub fn in_work(&self) -> usize {
        self.in_work
    }

    /// Whether the stream says when pictures leave the decoder's buffer.
    fn has_hrd(&self) -> bool {
        self.parameters.sequence.vui.hrd.is_some()
    }

    /// Functions on samples.
    pub(crate) fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Vectors that the search goes on from at full size.
    pub(crate) fn search_starts(&self) -> u8 {
        self.tools.search_starts
    }

    /// Whether the search estimates what macroblocks cost.
    pub(crate) fn estimates(&self) -> bool {
        self.estimates
    }

    /// Pictures that each is searched in, as far as there are so many before it.
    pub(crate) fn references(&self) -> u64 {
        self.tools.references.into()
    }

    /// What steps of a line of a pass need.
    pub fn needs(
        &self,
        number: u64,
        pass: Pass,
        line: u32,
        steps: &Range<u32>,
        mut need: impl FnMut(Needed),
    ) {
        let range = steps.clone();
        let steps = Steps {
            number,
            line,
            range,
        };
        let mut needs = Needs::new(&self.geometry, &mut need);
        (pass.entry().needs)(self, &steps, &mut needs);
    }

    fn slot(&self, number: u64) -> &RwLock<Picture> {
        &self.pictures[(number % self.pictures.len() as u64) as usize]
    }

    /// A picture in work, or one that a picture in work refers to.
    pub(crate) fn picture(&self, number: u64) -> RwLockReadGuard<'_, Picture> {
        unpoisoned(self.slot(number).read())
    }

    /// Runs steps of a line of a pass of picture `number`. The last step of [`Pass::Write`] puts the picture into `out`.
    pub fn run(
        &self,
        number: u64,
        (pass, line, steps): (Pass, u32, Range<u32>),
        planes: Planes<'_>,
        out: &Coded,
        scratch: &mut Scratch,
    ) {
        let steps = Steps {
            number,
            line,
            range: steps,
        };
        let operands = Operands {
            planes,
            out,
            scratch,
        };
        (pass.entry().run)(self, &steps, operands);
    }

    /// Its rate control, which knows after the last picture what has become of the rates that were asked for.
    pub fn rates(&self) -> Arc<Mutex<Rates>> {
        Arc::clone(&self.rates)
    }

    /// What has become of the rates that were asked for, after all pictures are written.
    pub fn summary(&self) -> Summary {
        lock(&self.rates).summary()
    }
}

/// The size of pictures, and how many others each refers to.
fn sizes(parameters: &Parameters, tools: &Tools) -> (Geometry, usize) {
    let sequence = &parameters.sequence;
    // A level may have room for fewer; pictures that are all keys refer to none.
    let most = sequence.references.clamp(1, MOST_REFERENCES as u8);
    let geometry = Geometry::new(sequence.width as usize, sequence.height as usize);
    (geometry, tools.references.min(most).into())
}

/// Pictures that are kept: those in work, and those that the first of them refers to. More would only be further from
/// caches.
fn kept(in_work: usize, references: usize) -> usize {
    in_work + references
}
