//! A timer that a thread can wait for beside a socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::time::Time;

pub(super) struct Timer {
    file: OwnedFd,
    /// What it is set to.
    deadline: Time,
}

impl Timer {
    pub(super) fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Timer {
            file: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            deadline: Time::NEVER,
        })
    }

    /// Makes it readable at `deadline`; [`Time::NEVER`] unsets it.
    pub(super) fn set(&mut self, now: Time, deadline: Time) {
        if deadline == self.deadline {
            return;
        }
        self.deadline = deadline;
        // At least something, as 0 unsets it.
        let pause = match deadline {
            Time::NEVER => Duration::ZERO,
            _ => deadline.since(now).max(Duration::from_nanos(1)),
        };
        let timer = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(pause).unwrap_or_default(),
        };
        if let Err(error) = timerfd_settime(&self.file, TimerfdTimerFlags::empty(), &timer) {
            tracing::warn!("the timer of a tunnel cannot be set: {error}");
        }
    }

    /// Has it not be readable for what is over.
    pub(super) fn take(&self) {
        let _ = rustix::io::read(&self.file, &mut [0; 8]);
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
