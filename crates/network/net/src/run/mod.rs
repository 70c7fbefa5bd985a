//! The loop of an engine: one thread that has a device, an engine and its applications.
//!
//! It turns: packets in, what applications ask for, what is due, packets out, events. When a turn finds nothing to do, it
//! goes on for a while, and then the thread sleeps until the device, an application, a deadline or a command wakes it.

mod commands;
mod wait;

use std::io;
use std::time::{Duration, Instant};

pub use commands::{Commands, Inbox, Snapshot, channel};

use crate::device::Device;
use crate::engine::{Config, Engine, SocketOptions};
use crate::server::{Applications, Pools};
use crate::time::Time;
use commands::Command;
use wait::{Source, Waiter};

/// Packets that are received in a turn.
const BATCH: usize = 64;
/// How often a thread that does not sleep looks whether applications are gone.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the resets at its end may wait for a device that is full.
const LAST: Duration = Duration::from_millis(500);
/// How long it sleeps when a device is full, or cannot say that there is something to receive.
const SHORT: Duration = Duration::from_micros(100);
/// After this time without work, memory that is not in use goes back to the system.
const TRIM_AFTER: Duration = Duration::from_secs(1);

/// How a loop runs.
#[derive(Clone, Debug)]
pub struct LoopOptions {
    /// The engine.
    pub engine: Config,
    /// What connections begin with.
    pub sockets: SocketOptions,
    /// How long it goes on without work before it sleeps.
    pub spin: Duration,
}

/// Turns until [`Commands::stop`]. Then peers are told that connections are over.
///
/// # Errors
/// The device is gone, or what the operating system says.
pub fn run(mut device: Box<dyn Device>, options: LoopOptions, inbox: Inbox) -> io::Result<()> {
    let applications = Applications::new(options.sockets);
    let capabilities = device.capabilities();
    let engine = Engine::new(options.engine, capabilities, applications.memory());
    let waiter = Waiter::new(device.readable(), inbox.wake())?;
    let polled = device.readable().is_none();
    let mut this = Loop {
        device: &mut *device,
        engine,
        applications,
        waiter,
        inbox: &inbox,
        began: Instant::now(),
        spin: options.spin,
        polled,
        full: false,
        trimmed: true,
        turns: 0,
        sleeps: 0,
    };
    this.run()
}

struct Loop<'a> {
    device: &'a mut dyn Device,
    engine: Engine<Pools>,
    applications: Applications,
    waiter: Waiter,
    inbox: &'a Inbox,
    began: Instant,
    spin: Duration,
    /// The device cannot say that there is something to receive.
    polled: bool,
    /// The device took no more.
    full: bool,
    trimmed: bool,
    turns: u64,
    sleeps: u64,
}

impl Loop<'_> {
    fn now(&self) -> Time {
        Time(self.began.elapsed().as_nanos() as u64)
    }

    fn run(&mut self) -> io::Result<()> {
        let mut busy_at = self.now();
        let mut looked_at = busy_at;
        loop {
            let now = self.now();
            self.turns += 1;
            let worked = self.turn(now)?;
            if self.inbox.is_waiting() && !self.obey(now) {
                return self.end();
            }
            if worked {
                busy_at = now;
                self.trimmed = false;
            }
            if now.since(looked_at) >= LOOK_EVERY {
                looked_at = now;
                self.wait(Some(Duration::ZERO))?;
            } else if !worked && now.since(busy_at) >= self.spin {
                self.sleep(busy_at)?;
                looked_at = self.now();
            } else if !worked {
                std::hint::spin_loop();
            }
        }
    }

    /// Resets all connections.
    fn end(&mut self) -> io::Result<()> {
        self.engine.reset_all();
        let until = self.now() + LAST;
        while self.engine.transmit(self.now(), self.device)? && self.now() < until {
            std::thread::sleep(SHORT);
        }
        Ok(())
    }

    /// Whether there was anything to do.
    fn turn(&mut self, now: Time) -> io::Result<bool> {
        let engine = &mut self.engine;
        let mut receive = |bytes: &[u8], offload| engine.receive(now, bytes, offload);
        let received = self.device.receive(BATCH, &mut receive)?;
        let asked = self.applications.poll(now, &mut self.engine);
        let due = self.engine.next_deadline() <= now;
        if due {
            self.engine.advance(now);
        }
        let events = self.deliver();
        self.full = self.engine.transmit(now, self.device)?;
        self.device.flush()?;
        let more = self.deliver();
        Ok(received > 0 || asked > 0 || due || events || more)
    }

    /// Tells applications what happened. Whether anything did.
    fn deliver(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.engine.next_event() {
            self.applications.deliver(&mut self.engine, event);
            any = true;
        }
        self.applications.wake();
        any
    }

    /// Sleeps until there is something to do.
    fn sleep(&mut self, busy_at: Time) -> io::Result<()> {
        let sleeps = self.device.before_wait() && self.applications.before_sleep();
        if sleeps {
            let now = self.now();
            let idle = now.since(busy_at);
            if !self.trimmed && idle >= TRIM_AFTER {
                self.applications.trim();
                self.trimmed = true;
            }
            let deadline = self.engine.next_deadline();
            let due = (deadline != Time::NEVER).then(|| deadline.since(now));
            let trim = (!self.trimmed).then(|| TRIM_AFTER.saturating_sub(idle));
            let short = (self.full || self.polled).then_some(SHORT);
            let timeout = [due, trim, short].into_iter().flatten().min();
            self.sleeps += 1;
            self.wait(timeout)?;
        }
        self.applications.after_sleep();
        Ok(())
    }

    /// Waits for what wakes the loop, and does what applications want by it.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let sources: Vec<Source> = self.waiter.wait(timeout)?.collect();
        let now = self.now();
        for source in sources {
            match source {
                Source::Other => {}
                Source::Socket(owner) => self.applications.rang(now, &mut self.engine, owner),
                Source::Process(owner) => self.applications.gone(now, &mut self.engine, owner),
                Source::Heir(heir) => self.applications.heir_rang(now, &mut self.engine, heir),
            }
        }
        Ok(())
    }

    /// Does what the thread is told. False to end.
    fn obey(&mut self, now: Time) -> bool {
        for command in self.inbox.take() {
            match command {
                Command::Attach(attached) => {
                    let Some(owner) = self.applications.add(attached) else {
                        tracing::warn!("an application is refused: there are too many");
                        continue;
                    };
                    let watched = self.applications.watched(owner);
                    let added = watched.map(|watched| self.waiter.add(owner, &watched));
                    if let Some(Err(error)) = added {
                        tracing::warn!("an application is cut off: {error}");
                        self.applications.gone(now, &mut self.engine, owner);
                    }
                }
                Command::Heir(heir) => {
                    if let Some(heir) = self.applications.add_heir(heir)
                        && let Some(socket) = self.applications.watched_heir(heir)
                        && let Err(error) = self.waiter.add_heir(heir, socket)
                    {
                        tracing::warn!("a child gets no sockets of its parent: {error}");
                        let engine = &mut self.engine;
                        self.applications.forget_heir(now, engine, heir);
                    }
                }
                // One that no longer waits for the answer needs none.
                Command::Inspect { flows, reply } => drop(reply.send(self.inspect(now, flows))),
                Command::Stop => return false,
            }
        }
        true
    }

    fn inspect(&self, now: Time, flows: bool) -> Snapshot {
        let all = self.engine.connections();
        let mut device = Vec::new();
        self.device.counts(&mut device);
        Snapshot {
            uptime: now.since(Time::ZERO),
            counters: *self.engine.counters(),
            cache: self.engine.cache(),
            applications: self.applications.count(),
            turns: self.turns,
            sleeps: self.sleeps,
            device,
            flows: match flows {
                true => all
                    .map(|(_, local, remote, info)| (local, remote, info))
                    .collect(),
                false => Vec::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::device::{Capabilities, Medium};
    use crate::layout::{Layout, Sizes};
    use crate::packet::{Offload, Outgoing};
    use crate::server::Attached;

    struct Nothing;

    impl Device for Nothing {
        fn capabilities(&self) -> Capabilities {
            Capabilities {
                medium: Medium::Ip,
                mtu: 1500,
                tcp_segments: 0,
                udp_segments: 0,
                checksums: false,
            }
        }

        fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
            Ok(0)
        }

        fn send(&mut self, _: Outgoing<'_>) -> io::Result<bool> {
            Ok(true)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn readable(&self) -> Option<BorrowedFd<'_>> {
            None
        }
    }

    #[test]
    fn an_application_that_cannot_be_watched_is_cut_off_and_no_other() {
        let layout = Layout::new(Sizes {
            connections: 64,
            send: 4096,
            receive: 4096,
        })
        .unwrap();
        let (commands, inbox) = channel().unwrap();
        let options = LoopOptions {
            engine: Config::default(),
            sockets: SocketOptions::default(),
            spin: Duration::ZERO,
        };
        let thread = std::thread::spawn(move || run(Box::new(Nothing), options, inbox));
        let [sound, other] = [(), ()].map(|()| UnixStream::pair().unwrap());
        assert!(commands.attach(Attached::new(sound.0, layout).unwrap()));
        let broken = Attached::that_cannot_be_watched(other.0, layout);
        assert!(commands.attach(broken));
        assert_eq!(commands.inspect(false).unwrap().applications, 1);
        commands.stop();
        thread.join().unwrap().unwrap();
    }
}
