//! The report of a stream.

use std::fmt;

use serde::Serialize;

use super::samples::Times;
use crate::plan::{Placement, Plan};
use crate::quantity::counted;
use crate::structure::Flow;
use crate::tuner;

/// The report of a stream. `Display` prints one readable line, `Serialize` is for programs. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`Service::key`](crate::Service::key): graph, sizes and formats.
    pub service: String,
    /// The names of units, items and rates.
    pub names: Names,
    /// Units written.
    pub units: u64,
    /// Bytes done, if the service counts them; see [`Stream::counting`](super::Stream::counting).
    pub bytes: Option<u64>,
    /// Units that a live stream dropped because it was too slow.
    pub dropped: u64,
    /// The stream was cancelled before its source ended.
    pub cancelled: bool,
    /// From the start of the stream until the sink was finished.
    pub wall_s: f64,
    /// Time of all units, without waits for input and output.
    pub compute_s: f64,
    /// Units written per second of wall time.
    pub units_per_s: f64,
    /// Computing time of a unit. Under `farm`, whose units overlap, the time of a group divided by its units.
    pub times: Times,
    /// The same for the last quarter of the stream, when the tuner has settled.
    pub last_quarter: Times,
    /// The plan that the tuner found, or the requested plan. `None` if no unit was computed.
    pub plan: Option<Plan>,
    /// Plans that ran, most units first.
    pub plans: Vec<PlanTimes>,
    /// The speed-up of that plan over `sequential`, if known.
    pub gain: Option<Gain>,
    /// Counts of the search for a plan.
    pub search: Option<Search>,
    /// Every decision of the tuner with its reason, one line each.
    pub decisions: Vec<String>,
    /// Workers of the runtime.
    pub workers: usize,
    /// The opened devices, and their work.
    pub devices: Vec<DeviceUse>,
    /// The placement of workers and I/O threads.
    pub placement: Placement,
    /// What was done instead, if the machine does not allow the requested placement.
    pub placement_note: Option<String>,
    /// Buffers and memory.
    pub memory: MemoryUse,
}

/// The domain's names, in the plural.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Names {
    /// Units: `frames`.
    pub units: String,
    /// Items of a job: `rows`.
    pub items: String,
    /// Units per second: `fps`.
    pub rate: String,
}

/// The work of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceUse {
    /// Its name.
    pub name: String,
    /// Units that it computed.
    pub units: u64,
    /// Total busy seconds of its lanes.
    pub busy_s: f64,
    /// Why the device was given up, if it was.
    pub lost: Option<String>,
}

impl fmt::Display for DeviceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = counted(self.units, "units");
        let Self { name, busy_s, .. } = self;
        write!(
            f,
            "{name}: {units}, its lanes busy for {busy_s:.2} s in sum"
        )?;
        match &self.lost {
            Some(why) => write!(f, ", then not used: {why}"),
            None => Ok(()),
        }
    }
}

/// A plan that ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanTimes {
    /// The plan.
    pub plan: Plan,
    /// Units that ran under it.
    pub units: u64,
    /// The median time of its units, in seconds.
    pub median_s: f64,
}

/// The speed-up of the plan over `sequential`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Time of a unit under `sequential` divided by its time under the plan.
    pub factor: f64,
    /// Both were measured in this stream; otherwise `sequential` is predicted.
    pub measured: bool,
}

/// Counts of the search for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Search {
    /// Epochs run.
    pub epochs: u64,
    /// Plans that were run at least once.
    pub plans_tried: u32,
    /// How often a better plan took over.
    pub switches: u32,
    /// How often the search was reopened because the plan's cost had changed.
    pub drifts: u32,
    /// Time lost on plans slower than the best known, in seconds.
    pub exploring_s: f64,
}

/// The buffers of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// Maximum number of input units in flight.
    pub inputs: usize,
    /// Maximum number of output units in flight.
    pub outputs: usize,
    /// Number of workers with private memory.
    pub scratches: usize,
    /// The largest resident memory of the process so far, in bytes, if the operating system reports it.
    pub peak_resident: Option<u64>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            units: "units".into(),
            items: "items".into(),
            rate: "units/s".into(),
        }
    }
}

impl Names {
    fn of(&self, plan: &Plan) -> String {
        // The grain counts items, units or steps.
        let grain = match plan.structure.flow {
            Flow::Farm => self.units.as_str(),
            Flow::Pipeline | Flow::Wavefront => "steps",
            Flow::Divided | Flow::Grouped => self.items.as_str(),
        };
        let devices = match plan.devices {
            0 => String::new(),
            devices => format!(" + {}", counted(devices.into(), "devices")),
        };
        format!(
            "{} \u{b7} {} \u{b7} {} \u{b7} {}{devices}",
            plan.structure,
            plan.dispatch,
            counted(plan.grain.into(), grain),
            counted(plan.workers.into(), "workers")
        )
    }
}

/// The plan of a stream and its speed-up; created by [`Report::how`].
#[derive(Clone, Copy, Debug)]
pub struct How<'a>(&'a Report);

impl Report {
    /// The plan and its speed-up, in one line; `None` if no unit was computed.
    pub fn how(&self) -> Option<How<'_>> {
        self.plan.map(|_| How(self))
    }
}

impl fmt::Display for How<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            names, plan, gain, ..
        } = self.0;
        if let Some(plan) = plan {
            f.write_str(&names.of(plan))?;
        }
        match gain {
            Some(gain) if gain.measured => write!(f, ", {:.1}x sequential", gain.factor),
            Some(gain) => write!(f, ", {:.1}x sequential as predicted", gain.factor),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.units, &self.names.units))?;
        if self.dropped > 0 {
            write!(f, " ({} dropped)", self.dropped)?;
        }
        if self.units > 0 && self.wall_s > 0.0 {
            let digits = if self.units_per_s < 10.0 { 2 } else { 0 };
            write!(f, ", {:.digits$} {}", self.units_per_s, self.names.rate)?;
        }
        if let Some(how) = self.how() {
            write!(f, ", {how}")?;
        }
        if self.cancelled {
            f.write_str(", cancelled")?;
        }
        Ok(())
    }
}

impl From<tuner::Gain> for Gain {
    fn from(gain: tuner::Gain) -> Gain {
        Gain {
            factor: gain.factor,
            measured: gain.measured,
        }
    }
}

impl From<tuner::Summary> for Search {
    fn from(summary: tuner::Summary) -> Search {
        Search {
            epochs: summary.epochs,
            plans_tried: summary.plans_tried,
            switches: summary.switches,
            drifts: summary.drifts,
            exploring_s: summary.exploring.as_secs_f64(),
        }
    }
}

/// `VmHWM` of `/proc/self/status`, in bytes; see proc_pid_status(5).
pub(super) fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Dispatch;
    use crate::structure::FARM;
    use crate::structure::fixtures::{BACKWARD, PIPELINE, TILED};

    fn report() -> Report {
        Report {
            service: "toy".into(),
            names: Names {
                units: "frames".into(),
                items: "rows".into(),
                rate: "fps".into(),
            },
            units: 300,
            bytes: None,
            dropped: 0,
            cancelled: false,
            wall_s: 0.728,
            compute_s: 0.7,
            units_per_s: 412.1,
            times: Times::default(),
            last_quarter: Times::default(),
            plan: Some(Plan {
                structure: &TILED,
                dispatch: Dispatch::Fifo,
                grain: 34,
                workers: 2,
                devices: 0,
            }),
            plans: Vec::new(),
            gain: Some(Gain {
                factor: 3.06,
                measured: true,
            }),
            search: None,
            decisions: Vec::new(),
            workers: 2,
            devices: Vec::new(),
            placement: Placement::None,
            placement_note: None,
            memory: MemoryUse::default(),
        }
    }

    #[test]
    fn one_line_for_people() {
        assert_eq!(
            report().to_string(),
            "300 frames, 412 fps, tiled \u{b7} fifo \u{b7} 34 rows \u{b7} 2 workers, 3.1x sequential"
        );
    }

    #[test]
    fn the_line_says_what_is_unusual() {
        let mut report = Report {
            dropped: 4,
            cancelled: true,
            units_per_s: 1.5,
            ..report()
        };
        report.gain = Some(Gain {
            factor: 2.0,
            measured: false,
        });
        report.plan = report.plan.map(|p| Plan {
            grain: 1,
            workers: 1,
            ..p
        });
        report.units = 1;
        assert_eq!(
            report.to_string(),
            "1 frame (4 dropped), 1.50 fps, tiled \u{b7} fifo \u{b7} 1 row \u{b7} 1 worker, \
             2.0x sequential as predicted, cancelled"
        );
        let nothing = Report {
            units: 0,
            plan: None,
            gain: None,
            dropped: 0,
            ..report
        };
        assert_eq!(nothing.to_string(), "0 frames, cancelled");
    }

    #[test]
    fn a_farm_hands_out_units_and_a_pipeline_stages_of_steps() {
        let says = |structure| {
            let plan = report().plan.map(|p| Plan {
                structure,
                grain: 1,
                ..p
            });
            report().names.of(&plan.unwrap())
        };
        assert_eq!(
            says(&FARM),
            "farm \u{b7} fifo \u{b7} 1 frame \u{b7} 2 workers"
        );
        assert!(says(&PIPELINE).contains("1 step "));
        assert!(says(&BACKWARD).contains("1 row "));
    }

    #[test]
    fn programs_read_it_as_json() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["units"], 300);
        assert_eq!(json["plan"]["structure"], "tiled");
        assert_eq!(json["gain"]["measured"], true);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_that_of_a_process() {
        assert!(peak_resident().is_some_and(|bytes| (1 << 18..1 << 40).contains(&bytes)));
    }
}
