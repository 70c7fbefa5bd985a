//! Kernels chosen by measurement.
//!
//! A [`Simd`] level describes the instructions of a CPU, not which of them are fast. A service declares its kernels
//! as a static [`Kernels`], with variants by level and a trial to run each; [`Kernels::level`] is the level to use.
//! If several variants can run, they are timed at first use, which takes a few milliseconds. [`remember`] keeps the
//! times in the user's cache directory. A level in `EVENER_CPU` is used without timing.
//!
//! All variants of a kernel give the same bits, so the choice changes nothing but time.

mod selection;
mod timing;

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::kept::Kept;
use crate::topology::{Simd, Topology};

pub use selection::{Reason, Selection, Table, Variant};

/// A kernel, or several that are used together, compiled for several SIMD levels.
pub struct Kernels {
    name: &'static str,
    work: &'static str,
    variant: fn(Simd) -> &'static str,
    trial: fn(Simd) -> Trial,
    level: OnceLock<Simd>,
}

/// Runs a variant once, on its own data.
pub type Trial = Box<dyn FnMut()>;

/// A file of measured times.
#[derive(Clone, Debug)]
pub struct Memory(Kept);

/// Where the times of this process are kept, once it said so.
static MEMORY: OnceLock<Option<Memory>> = OnceLock::new();

/// Keeps measured times in the user's cache directory from now on, and uses those kept there. Without this call, each
/// process measures the kernels it uses.
pub fn remember() {
    MEMORY.get_or_init(Memory::open_default);
}

impl Memory {
    /// The file `evener/kernels.json` in the user's cache directory, beside that of remembered plans.
    pub fn open_default() -> Option<Memory> {
        Kept::in_cache("kernels.json", "kernels").map(|kept| Memory(kept.quiet()))
    }

    /// Uses this file.
    pub fn at(path: impl Into<PathBuf>) -> Memory {
        Memory(Kept::at(path.into(), "kernels").quiet())
    }
}

impl Kernels {
    /// Declares kernels. `variant` names the code for a level; levels with the same name run the same code. `trial`
    /// prepares a run of some tens of microseconds at a level. `work` describes that run, such as `64 KiB`.
    pub const fn new(
        name: &'static str,
        work: &'static str,
        variant: fn(Simd) -> &'static str,
        trial: fn(Simd) -> Trial,
    ) -> Kernels {
        Kernels {
            name,
            work,
            variant,
            trial,
            level: OnceLock::new(),
        }
    }

    /// The level at which the kernels are fastest, or that of `EVENER_CPU`. It is determined once per process.
    pub fn level(&self) -> Simd {
        *self.level.get_or_init(|| self.selection().level)
    }

    /// The selection behind [`Kernels::level`].
    pub fn selection(&self) -> Selection {
        let memory = MEMORY.get().and_then(Option::as_ref);
        self.select(&Simd::levels(), Simd::pinned(), memory)
    }

    /// Selects among `levels`, lowest first; the last one if it is `pinned`. Times are read from `memory` and stored
    /// there.
    ///
    /// # Panics
    /// There are no levels.
    pub fn select(&self, levels: &[Simd], pinned: bool, memory: Option<&Memory>) -> Selection {
        let mut variants: Vec<Variant> = Vec::new();
        for &level in levels {
            let name = (self.variant)(level);
            if variants.last().is_none_or(|last| last.name != name) {
                let seconds = None;
                variants.push(Variant {
                    name,
                    level,
                    seconds,
                });
            }
        }
        let reason = match variants.len() {
            _ if pinned => Reason::Pinned,
            0 | 1 => Reason::Only,
            _ if self.recall(&mut variants, memory) => Reason::Remembered,
            _ => {
                self.measure(&mut variants);
                self.keep(&variants, memory);
                Reason::Measured
            }
        };
        Selection::new(self.name, self.work, variants, reason)
    }

    fn measure(&self, variants: &mut [Variant]) {
        let mut trials: Vec<_> = variants.iter().map(|v| (self.trial)(v.level)).collect();
        let times = timing::fastest(&mut trials);
        for (variant, time) in variants.iter_mut().zip(times) {
            variant.seconds = Some(time.as_secs_f64());
        }
    }

    /// Times are of a machine and of this version's kernels.
    fn key(&self) -> String {
        let machine = Topology::detect().machine_key();
        format!("{} | {machine} | {}", self.name, env!("CARGO_PKG_VERSION"))
    }

    /// Takes the remembered times; false unless there is a plausible one for each variant.
    fn recall(&self, variants: &mut [Variant], memory: Option<&Memory>) -> bool {
        let found = memory.and_then(|memory| memory.0.get::<selection::Times>(&self.key()));
        let Some(times) = found else { return false };
        for variant in variants.iter_mut() {
            let time = times.seconds.get(variant.name).copied();
            variant.seconds = time.filter(|s| s.is_finite() && *s > 0.0);
        }
        variants.iter().all(|variant| variant.seconds.is_some())
    }

    fn keep(&self, variants: &[Variant], memory: Option<&Memory>) {
        if let Some(memory) = memory {
            memory.0.put(&self.key(), selection::Times::of(variants));
        }
    }
}
