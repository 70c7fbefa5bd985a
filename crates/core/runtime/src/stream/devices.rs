//! The devices of a stream: they are opened in the background, and then their lanes compute units.
//!
//! Opening a driver, compiling kernels and allocating memory take longer than many streams. So a thread opens devices
//! after a stream has run for a while, and the stream continues meanwhile. Devices that compute whole units are
//! tested before they take part (`trial.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::erased::{AnyService, Unit};
use super::lane::BATCH;
use super::report::DeviceUse;
use super::share::Pace;
use super::trial::{Trial, Tried};
use crate::buffer;
use crate::device::{Device, DeviceError, Lane, MOST_LANES, OnDevice, Program, UnitLane};
use crate::runtime::Runtime;
use crate::service::{Service, Shape};
use crate::structure::{Flow, Structure};
use crate::sync::lock;

/// Devices are opened when a stream has gone on for so long, since shorter ones are over before.
const OPENED_AFTER: Duration = Duration::from_millis(50);

/// The devices of a stream.
pub(super) struct Devices<'a> {
    runtime: &'a Runtime,
    /// How the service's units are computed; `None` where they cannot be, or there is no device.
    work: Option<&'a dyn OnDevice<Unit, Unit>>,
    opening: Option<Arc<Opening>>,
    open: Vec<Arc<OpenDevice>>,
    lanes: Vec<OpenLane<'a>>,
    /// Where they compute whole units, which they can be tried with beside the stream.
    farm: Option<&'static Structure>,
    /// The lanes of each that is to be tried.
    untried: Vec<Vec<OpenLane<'a>>>,
    trying: Vec<Arc<OpenDevice>>,
    tried: Arc<Tried<'a>>,
    /// How fast workers were in the last farm, which says what a device can add.
    pub(super) worker_paces: Vec<Pace>,
}

/// Devices while a thread opens them.
#[derive(Default)]
pub(crate) struct Opening {
    found: Mutex<Option<Vec<Opened>>>,
    done: Condvar,
}

/// A device and its lanes, or why it has none.
type Opened = (Arc<dyn Device>, Result<Vec<Box<dyn Lane>>, DeviceError>);

/// A device that computes units of this stream.
pub(super) struct OpenDevice {
    pub(super) name: String,
    /// Why it is not used any more.
    lost: Mutex<Option<DeviceError>>,
    is_lost: AtomicBool,
    /// Its pace in the first unit, once that was found right. Only one lane runs before.
    pub(super) verified: Mutex<Option<Pace>>,
    /// Units that it computed, and nanoseconds that its lanes were busy.
    pub(super) units: AtomicU64,
    pub(super) busy_ns: AtomicU64,
}

/// Devices that may come or go while units flow.
pub(super) struct News {
    /// When they are to be opened.
    due: Option<Instant>,
    opening: Option<Arc<Opening>>,
    trying: Vec<Arc<OpenDevice>>,
    used: Vec<Arc<OpenDevice>>,
}

impl News {
    /// Whether one has.
    pub(super) fn is_there(&self) -> bool {
        let opened = |opening: &Arc<Opening>| lock(&opening.found).is_some();
        self.due.is_some_and(|due| Instant::now() > due)
            || self.opening.as_ref().is_some_and(opened)
            || self.trying.iter().any(|device| !device.is_new())
            || self.used.iter().any(|device| device.is_lost())
    }
}

/// A lane with what the service keeps on it.
pub(super) struct OpenLane<'a> {
    pub(super) device: Arc<OpenDevice>,
    pub(super) work: &'a dyn OnDevice<Unit, Unit>,
    pub(super) units: Box<dyn UnitLane<Unit, Unit> + 'a>,
    /// Units of the next batch.
    pub(super) batch: usize,
    /// Units computed since one was compared with a core's, and after how many one is.
    pub(super) unchecked: u64,
    pub(super) check_every: u64,
    /// How fast it was last.
    pub(super) pace: Option<Pace>,
    /// A result to compare with.
    pub(super) spare: Option<Unit>,
}

impl OpenDevice {
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Whether it has not computed its first unit.
    fn is_new(&self) -> bool {
        !self.is_lost() && lock(&self.verified).is_none()
    }

    /// Units a second by its first unit, of which it takes at most so many at once. A small unit alone says little: most
    /// of its time is the way there and back.
    fn rate(&self, most_units: usize) -> Option<f64> {
        let took = Duration::from_nanos((*lock(&self.verified))?.took);
        (most_units == 1 || took >= BATCH.start).then(|| took.as_secs_f64().recip())
    }

    /// Uses the device no more.
    pub(super) fn give_up(&self, error: DeviceError) {
        let mut lost = lock(&self.lost);
        if lost.is_none() {
            warn!("{error}; its units are computed by the cores");
            *lost = Some(error);
        }
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Why it was given up, if it was.
    pub(super) fn why_lost(&self) -> Option<String> {
        lock(&self.lost).as_ref().map(ToString::to_string)
    }
}

impl Opening {
    fn put(&self, found: Vec<Opened>) {
        *lock(&self.found) = Some(found);
        self.done.notify_all();
    }

    /// There will be none.
    pub(crate) fn give_up(&self) {
        self.put(Vec::new());
    }
}

/// Opens devices, with lanes for a program: what a thread of the runtime does.
pub(crate) fn open(devices: &[Arc<dyn Device>], program: &'static Program, opening: &Opening) {
    let mut left = MOST_LANES;
    let opened = devices.iter().map(|device| {
        let most = (device.info().lanes as usize).clamp(1, left.max(1));
        let lanes = lanes(&**device, program, most);
        left = left.saturating_sub(lanes.as_ref().map_or(0, Vec::len));
        (Arc::clone(device), lanes)
    });
    let opened = opened.collect();
    opening.put(opened);
}

/// As many lanes as the device has room for, at most `most`.
fn lanes(
    device: &dyn Device,
    program: &'static Program,
    most: usize,
) -> Result<Vec<Box<dyn Lane>>, DeviceError> {
    let info = device.info();
    if !info.exact.covers(&program.needs) {
        return Err(DeviceError::Program {
            device: info.name.clone(),
            program: program.name,
            why: "its arithmetic is not that of the cores".into(),
        });
    }
    let begin = Instant::now();
    let mut lanes = vec![device.lane(program)?];
    if let Some(pages) = device.page_lock() {
        buffer::lock_for(&pages);
    }
    while lanes.len() < most
        && let Ok(lane) = device.lane(program)
    {
        lanes.push(lane);
    }
    info!(
        "{} has {} lanes, opened in {:.0} ms",
        info.name,
        lanes.len(),
        begin.elapsed().as_secs_f64() * 1e3
    );
    Ok(lanes)
}

impl<'a> Devices<'a> {
    /// Those of a runtime for a service. They are `wanted` where a structure may run in which they take part.
    pub(super) fn new(
        runtime: &'a Runtime,
        service: &'a AnyService,
        shapes: &[Shape],
        wanted: bool,
    ) -> Devices<'a> {
        Devices {
            runtime,
            work: service.device().filter(|_| wanted && runtime.has_devices()),
            opening: None,
            open: Vec::new(),
            lanes: Vec::new(),
            farm: shapes
                .iter()
                .map(|shape| shape.structure)
                .find(|structure| structure.flow == Flow::Farm),
            untried: Vec::new(),
            trying: Vec::new(),
            tried: Arc::default(),
            worker_paces: Vec::new(),
        }
    }

    /// Opens them now and waits. How many there are. The first unit of each is one of the stream's.
    pub(super) fn open_now(&mut self) -> u32 {
        if self.work.is_some() && self.opening.is_none() {
            self.start();
        }
        self.settle(true);
        self.lanes.extend(self.untried.drain(..).flatten());
        self.count()
    }

    /// Begins to open them if the stream has gone on for long enough. Whether their number has changed.
    pub(super) fn poll(&mut self, elapsed: Duration) -> bool {
        let before = self.count();
        if self.work.is_some() && self.opening.is_none() && elapsed > OPENED_AFTER {
            self.start();
        }
        self.settle(false);
        {
            let mut tried = lock(&self.tried);
            self.lanes.append(&mut tried);
            self.trying.retain(|device| device.is_new());
        }
        self.lanes.retain(|lane| !lane.device.is_lost());
        self.count() != before
    }

    /// What tells that [`Devices::poll`] finds something new, in a stream that began at `began`.
    pub(super) fn news(&self, began: Instant) -> News {
        let unopened = self.work.is_some() && self.opening.is_none();
        News {
            due: unopened.then(|| began + OPENED_AFTER),
            opening: self.opening.clone().filter(|_| self.open.is_empty()),
            trying: self.trying.clone(),
            used: self.lanes.iter().map(|l| Arc::clone(&l.device)).collect(),
        }
    }

    /// What a core computes a unit under to try those that were opened, if there are any.
    pub(super) fn untried(&self) -> Option<&'static Structure> {
        self.farm.filter(|_| !self.untried.is_empty())
    }

    /// Their trial, in a stream that is expected to go on `until` then, if that is known.
    pub(super) fn trial(&mut self, until: Option<Instant>) -> Option<Trial<'a>> {
        let structure = self.untried()?;
        let devices = std::mem::take(&mut self.untried);
        let new = devices.iter().map(|lanes| Arc::clone(&lanes[0].device));
        self.trying.extend(new);
        Some(Trial {
            devices,
            structure,
            until,
            tried: Arc::clone(&self.tried),
        })
    }

    fn start(&mut self) {
        if let Some(work) = self.work {
            let opening = Arc::new(Opening::default());
            self.runtime.open_devices(work.program(), &opening);
            self.opening = Some(opening);
        }
    }

    /// Takes what was opened.
    fn settle(&mut self, wait: bool) {
        let (Some(work), Some(opening)) = (self.work, &self.opening) else {
            return;
        };
        let mut found = lock(&opening.found);
        while wait && found.is_none() && self.open.is_empty() {
            found = opening
                .done
                .wait(found)
                .unwrap_or_else(PoisonError::into_inner);
        }
        for (device, lanes) in found.take().into_iter().flatten() {
            let open = Arc::new(OpenDevice {
                name: device.info().name.clone(),
                lost: Mutex::new(None),
                is_lost: AtomicBool::new(false),
                verified: Mutex::new(None),
                units: AtomicU64::new(0),
                busy_ns: AtomicU64::new(0),
            });
            let lane = |units| OpenLane {
                device: Arc::clone(&open),
                work,
                units,
                batch: 1,
                unchecked: 0,
                check_every: self.runtime.device_checks(),
                pace: None,
                spare: None,
            };
            match lanes.and_then(|lanes| begin(work, lanes)) {
                Ok(lanes) if self.farm.is_some() => {
                    self.untried.push(lanes.into_iter().map(lane).collect());
                }
                Ok(lanes) => self.lanes.extend(lanes.into_iter().map(lane)),
                Err(error) => open.give_up(error),
            }
            self.open.push(open);
        }
    }

    /// The lanes of each device that computes.
    fn by_device(&self) -> impl Iterator<Item = &[OpenLane<'a>]> {
        self.lanes
            .chunk_by(|one, next| Arc::ptr_eq(&one.device, &next.device))
    }

    /// Devices that compute.
    pub(super) fn count(&self) -> u32 {
        self.by_device().count() as u32
    }

    /// Units a second that they compute together, where their first units say that.
    pub(super) fn rate(&self) -> Option<f64> {
        let most_units = self.work.filter(|_| self.farm.is_some())?.most_units();
        let rates = self
            .by_device()
            .map(|lanes| lanes[0].device.rate(most_units));
        rates.sum()
    }

    /// Takes the lanes of the first `devices` devices, until they are put back.
    pub(super) fn take_lanes(&mut self, devices: u32) -> Vec<OpenLane<'a>> {
        let taken = self.by_device().take(devices as usize);
        let end = taken.map(<[_]>::len).sum::<usize>();
        self.lanes.drain(..end).collect()
    }

    /// Takes lanes back.
    pub(super) fn put_back(&mut self, lanes: Vec<OpenLane<'a>>) {
        self.lanes.splice(..0, lanes);
    }

    /// Units for the lanes of the first `devices` devices: those in work, and as many that wait for earlier ones.
    pub(super) fn units_inside(&self, devices: u32) -> usize {
        let most = self.work.map_or(0, OnDevice::most_units);
        if devices == 0 {
            0
        } else {
            2 * self.lanes.len() * most
        }
    }

    /// The same for as many lanes as there can be.
    pub(super) fn most_units_inside(&self) -> usize {
        2 * MOST_LANES * self.work.map_or(0, OnDevice::most_units)
    }

    /// What each device did, for the report.
    pub(super) fn uses(&self) -> Vec<DeviceUse> {
        let of = |device: &Arc<OpenDevice>| DeviceUse {
            name: device.name.clone(),
            units: device.units.load(Ordering::Relaxed),
            busy_s: device.busy_ns.load(Ordering::Relaxed) as f64 * 1e-9,
            lost: device.why_lost(),
        };
        self.open.iter().map(of).collect()
    }
}

/// Has the service begin on lanes. With too little memory for all there are fewer.
fn begin<'a, I, O>(
    work: &'a dyn OnDevice<I, O>,
    lanes: Vec<Box<dyn Lane>>,
) -> Result<Vec<Box<dyn UnitLane<I, O> + 'a>>, DeviceError> {
    let mut begun = Vec::new();
    for lane in lanes {
        match work.begin(lane) {
            Ok(lane) => begun.push(lane),
            Err(DeviceError::Memory { .. }) if !begun.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(begun)
}
