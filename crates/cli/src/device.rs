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
    /// Also compute on this device if faster: auto, none or a name from `evener topology` [default: auto]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

impl DeviceArgs {
    /// Gives a runtime the device. One that is named is opened now, another when there is use for it.
    pub fn give(&self, builder: Builder) -> Result<Builder, Failure> {
        let variable = env::var(ENVIRONMENT).ok();
        let by = match (&self.device, &variable) {
            (None, Some(_)) => ENVIRONMENT,
            _ => "--device",
        };
        let named = self.device.clone().or(variable);
        match named.as_deref().map(str::trim) {
            None | Some("" | "auto") => Ok(builder.devices_found_by(best)),
            Some(name) => {
                let failed = |error| Failure::request(format!("{by} {name}: {error}"));
                let device = open(Some(name)).map_err(failed)?;
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
