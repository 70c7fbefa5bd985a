//! The control device: it creates, describes, starts, recovers and removes devices.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

use super::abi::{ANY_DEVICE, Command, DeviceInfo, Params, control, feature};
use super::error::Error;
use super::ring::ControlRing;

const CONTROL: &str = "/dev/ublk-control";
/// The features of every device: the server copies bytes, and another server can recover the device and gets its
/// requests again.
pub const FEATURES: u64 = feature::IOCTL_ENCODE
    | feature::USER_COPY
    | feature::USER_RECOVERY
    | feature::USER_RECOVERY_REISSUE;
/// `ENOTSUPP`. It is internal to the kernel, but some drivers return it.
const ENOTSUPP: i32 = 524;

/// The control device.
pub struct Control(ControlRing);

impl Control {
    /// Opens it and checks what the driver supports.
    ///
    /// # Errors
    /// There is no driver, it is too old, or this user may not use it.
    pub fn open() -> Result<Control, Error> {
        let device = OpenOptions::new().read(true).write(true).open(CONTROL);
        let device = device.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Error::Denied(error),
            _ => Error::NoDriver,
        })?;
        let mut control = Control(ControlRing::new(device).map_err(Error::NoRing)?);
        let features = control.features()?;
        for (bit, lacks) in [
            (feature::USER_COPY, "have its bytes copied by any thread"),
            (feature::USER_RECOVERY_REISSUE, "let a server take over"),
        ] {
            if features & bit == 0 {
                return Err(Error::OldDriver { lacks });
            }
        }
        Ok(control)
    }

    fn features(&mut self) -> Result<u64, Error> {
        let mut features = [0; 8];
        match self.run(control::GET_FEATURES, ANY_DEVICE, 0, &mut features) {
            Ok(()) => Ok(u64::from_ne_bytes(features)),
            Err(error) if is(&error, &[Errno::PERM, Errno::ACCESS]) => Err(Error::Denied(error)),
            Err(_) => Err(Error::OldDriver {
                lacks: "say what it can do",
            }),
        }
    }

    /// Creates a device and returns its description.
    pub fn add(&mut self, wanted: &DeviceInfo) -> Result<DeviceInfo, Error> {
        let mut bytes = wanted.bytes();
        let made = self.run(control::ADD_DEV, wanted.device, 0, &mut bytes);
        match made {
            Ok(()) => Ok(DeviceInfo::parse(&bytes)),
            Err(error) if is(&error, &[Errno::PERM, Errno::ACCESS]) => Err(Error::Denied(error)),
            Err(source) => Err(Error::Node {
                path: CONTROL.into(),
                source,
            }),
        }
    }

    /// Sets the parameters of a device.
    pub fn set_params(&mut self, id: u32, params: &Params) -> Result<(), Error> {
        let mut bytes = params.bytes();
        let done = self.run(control::SET_PARAMS, id, 0, &mut bytes);
        done.map_err(failed(id, "setting its size"))
    }

    /// The parameters of a device.
    pub fn params(&mut self, id: u32) -> Result<Params, Error> {
        let mut bytes = Params::request_bytes();
        let done = self.run(control::GET_PARAMS, id, 0, &mut bytes);
        done.map_err(failed(id, "asking for its size"))?;
        Ok(Params::parse(&bytes))
    }

    /// The description of a device.
    pub fn info(&mut self, id: u32) -> Result<DeviceInfo, Error> {
        let mut bytes = [0; DeviceInfo::SIZE];
        match self.run(control::GET_DEV_INFO, id, 0, &mut bytes) {
            Ok(()) => Ok(DeviceInfo::parse(&bytes)),
            Err(error) if is(&error, &[Errno::NODEV]) => {
                Err(Error::NoDevice { id, known: known() })
            }
            Err(source) => Err(failed(id, "asking about it")(source)),
        }
    }

    /// Opens the character device of a device.
    pub fn node(&self, id: u32) -> Result<Arc<File>, Error> {
        let path = format!("/dev/ublkc{id}");
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        match opened {
            Ok(file) => Ok(Arc::new(file)),
            Err(source) => Err(Error::Node { path, source }),
        }
    }

    /// Makes the disk of a new device appear. All requests of all its queues must have been fetched.
    pub fn start(&mut self, id: u32) -> Result<(), Error> {
        let done = self.run(control::START_DEV, id, own_id(), &mut []);
        done.map_err(failed(id, "starting it"))
    }

    /// Begins to recover a device. `false`: its last server has not ended yet.
    pub fn start_recovery(&mut self, id: u32) -> Result<bool, Error> {
        match self.run(control::START_RECOVERY, id, 0, &mut []) {
            Ok(()) => Ok(true),
            Err(error) if is(&error, &[Errno::BUSY]) => Ok(false),
            Err(error) if is(&error, &[Errno::INVAL]) => Err(Error::Stuck { id }),
            Err(source) => Err(failed(id, "taking it over")(source)),
        }
    }

    /// Ends the recovery of a device, which gets requests again. All requests of all its queues must have been fetched.
    pub fn end_recovery(&mut self, id: u32) -> Result<(), Error> {
        let done = self.run(control::END_RECOVERY, id, own_id(), &mut []);
        done.map_err(failed(id, "taking it over"))
    }

    /// Removes the disk of a device, and ends all commands of its queues.
    pub fn stop(&mut self, id: u32) -> Result<(), Error> {
        let done = self.run(control::STOP_DEV, id, 0, &mut []);
        done.map_err(failed(id, "stopping it"))
    }

    /// Removes a device. Its number becomes free when its disk is no longer in use.
    pub fn delete(&mut self, id: u32) -> Result<(), Error> {
        let mut done = self.run(control::DEL_DEV_ASYNC, id, 0, &mut []);
        // Drivers before Linux 6.9 have only the command that waits.
        if let Err(error) = &done
            && (is(error, &[Errno::OPNOTSUPP, Errno::INVAL])
                || error.raw_os_error() == Some(ENOTSUPP))
        {
            done = self.run(control::DEL_DEV, id, 0, &mut []);
        }
        done.map_err(failed(id, "removing it"))
    }

    fn run(&mut self, code: u32, device: u32, word: u64, data: &mut [u8]) -> io::Result<()> {
        self.0.run(code, &Command { device, word }, data)
    }
}

fn own_id() -> u64 {
    std::process::id().into()
}

fn failed(id: u32, what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Command { id, what, source }
}

fn is(error: &io::Error, any: &[Errno]) -> bool {
    let code = error.raw_os_error();
    any.iter().any(|errno| Some(errno.raw_os_error()) == code)
}

/// The existing devices, for a message.
fn known() -> String {
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("ublkc")?.parse::<u32>().ok()
    };
    let mut numbers: Vec<u32> = entries.filter_map(number).collect();
    numbers.sort_unstable();
    match numbers.as_slice() {
        [] => "there is none".into(),
        some => {
            let some: Vec<String> = some.iter().map(u32::to_string).collect();
            format!("there are: {}", some.join(", "))
        }
    }
}
