use std::time::Duration;

/// Why a device cannot be used, or not any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error("there is no device '{asked}'; {known}")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// What there is, as the end of a sentence.
        known: String,
    },
    /// The description of a simulated device is wrong.
    #[error("'{text}' describes no simulated device: {why}")]
    Description {
        /// The description.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A driver is missing or does not work.
    #[error("{interface}: {why}")]
    Driver {
        /// OpenCL or CUDA.
        interface: &'static str,
        /// What it says.
        why: String,
    },
    /// The device does not take a program.
    #[error("{device} does not take the kernels of {program}: {why}")]
    Program {
        /// The device.
        device: String,
        /// The program.
        program: &'static str,
        /// What the driver says, its first line.
        why: String,
    },
    /// It has too little memory left.
    #[error("{device} has no room for {bytes} bytes")]
    Memory {
        /// The device.
        device: String,
        /// How much was asked for.
        bytes: usize,
    },
    /// It is gone, or a kernel failed.
    #[error("{device} is lost: {why}")]
    Lost {
        /// The device.
        device: String,
        /// What the driver says.
        why: String,
    },
    /// A kernel did not end in time. No copy is in progress.
    #[error("{device} did not answer within {limit:?}")]
    Hung {
        /// The device.
        device: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It computed something else than a core of the first unit that it was given.
    #[error("{device} computed its first unit wrong")]
    WrongFirst {
        /// The device.
        device: String,
    },
    /// It computed something else than a core.
    #[error("{device} computed unit {unit} wrong")]
    Wrong {
        /// The device.
        device: String,
        /// The unit.
        unit: u64,
    },
    /// It gave what no core computes, whatever the unit is.
    #[error("the device that runs {program} gave for unit {unit} what no core computes")]
    Impossible {
        /// The program.
        program: &'static str,
        /// The unit.
        unit: u64,
    },
}
