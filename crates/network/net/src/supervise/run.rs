//! The loop: what the program calls for, what the stack has, what there is to copy.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, waitid};

use super::Ending;
use super::copy::{After, copy};
use super::registered::Registered;
use super::remains::Remains;
use super::socket::{Socket, State, number_of};
use super::sys::{Errno, Notifier, Reply, Signals};
use crate::client::Readiness;
use crate::program::Places;
use crate::{Poller, Stack};

/// The names of what is no socket of a program.
const CALLS: u64 = u64::MAX;
const STACK: u64 = u64::MAX - 1;
const SIGNALS: u64 = u64::MAX - 2;
const CHILD: u64 = u64::MAX - 3;
/// How long what the program has written may take to reach the stack when all of its processes are gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Events that are taken at a time.
const EVENTS: usize = 64;

/// What is heard of a pair: changes.
const PAIR: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// What stands between a program and a stack.
pub struct Supervisor {
    pub notifier: Notifier,
    pub stack: Stack,
    pub poller: Poller,
    pub places: Places,
    /// By the number of the program's end.
    pub sockets: HashMap<u64, Socket>,
    pub remains: Remains,
    pub registered: Registered,
    epoll: OwnedFd,
    /// Those that have more to do.
    again: Vec<u64>,
    /// No process is left whose calls are heard of, since when.
    alone: Option<Instant>,
}

impl Supervisor {
    /// Between a stack and the program whose calls are heard of.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(notifier: Notifier, stack: Stack, places: Places) -> io::Result<Supervisor> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let poller = stack.poller()?;
        for (fd, name) in [(notifier.as_fd(), CALLS), (poller.as_fd(), STACK)] {
            epoll::add(&epoll, fd, EventData::new_u64(name), EventFlags::IN)?;
        }
        Ok(Supervisor {
            notifier,
            stack,
            poller,
            places,
            sockets: HashMap::new(),
            remains: Remains::default(),
            registered: Registered::default(),
            epoll,
            again: Vec::new(),
            alone: None,
        })
    }

    /// Serves the program, and its children, until all have ended. Returns how the program did.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn run(mut self, child: Pid, signals: &Signals) -> io::Result<Ending> {
        let process = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
        for (fd, name) in [(signals.as_fd(), SIGNALS), (process.as_fd(), CHILD)] {
            epoll::add(&self.epoll, fd, EventData::new_u64(name), EventFlags::IN)?;
        }
        let mut ending = None;
        let mut news = Vec::new();
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let mut idle = self.serve_stack(&mut news);
            for name in std::mem::take(&mut self.again) {
                idle = false;
                self.attend(name);
            }
            if let (Some(ending), Some(since)) = (ending, self.alone)
                && (self.sockets.is_empty() || since.elapsed() > PATIENCE)
            {
                return Ok(ending);
            }
            self.wait(idle, &mut events)?;
            for event in events.drain(..) {
                match event.data.u64() {
                    CALLS => self.hear(event.flags),
                    STACK => {}
                    SIGNALS => {
                        while let Some(taken) = signals.next() {
                            match ending {
                                // A terminal sends it to the program, too.
                                None if taken.by_kernel => {}
                                None => pass_on(child, taken.signal),
                                Some(ending) => return Ok(ending),
                            }
                        }
                    }
                    CHILD => {
                        ending = Some(ended(&process)?);
                        epoll::delete(&self.epoll, &process)?;
                    }
                    name => self.pair_changed(name, event.flags),
                }
            }
        }
    }

    /// Waits for events, unless there are some or there is more to do.
    fn wait(&mut self, idle: bool, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let now = rustix::event::Timespec::default();
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, Some(&now)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // What the stack has rung before it was asked to says nothing.
        events.retain(|event| event.data.u64() != STACK);
        if !events.is_empty() || !idle {
            return Ok(());
        }
        // A stack that is gone says nothing any more.
        if self.stack.is_gone() {
            let _ = epoll::delete(&self.epoll, &self.poller);
        } else if !self.poller.arm() {
            return Ok(());
        }
        let limit = self
            .alone
            .map(|since| PATIENCE.saturating_sub(since.elapsed()));
        let limit = limit.and_then(|limit| rustix::event::Timespec::try_from(limit).ok());
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the stack had nothing new.
    fn serve_stack(&mut self, news: &mut Vec<Readiness>) -> bool {
        // A stack that is gone is told by each of its connections.
        let _ = self.poller.wait(news, Some(Duration::ZERO));
        for news in news.iter() {
            self.attend(news.token);
        }
        news.is_empty()
    }

    fn hear(&mut self, flags: EventFlags) {
        if flags.contains(EventFlags::HUP) {
            self.alone = Some(Instant::now());
            let _ = epoll::delete(&self.epoll, &self.notifier);
        }
        if !flags.contains(EventFlags::IN) {
            return;
        }
        // A call that was given up meanwhile is none.
        let Ok(call) = self.notifier.receive() else {
            return;
        };
        match self.answer(&call) {
            Ok(Some(reply)) => self.notifier.reply(call.id, reply),
            Ok(None) => {}
            Err(number) => self.notifier.reply(call.id, Reply::Error(number)),
        }
    }

    /// Hears of changes of this process's end of a pair.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn watch(&self, socket: &Socket, name: u64) -> io::Result<()> {
        let name = EventData::new_u64(name);
        Ok(epoll::add(&self.epoll, &socket.near, name, PAIR)?)
    }

    fn pair_changed(&mut self, name: u64, flags: EventFlags) {
        let Some(socket) = self.sockets.get_mut(&name) else {
            return;
        };
        if let State::Failed { fresh, .. } = &mut socket.state
            && std::mem::replace(fresh, false)
        {
            return;
        }
        let ready = &mut socket.ready;
        ready.hung_up |= flags.intersects(EventFlags::HUP | EventFlags::ERR);
        ready.readable |= ready.hung_up || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        ready.writable |= flags.contains(EventFlags::OUT);
        self.attend(name);
    }

    /// Does what there is to do for a socket.
    fn attend(&mut self, name: u64) {
        let Some(socket) = self.sockets.get_mut(&name) else {
            return;
        };
        let hung_up = socket.ready.hung_up;
        match &mut socket.state {
            State::Listening(listening) if hung_up => {
                for accept in listening.waiting.drain(..) {
                    self.notifier.reply(accept.id, Reply::Error(libc::EINVAL));
                }
                self.sockets.remove(&name);
            }
            State::Listening(_) => self.gather(name),
            State::Stream(stream) if !stream.connected && !hung_up => {
                let progress = stream.connection.link().progress();
                match (progress.connected, progress.closed) {
                    (true, _) => self.connected(name),
                    (false, true) => self.not_connected(name, progress.error),
                    (false, false) => {}
                }
            }
            State::Stream(stream) if stream.connected => self.copy(name),
            _ if hung_up => self.close(name),
            _ => {}
        }
    }

    fn connected(&mut self, name: u64) {
        if let Some(socket) = self.sockets.get_mut(&name)
            && let State::Stream(stream) = &mut socket.state
        {
            stream.connected = true;
            stream.told |= !stream.waiting.is_empty();
            for (_, id) in stream.waiting.drain(..) {
                self.notifier.reply(id, Reply::Value(0));
            }
            // The program may wait for that without sending anything.
            socket.ready.readable = true;
        }
        self.copy(name);
    }

    fn not_connected(&mut self, name: u64, error: Errno) {
        let error = if error == 0 {
            libc::ECONNABORTED
        } else {
            error
        };
        let Some(socket) = self.sockets.get_mut(&name) else {
            return;
        };
        let State::Stream(stream) = &mut socket.state else {
            return;
        };
        if stream.waiting.is_empty() {
            socket.fail(error);
            // Both directions are ended, which is told as if the program had closed it. Now it is told again, once.
            let _ = epoll::modify(&self.epoll, &socket.near, EventData::new_u64(name), PAIR);
            return;
        }
        for (_, id) in stream.waiting.drain(..) {
            self.notifier.reply(id, Reply::Error(error));
        }
        socket.state = State::Idle;
    }

    fn copy(&mut self, name: u64) {
        let Some(socket) = self.sockets.get_mut(&name) else {
            return;
        };
        let State::Stream(stream) = &mut socket.state else {
            return;
        };
        let poller = (&self.poller, name);
        match copy(stream, &socket.near, &mut socket.ready, poller) {
            After::Waits => {}
            After::More => self.again.push(name),
            After::Closed => self.close(name),
            After::Broken(_) => self.reset(name),
        }
    }

    /// The program has closed it.
    fn close(&mut self, name: u64) {
        let Some(socket) = self.sockets.remove(&name) else {
            return;
        };
        if let (true, Some(link)) = (socket.resets, socket.link()) {
            link.abort_at_end();
        }
    }

    /// Lets the program's end say that the connection was reset.
    fn reset(&mut self, name: u64) {
        let Some(socket) = self.sockets.remove(&name) else {
            return;
        };
        if let Some(local) = socket.local() {
            self.remains.add(name, local, socket.six);
        }
        // It says so if the other end is closed before all is read that was sent to it.
        let (caller, fd) = socket.seen;
        if let Ok(far) = caller.socket(fd)
            && number_of(far.as_fd()).is_ok_and(|number| number == name)
        {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let _ = rustix::net::send(&far, &[0], flags);
        }
    }
}

fn pass_on(child: Pid, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        // It may have ended just now.
        let _ = rustix::process::kill_process(child, signal);
    }
}

fn ended(process: &OwnedFd) -> io::Result<Ending> {
    let status = waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED)?;
    let exit = status.as_ref().and_then(|status| status.exit_status());
    let signal = status
        .as_ref()
        .and_then(|status| status.terminating_signal());
    Ok(match (exit, signal) {
        (Some(code), _) => Ending::Exit(code as u8),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Exit(1),
    })
}
