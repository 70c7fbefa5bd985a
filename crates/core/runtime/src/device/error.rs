use std::time::Duration;

/// Why a device cannot be used, or can no longer be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error("there is no device '{asked}'; {known}")]
    Unknown {
        /// The requested name.
        asked: String,
        /// The known devices, as the end of a sentence.
        known: String,
    },
    /// The description of a simulated device is wrong.
    #[error("'{text}' describes no simulated device: {why}")]
    Description {
        /// The description.
        text: String,
        /// The reason.
        why: String,
    },
    /// A driver is missing or does not work.
    #[error("{interface}: {why}")]
    Driver {
        /// OpenCL or CUDA.
        interface: &'static str,
        /// The driver's message.
        why: String,
    },
    /// The device rejects a program.
    #[error("{device} does not take the kernels of {program}: {why}")]
    Program {
        /// The device.
        device: String,
        /// The program.
        program: &'static str,
        /// The first line of the driver's message.
        why: String,
    },
    /// The device has too little free memory.
    #[error("{device} has no room for {bytes} bytes")]
    Memory {
        /// The device.
        device: String,
        /// The requested bytes.
        bytes: usize,
    },
    /// The device is gone, or a kernel failed.
    #[error("{device} is lost: {why}")]
    Lost {
        /// The device.
        device: String,
        /// The driver's message.
        why: String,
    },
    /// A kernel did not end in time. No copy is in progress.
    #[error("{device} did not answer within {limit:?}")]
    Hung {
        /// The device.
        device: String,
        /// The time limit.
        limit: Duration,
    },
    /// The device's result for its first unit differs from a core's.
    #[error("{device} computed its first unit wrong")]
    WrongFirst {
        /// The device.
        device: String,
    },
    /// The device's result differs from a core's.
    #[error("{device} computed unit {unit} wrong")]
    Wrong {
        /// The device.
        device: String,
        /// The unit.
        unit: u64,
    },
    /// The device returned a result that no core computes for any unit.
    #[error("the device that runs {program} gave for unit {unit} what no core computes")]
    Impossible {
        /// The program.
        program: &'static str,
        /// The unit.
        unit: u64,
    },
}
