//! The server: a thread for each queue, and one that starts and stops the device.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use evener_runtime::stream::Waker;
use evener_runtime::{IoThreads, Pool, Runtime};
use rustix::process::configure_io_flusher_behavior;
use tracing::debug;

use super::device::Device;
use super::error::Error;
use super::queue::Queue;
use super::ring::{QueueRing, Slots};
use crate::serve::Site;

/// What the threads of queues are called.
const THREAD: &str = "evener-ublk";

/// Tells the system that this thread, and those it starts from now on, serve a disk: when memory is short, they are not
/// made to wait for what may have to be written to it first. Without the right to say so all goes on as it is.
pub fn serves_a_disk() {
    if let Err(error) = configure_io_flusher_behavior(true) {
        debug!(
            "the system is not told that this process serves a disk (PR_SET_IO_FLUSHER): {error}"
        );
    }
}

/// What threads tell the one that waits.
enum Event {
    /// A queue has come as far as it can by itself.
    Ready,
    /// A queue has ended.
    Ended(io::Result<()>),
    /// Enough.
    Cancelled,
}

/// Serves a device until it is cancelled, and removes it. `started` is called when the disk is there.
///
/// # Errors
/// The device cannot be started, or somebody else has removed it.
pub fn serve(
    site: &Site,
    runtime: &Runtime,
    mut device: Device,
    started: impl FnOnce(&Device),
) -> Result<(), Error> {
    let (sender, events) = channel();
    let bell = sender.clone();
    // Nobody listens any more if it cannot be sent.
    let ring: Waker = Arc::new(move || drop(bell.send(Event::Cancelled)));
    let _ring = site.cancel.on_cancel(ring);
    let mut host = Host {
        site,
        pool: runtime.pool(),
        sender,
        events,
        begun: !device.is_taken(),
    };
    let served = runtime.io_threads(|threads| host.run(threads, &mut device, started));
    // One that was to be taken over and was not stays for the next server.
    let deleted = match host.begun {
        true => device.delete(),
        false => Ok(()),
    };
    served.and(deleted)
}

struct Host<'a> {
    site: &'a Site,
    pool: &'a Pool,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// Whether the device is this server's, and has to be removed.
    begun: bool,
}

impl<'a> Host<'a> {
    fn run<'scope>(
        &mut self,
        threads: IoThreads<'scope, '_>,
        device: &mut Device,
        started: impl FnOnce(&Device),
    ) -> Result<(), Error>
    where
        'a: 'scope,
    {
        // Whatever can fail comes before a device is taken over, which is for good.
        let gates: Vec<Sender<Arc<File>>> = (0..device.queues())
            .map(|queue| self.queue(threads, queue, device.depth()))
            .collect::<Result<_, _>>()?;
        if !self.ready(device)? {
            return Ok(());
        }
        let Some(node) = device.node(&self.site.cancel)? else {
            return Ok(());
        };
        self.begun = true;
        for gate in gates {
            // A thread that is gone has told why.
            let _ = gate.send(Arc::clone(&node));
        }
        drop(node);
        let served = self.serve(device, started);
        served.and(device.stop())
    }

    fn serve(&self, device: &mut Device, started: impl FnOnce(&Device)) -> Result<(), Error> {
        if !self.ready(device)? {
            return Ok(());
        }
        device.start()?;
        started(device);
        loop {
            match self.events.recv() {
                Ok(Event::Ready) => {}
                Ok(Event::Cancelled) | Err(_) => return Ok(()),
                Ok(Event::Ended(how)) => return Err(ended(device, how)),
            }
        }
    }

    /// Waits until all queues are. `false`: cancelled.
    fn ready(&self, device: &Device) -> Result<bool, Error> {
        let mut left = device.queues();
        while left > 0 {
            match self.events.recv() {
                Ok(Event::Ready) => left -= 1,
                Ok(Event::Cancelled) | Err(_) => return Ok(false),
                Ok(Event::Ended(how)) => return Err(ended(device, how)),
            }
        }
        Ok(true)
    }

    /// Starts the thread of a queue, which waits for the device.
    fn queue<'scope>(
        &self,
        threads: IoThreads<'scope, '_>,
        queue: u16,
        depth: u16,
    ) -> Result<Sender<Arc<File>>, Error>
    where
        'a: 'scope,
    {
        let (gate, device) = channel();
        let (site, pool) = (self.site, self.pool);
        let mut voice = Voice {
            sender: self.sender.clone(),
            // What is said unless the thread comes to its end.
            last: Some(Err(io::Error::other("it panicked"))),
        };
        threads.start(THREAD, move || {
            let how = attend(site, pool, (queue, depth), &device, &voice.sender);
            voice.end(how);
        })?;
        Ok(gate)
    }
}

/// What the thread of a queue does.
fn attend(
    site: &Site,
    pool: &Pool,
    (queue, depth): (u16, u16),
    device: &Receiver<Arc<File>>,
    sender: &Sender<Event>,
) -> io::Result<()> {
    let ready = || drop(sender.send(Event::Ready));
    let ring = QueueRing::new(depth)?;
    ready();
    let Ok(device) = device.recv() else {
        return Ok(());
    };
    let slots = Slots::new(Arc::clone(&device), queue, depth)?;
    let mut queue = Queue::new((&site.store, pool, site.ahead), ring, slots, device, depth);
    queue.fetch()?;
    ready();
    queue.run()
}

/// Tells the end of a thread, whatever it is.
struct Voice {
    sender: Sender<Event>,
    last: Option<io::Result<()>>,
}

impl Voice {
    fn end(&mut self, how: io::Result<()>) {
        self.last = Some(how);
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        if let Some(last) = self.last.take() {
            let _ = self.sender.send(Event::Ended(last));
        }
    }
}

fn ended(device: &Device, how: io::Result<()>) -> Error {
    let why = match how {
        Ok(()) => "somebody else has removed it".into(),
        Err(error) => format!("a queue of it has failed: {error}"),
    };
    let id = device.id();
    Error::Ended { id, why }
}
