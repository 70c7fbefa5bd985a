//! Connections that come to a listener, and the threads that accept them.

use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::calls::Outcome;
use super::run::Supervisor;
use super::socket::{Accept, Listening, Socket, State, Stream, number_of, pair};
use super::sys::{Place, Reply};
use crate::Connection;
use crate::program::{errno, sockaddr};

/// Bytes that tell the program of connections, at most.
const MARKS: usize = 64;

impl Listening {
    /// Takes connections from the stack. False if the stack is gone.
    fn gather(&mut self) -> bool {
        loop {
            match self.listener.accept() {
                Ok(connection) => self.pending.push_back(connection),
                Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
            }
        }
    }

    /// Makes the program's end readable, again for each connection that is new: some wait for a change.
    fn mark(&mut self, near: BorrowedFd<'_>, new: usize) {
        let most = MARKS.saturating_sub(self.marks).min(new);
        for _ in 0..most {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            self.marks += send(near, &[1], flags).unwrap_or(0);
        }
    }

    /// Makes the program's end not readable any more if nothing is pending.
    fn unmark(&mut self, name: u64, accept: &Accept) {
        if !self.pending.is_empty() || self.marks == 0 {
            return;
        }
        // It is the program that would read.
        if let Ok(far) = accept.caller.socket(accept.fd)
            && number_of(far.as_fd()).is_ok_and(|number| number == name)
        {
            let mut bytes = [0; MARKS];
            let _ = recv(&far, &mut bytes[..self.marks], RecvFlags::DONTWAIT);
            self.marks = 0;
        }
    }
}

impl Supervisor {
    /// Answers `accept`, or remembers that it waits.
    pub fn accept(&mut self, name: u64, accept: Accept) -> Outcome {
        let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
        let hung_up = socket.ready.hung_up;
        let State::Listening(listening) = &mut socket.state else {
            return Err(libc::EINVAL);
        };
        if hung_up {
            return Err(libc::EINVAL);
        }
        let before = listening.pending.len();
        let is_there = listening.gather();
        let Some(connection) = listening.pending.pop_front() else {
            listening.unmark(name, &accept);
            // Once: a program that tries again sleeps from then on.
            if !is_there && !std::mem::replace(&mut listening.told, true) {
                return Err(libc::ENETDOWN);
            }
            if accept.caller.flags(accept.fd).nonblocking {
                return Err(libc::EAGAIN);
            }
            // A signal may have ended an earlier call of the thread.
            (listening.waiting).retain(|other| other.caller.0 != accept.caller.0);
            listening.waiting.push_back(accept);
            return Ok(None);
        };
        let new = listening.pending.len().saturating_sub(before);
        listening.mark(socket.near.as_fd(), new);
        self.give(name, &accept, connection)
    }

    /// Gives a connection to a thread that accepts it. One that it cannot have is pending again.
    fn give(&mut self, name: u64, accept: &Accept, connection: Connection) -> Outcome {
        // Before the program goes on and looks.
        if let Some((listening, _)) = self.listening(name) {
            listening.unmark(name, accept);
        }
        let Err((connection, number)) = self.give_new(name, accept, connection) else {
            return Ok(None);
        };
        let (listening, near) = self.listening(name).ok_or(libc::EBADF)?;
        listening.pending.push_front(connection);
        if listening.marks == 0 {
            listening.mark(near, 1);
        }
        match number {
            // The call was given up.
            libc::ENOENT => Ok(None),
            number => Err(number),
        }
    }

    /// A listener, and this process's end of its pair.
    fn listening(&mut self, name: u64) -> Option<(&mut Listening, BorrowedFd<'_>)> {
        let socket = self.sockets.get_mut(&name)?;
        match &mut socket.state {
            State::Listening(listening) => Some((listening, socket.near.as_fd())),
            _ => None,
        }
    }

    fn give_new(
        &mut self,
        name: u64,
        accept: &Accept,
        connection: Connection,
    ) -> Result<(), (Connection, i32)> {
        let Some(of) = self.sockets.get(&name) else {
            return Err((connection, libc::EBADF));
        };
        let (kernel, six) = (Rc::clone(&of.kernel), of.six);
        let made = pair(accept.flags & libc::SOCK_NONBLOCK != 0)
            .and_then(|(near, far)| Ok((near, number_of(far.as_fd())?, far)));
        let (near, new, far) = match made {
            Ok(made) => made,
            Err(error) => return Err((connection, errno(&error))),
        };
        let mut socket = Socket::new(near, kernel, six, (accept.caller, -1));
        socket.equip(&connection);
        let [at, len_at] = accept.address;
        if at != 0
            && let Ok(peer) = connection.peer_addr()
        {
            let address = sockaddr::encode(peer, six);
            if let Err(number) = accept.caller.give(&address, at, len_at, true) {
                return Err((connection, number));
            }
        }
        let close_on_exec = accept.flags & libc::SOCK_CLOEXEC != 0;
        let added = self.watch(&socket, new).and_then(|()| {
            (self.notifier).add(accept.id, far.as_fd(), Place::Returned, close_on_exec)
        });
        match added {
            Ok(fd) => socket.seen.1 = fd,
            Err(error) => return Err((connection, errno(&error))),
        }
        let stream = Stream::new(connection, true);
        self.poller.add(&stream.connection, new, stream.interest);
        socket.state = State::Stream(Box::new(stream));
        self.sockets.insert(new, socket);
        Ok(())
    }

    /// Takes connections from the stack, and gives them to threads that wait.
    pub fn gather(&mut self, name: u64) {
        let Some((listening, _)) = self.listening(name) else {
            return;
        };
        let before = listening.pending.len();
        if !listening.gather() {
            if listening.told {
                return;
            }
            let waiting = std::mem::take(&mut listening.waiting);
            listening.told = !waiting.is_empty();
            for accept in waiting {
                let reply = Reply::Error(libc::ENETDOWN);
                self.notifier.reply(accept.id, reply);
            }
            if let Some(socket) = self.sockets.get(&name)
                && let State::Listening(listening) = &socket.state
            {
                self.poller.remove(&listening.listener);
            }
            // A program that waits with `poll` finds it out from `accept`.
            if let Some((listening, near)) = self.listening(name)
                && !listening.told
                && listening.marks == 0
            {
                listening.mark(near, 1);
            }
            return;
        }
        while let Some((accept, connection)) = self.next(name) {
            if let Err(number) = self.give(name, &accept, connection) {
                self.notifier.reply(accept.id, Reply::Error(number));
            }
        }
        if let Some((listening, near)) = self.listening(name) {
            let new = listening.pending.len().saturating_sub(before);
            listening.mark(near, new);
        }
    }

    /// A thread that waits and what it can have.
    fn next(&mut self, name: u64) -> Option<(Accept, Connection)> {
        let (listening, _) = self.listening(name)?;
        if listening.pending.is_empty() {
            return None;
        }
        let accept = listening.waiting.pop_front()?;
        Some((accept, listening.pending.pop_front()?))
    }
}
