use serde::{Deserialize, Serialize};

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// The name for users: `cuda:0`, `opencl:0`, `sim`.
    pub name: String,
    /// The maker's name of the model.
    pub model: String,
    /// The driver and its version.
    pub driver: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The size of its memory in bytes.
    pub memory: u64,
    /// Whether it shares the memory of the CPU cores.
    pub unified: bool,
    /// The number of engines that copy while kernels run, each in one direction at a time.
    pub copy_engines: u32,
    /// The number of lanes that keep its engines busy.
    pub lanes: u32,
    /// The arithmetic that the probe found to give the same bits as a core.
    pub exact: Arithmetic,
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// CPU cores of this machine behind a driver. Used only by name.
    Cpu,
    /// Another accelerator.
    Accelerator,
    /// No real device; costs are simulated.
    Simulated,
}

/// Kinds of arithmetic with results that are defined to the last bit: those that a program needs, or that a device
/// has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arithmetic {
    /// Integers of 32 and 64 bits.
    pub integer: bool,
    /// Sums, products and comparisons of `f32`, including subnormals, neither contracted nor reordered.
    pub float: bool,
    /// Fused multiply-add.
    pub fma: bool,
    /// Division, correctly rounded.
    pub divide: bool,
    /// Square roots, correctly rounded.
    pub sqrt: bool,
    /// Conversions between `f32` and integers, and rounding to integers.
    pub convert: bool,
}

impl Arithmetic {
    /// All kinds.
    pub const ALL: Arithmetic = Arithmetic {
        integer: true,
        float: true,
        fma: true,
        divide: true,
        sqrt: true,
        convert: true,
    };

    /// Integers only.
    pub const INTEGER: Arithmetic = Arithmetic {
        integer: true,
        float: false,
        fma: false,
        divide: false,
        sqrt: false,
        convert: false,
    };

    /// Whether it includes everything in `needed`.
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
