//! The server: one thread starts and stops the device, and each queue has a thread.

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
use super::ring::{Descriptors, QueueRing};
use crate::serve::ServeContext;

/// The name of the threads of queues.
const THREAD: &str = "evener-ublk";

/// Marks this thread, and those that it starts from now on, as an I/O flusher: when memory is short, the kernel does
/// not make them wait for writes to the disk that they serve. It needs a privilege, and does nothing without it.
pub fn mark_io_flusher() {
    if let Err(error) = configure_io_flusher_behavior(true) {
        debug!(
            "this process cannot be marked as one that serves a disk (PR_SET_IO_FLUSHER): {error}"
        );
    }
}

/// What the thread that starts and stops the device waits for.
enum Event {
    /// A queue is ready for the next step.
    Ready,
    /// A queue has ended.
    Ended(io::Result<()>),
    /// The server is to end.
    Cancelled,
}

/// Serves a device until it is cancelled, and removes it. `started` is called when the disk exists.
///
/// # Errors
/// The device cannot be started, or was removed by another process.
pub fn serve(
    context: &ServeContext,
    runtime: &Runtime,
    mut device: Device,
    started: impl FnOnce(&Device),
) -> Result<(), Error> {
    let (sender, events) = channel();
    let on_cancel = sender.clone();
    // If it cannot be sent, the server has ended.
    let waker: Waker = Arc::new(move || drop(on_cancel.send(Event::Cancelled)));
    let _waker = context.cancel.on_cancel(waker);
    let mut server = Server {
        context,
        pool: runtime.pool(),
        sender,
        events,
        owned: !device.is_recovered(),
    };
    let served = runtime.io_threads(|threads| server.run(threads, &mut device, started));
    // A device that was not recovered stays for the next server.
    let deleted = match server.owned {
        true => device.delete(),
        false => Ok(()),
    };
    served.and(deleted)
}

struct Server<'a> {
    context: &'a ServeContext,
    pool: &'a Pool,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// Whether this server has to remove the device.
    owned: bool,
}

impl<'a> Server<'a> {
    fn run<'scope>(
        &mut self,
        threads: IoThreads<'scope, '_>,
        device: &mut Device,
        started: impl FnOnce(&Device),
    ) -> Result<(), Error>
    where
        'a: 'scope,
    {
        // What can fail comes before the recovery of a device, which cannot be undone.
        let node_senders: Vec<Sender<Arc<File>>> = (0..device.queues())
            .map(|queue| self.queue(threads, queue, device.depth()))
            .collect::<Result<_, _>>()?;
        if !self.ready(device)? {
            return Ok(());
        }
        let Some(node) = device.node(&self.context.cancel)? else {
            return Ok(());
        };
        self.owned = true;
        for node_sender in node_senders {
            // A thread that has ended has sent why.
            let _ = node_sender.send(Arc::clone(&node));
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

    /// Waits until all queues are ready. `false`: cancelled.
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
        let (node_sender, device) = channel();
        let (context, pool) = (self.context, self.pool);
        let mut notifier = EndNotifier {
            sender: self.sender.clone(),
            // What is sent if the thread panics.
            result: Some(Err(io::Error::other("it panicked"))),
        };
        threads.start(THREAD, move || {
            let how = run_queue(context, pool, (queue, depth), &device, &notifier.sender);
            notifier.end(how);
        })?;
        Ok(node_sender)
    }
}

/// Runs on the thread of a queue.
fn run_queue(
    context: &ServeContext,
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
    let descriptors = Descriptors::new(Arc::clone(&device), queue, depth)?;
    let mut queue = Queue::new(
        (&context.store, pool, context.read_ahead),
        ring,
        descriptors,
        device,
        depth,
    );
    queue.fetch()?;
    ready();
    queue.run()
}

/// Sends the end of a thread, whether it returns or panics.
struct EndNotifier {
    sender: Sender<Event>,
    result: Option<io::Result<()>>,
}

impl EndNotifier {
    fn end(&mut self, how: io::Result<()>) {
        self.result = Some(how);
    }
}

impl Drop for EndNotifier {
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            let _ = self.sender.send(Event::Ended(result));
        }
    }
}

fn ended(device: &Device, how: io::Result<()>) -> Error {
    let why = match how {
        Ok(()) => "another process has removed it".into(),
        Err(error) => format!("a queue failed: {error}"),
    };
    let id = device.id();
    Error::Ended { id, why }
}
