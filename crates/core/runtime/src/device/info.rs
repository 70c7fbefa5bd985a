use serde::{Deserialize, Serialize};

/// What a device is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// What users call it: `cuda:0`, `opencl:0`, `sim`.
    pub name: String,
    /// What its maker calls it.
    pub model: String,
    /// The driver and its version.
    pub driver: String,
    /// What kind it is.
    pub kind: DeviceKind,
    /// Bytes of its memory.
    pub memory: u64,
    /// Whether that is the memory of the cores.
    pub unified: bool,
    /// Engines that copy while kernels run, each in one direction at a time.
    pub copy_engines: u32,
    /// Lanes that keep its engines busy.
    pub lanes: u32,
    /// The arithmetic that was found to give the same bits as a core.
    pub exact: Arithmetic,
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// Cores of this machine behind a driver. Used only where it is named.
    Cpu,
    /// Another accelerator.
    Accelerator,
    /// None: costs are simulated.
    Simulated,
}

/// Kinds of arithmetic whose results are defined to the last bit: those a program needs, or those a device has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arithmetic {
    /// Whole numbers of 32 and 64 bits.
    pub integer: bool,
    /// Sums, products and comparisons of `f32`, subnormals included, neither contracted nor reordered.
    pub float: bool,
    /// Fused multiply-add.
    pub fma: bool,
    /// Division, correctly rounded.
    pub divide: bool,
    /// Square roots, correctly rounded.
    pub sqrt: bool,
    /// Conversions between `f32` and whole numbers, and rounding to whole numbers.
    pub convert: bool,
}

impl Arithmetic {
    /// All of it.
    pub const ALL: Arithmetic = Arithmetic {
        integer: true,
        float: true,
        fma: true,
        divide: true,
        sqrt: true,
        convert: true,
    };

    /// Whole numbers alone.
    pub const INTEGER: Arithmetic = Arithmetic {
        integer: true,
        float: false,
        fma: false,
        divide: false,
        sqrt: false,
        convert: false,
    };

    /// Whether it has all that is `needed`.
    pub fn covers(&self, needed: &Arithmetic) -> bool {
        let has = |has: bool, needed: bool| has || !needed;
        has(self.integer, needed.integer)
            && has(self.float, needed.float)
            && has(self.fma, needed.fma)
            && has(self.divide, needed.divide)
            && has(self.sqrt, needed.sqrt)
            && has(self.convert, needed.convert)
    }
}
