//! The flag that says which devices compute beside the cores.

use std::env;
use std::sync::Arc;

use evener_devices::{ENVIRONMENT, open};
use evener_runtime::Device;
use evener_runtime::runtime::Builder;

use crate::failure::Failure;

/// Which device computes beside the cores.
#[derive(clap::Args)]
pub struct DeviceArgs {
    /// Compute on a device as well where that is faster: auto, none, or a name; see `evener topology` [default: auto]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

impl DeviceArgs {
    /// Gives a runtime the device. One that is named is opened now, another when there is use for it.
    pub fn give(&self, builder: Builder) -> Result<Builder, Failure> {
        let named = self.device.clone().or_else(|| env::var(ENVIRONMENT).ok());
        match named.as_deref().map(str::trim) {
            None | Some("" | "auto") => Ok(builder.devices_found_by(best)),
            Some(name) => {
                let device = open(Some(name)).map_err(Failure::request)?;
                Ok(builder.devices(device.into_iter().collect()))
            }
        }
    }
}

/// The best device there is, if any.
fn best() -> Vec<Arc<dyn Device>> {
    let device = open(Some("auto")).ok().flatten();
    device.into_iter().collect()
}
