//! The devices of a machine as users see them.

use std::env;
use std::fmt;

use evener_runtime::device::{Arithmetic, Device, DeviceInfo, DeviceKind};
use evener_runtime::quantity::{Figures, Size, counted};
use serde::Serialize;

use crate::choose::{ENVIRONMENT, list, open};
use crate::measure::{Link, link};

/// What there is beside the cores, measured.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// Devices.
    pub devices: Vec<Entry>,
    /// Why drivers are not used.
    pub drivers: Vec<String>,
}

/// A device.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// What it is.
    #[serde(flatten)]
    pub info: DeviceInfo,
    /// Whether its arithmetic was compared with a core's, now or before; otherwise none of it is known to be exact.
    pub exact_known: bool,
    /// What moving data costs; `None` where the device was not opened or does not work.
    pub link: Option<Link>,
    /// Whether it is used only where the user names it.
    pub only_named: bool,
    /// Why it does not work.
    pub problem: Option<String>,
}

/// Opens and measures the devices of this machine, each in about 0.2 s, more the first time. A device that is used only
/// where it is named is not opened unless the environment names it. `EVENER_DEVICE=none` hides all.
pub fn survey() -> Survey {
    let default = env::var(ENVIRONMENT).unwrap_or_default();
    let mut survey = Survey {
        devices: Vec::new(),
        drivers: Vec::new(),
    };
    if default == "none" {
        return survey;
    }
    let list = list();
    survey
        .drivers
        .extend(list.drivers.iter().map(ToString::to_string));
    let mut named = None;
    if !default.is_empty() && default != "auto" {
        match open(Some(&default)) {
            Ok(device) => named = device,
            Err(error) => survey.drivers.push(format!("{ENVIRONMENT}: {error}")),
        }
    }
    // A simulated one is on no list.
    if let Some(device) = named
        .as_ref()
        .filter(|d| d.info().kind == DeviceKind::Simulated)
    {
        survey.devices.push(Entry::of(&**device));
    }
    for info in list.devices {
        let only_named = info.kind == DeviceKind::Cpu;
        let this = named
            .as_ref()
            .filter(|device| device.info().name == info.name);
        survey.devices.push(match this {
            Some(device) => Entry::of(&**device),
            None if only_named => Entry {
                exact_known: info.exact != Arithmetic::default(),
                info,
                link: None,
                only_named,
                problem: None,
            },
            None => match open(Some(&info.name)) {
                Ok(Some(device)) => Entry::of(&*device),
                Ok(None) => continue,
                Err(error) => {
                    let problem = Some(error.to_string());
                    Entry {
                        exact_known: info.exact != Arithmetic::default(),
                        info,
                        link: None,
                        only_named,
                        problem,
                    }
                }
            },
        });
    }
    survey
}

impl Entry {
    fn of(device: &dyn Device) -> Entry {
        let measured = link(device);
        Entry {
            info: device.info().clone(),
            exact_known: true,
            only_named: device.info().kind == DeviceKind::Cpu,
            problem: measured.as_ref().err().map(ToString::to_string),
            link: measured.ok(),
        }
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for device in &self.devices {
            let mut name = device.info.name.as_str();
            lines.extend(
                device
                    .lines()
                    .into_iter()
                    .map(|line| (std::mem::take(&mut name), line)),
            );
        }
        if lines.is_empty() {
            lines.push(("devices", "none".to_owned()));
        }
        let mut label = "drivers";
        for driver in &self.drivers {
            lines.push((std::mem::take(&mut label), driver.clone()));
        }
        for (i, (label, text)) in lines.iter().enumerate() {
            let end = if i + 1 < lines.len() { "\n" } else { "" };
            write!(f, "{label:<9} {text}{end}")?;
        }
        Ok(())
    }
}

impl Entry {
    fn lines(&self) -> Vec<String> {
        let info = &self.info;
        let mut first = format!("{}, {}", info.model, Size(info.memory));
        if info.unified {
            first += " shared with the cores";
        }
        if info.copy_engines > 0 {
            first += &format!(", {}", counted(info.copy_engines.into(), "copy engines"));
        }
        let mut lines = vec![first, info.driver.clone()];
        if let Some(link) = &self.link {
            lines.push(format!(
                "up {} GB/s, down {} GB/s, round trip {} µs",
                Figures(link.up / 1e9),
                Figures(link.down / 1e9),
                Figures(link.round_trip * 1e6)
            ));
        }
        if self.exact_known {
            lines.push(exact(&info.exact));
        }
        if self.only_named && self.link.is_none() {
            lines.push(format!(
                "used only where it is named; {ENVIRONMENT}={} evener topology measures it",
                info.name
            ));
        } else if self.only_named {
            lines.push("used only where it is named".to_owned());
        }
        lines.extend(self.problem.clone());
        lines
    }
}

fn exact(exact: &Arithmetic) -> String {
    let kinds = [
        (exact.integer, "integers"),
        (exact.float, "float"),
        (exact.fma, "fma"),
        (exact.divide, "division"),
        (exact.sqrt, "roots"),
        (exact.convert, "conversions"),
    ];
    let names = |wanted| {
        let names = kinds
            .iter()
            .filter(|(exact, _)| *exact == wanted)
            .map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    match (names(true), names(false)) {
        (_, wrong) if wrong.is_empty() => "all arithmetic is exact".to_owned(),
        (right, _) if right.is_empty() => "no arithmetic is exact".to_owned(),
        (right, wrong) => format!("exact: {right}; not exact: {wrong}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_shown() {
        let info = DeviceInfo {
            name: "cuda:0".to_owned(),
            model: "Card".to_owned(),
            driver: "CUDA 12.4".to_owned(),
            kind: DeviceKind::Gpu,
            memory: 80 << 30,
            unified: false,
            copy_engines: 3,
            lanes: 3,
            exact: Arithmetic {
                sqrt: false,
                ..Arithmetic::ALL
            },
        };
        let link = Link {
            up: 12.34e9,
            down: 11e9,
            round_trip: 15.2e-6,
        };
        let survey = Survey {
            devices: vec![
                Entry {
                    info: info.clone(),
                    exact_known: true,
                    link: Some(link),
                    only_named: false,
                    problem: None,
                },
                Entry {
                    info: DeviceInfo {
                        name: "opencl:0".to_owned(),
                        unified: true,
                        copy_engines: 0,
                        ..info
                    },
                    exact_known: false,
                    link: None,
                    only_named: true,
                    problem: None,
                },
            ],
            drivers: vec!["OpenCL: none".to_owned(), "other".to_owned()],
        };
        let text = "\
cuda:0    Card, 80 GiB, 3 copy engines
          CUDA 12.4
          up 12.3 GB/s, down 11 GB/s, round trip 15.2 µs
          exact: integers, float, fma, division, conversions; not exact: roots
opencl:0  Card, 80 GiB shared with the cores
          CUDA 12.4
          used only where it is named; EVENER_DEVICE=opencl:0 evener topology measures it
drivers   OpenCL: none
          other";
        assert_eq!(survey.to_string(), text);
        let none = Survey {
            devices: Vec::new(),
            drivers: Vec::new(),
        };
        assert_eq!(none.to_string(), "devices   none");
        let json = serde_json::to_value(&survey).unwrap();
        assert_eq!(json["devices"][0]["memory"], 80u64 << 30);
        assert_eq!(json["devices"][0]["exact"]["sqrt"], false);
        assert_eq!(json["devices"][1]["only_named"], true);
    }
}
