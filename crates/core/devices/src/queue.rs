//! How a lane's commands go through an ordered queue of a driver, whichever driver it is.

use std::time::{Duration, Instant};

use evener_runtime::device::{Command, DeviceError, Launch};

use crate::pace::Pace;

/// An ordered queue of a driver.
pub trait Queue {
    /// The device, for messages.
    fn device(&self) -> &str;

    /// Begins a copy. Its bytes stay borrowed until [`Queue::wait_for_copies`] returns.
    fn copy(&mut self, command: &mut Command<'_>) -> Result<(), DeviceError>;

    /// Begins a kernel.
    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError>;

    /// Has the driver hand to the device what was begun.
    fn submit(&mut self) -> Result<(), DeviceError>;

    /// Whether all kernels that were begun are done. It does not wait.
    fn kernels_done(&mut self) -> Result<bool, DeviceError>;

    /// Waits for all copies that were begun, and no longer.
    fn wait_for_copies(&mut self) -> Result<(), DeviceError>;
}

/// The order of a lane's commands.
///
/// A copy is begun only when the kernels before it are done, since a call that waits for a copy would wait for a kernel
/// that hangs as well.
#[derive(Debug, Default)]
pub struct Order {
    pace: Pace,
    /// Set by an error: what the queue still does is not known.
    failed: bool,
}

impl Order {
    /// Whether a run failed, so that the queue may never be empty again.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// [`Lane::run`](evener_runtime::device::Lane::run) on a queue.
    pub fn run(
        &mut self,
        queue: &mut impl Queue,
        commands: &mut [Command<'_>],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        if self.failed {
            return Err(DeviceError::Lost {
                device: queue.device().to_owned(),
                why: "this lane failed before".to_owned(),
            });
        }
        let kernels = self.all(queue, commands, limit);
        // Whatever happened, no copy may be in progress when the borrows of its bytes end.
        let copies = queue.wait_for_copies();
        let result = kernels.and(copies);
        self.failed = result.is_err();
        result
    }

    fn all(
        &mut self,
        queue: &mut impl Queue,
        commands: &mut [Command<'_>],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let until = Instant::now() + limit;
        let mut kernels = false;
        for command in commands {
            if let Command::Launch(launch) = command {
                queue.launch(launch)?;
                kernels = true;
                continue;
            }
            if std::mem::take(&mut kernels) {
                self.wait(queue, limit, until)?;
            }
            queue.copy(command)?;
        }
        if kernels {
            self.wait(queue, limit, until)?;
        }
        Ok(())
    }

    fn wait(
        &mut self,
        queue: &mut impl Queue,
        limit: Duration,
        until: Instant,
    ) -> Result<(), DeviceError> {
        queue.submit()?;
        let left = until.saturating_duration_since(Instant::now());
        if self.pace.wait(left, || queue.kernels_done())? {
            return Ok(());
        }
        Err(DeviceError::Hung {
            device: queue.device().to_owned(),
            limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::device::Buffer;

    use super::*;

    /// A queue that notes what it is told.
    #[derive(Default)]
    struct Noted {
        told: Vec<&'static str>,
        /// Looks until a kernel is done.
        looks: u32,
        refuses: Option<&'static str>,
    }

    impl Noted {
        fn note(&mut self, what: &'static str) -> Result<(), DeviceError> {
            self.told.push(what);
            if self.refuses == Some(what) {
                Err(lost(what))
            } else {
                Ok(())
            }
        }
    }

    fn lost(why: &str) -> DeviceError {
        DeviceError::Lost {
            device: "noted".to_owned(),
            why: why.to_owned(),
        }
    }

    impl Queue for Noted {
        fn device(&self) -> &str {
            "noted"
        }

        fn copy(&mut self, command: &mut Command<'_>) -> Result<(), DeviceError> {
            match command {
                Command::Upload { .. } => self.note("up"),
                _ => self.note("down"),
            }
        }

        fn launch(&mut self, _: &Launch<'_>) -> Result<(), DeviceError> {
            self.note("launch")
        }

        fn submit(&mut self) -> Result<(), DeviceError> {
            self.note("submit")
        }

        fn kernels_done(&mut self) -> Result<bool, DeviceError> {
            self.looks = self.looks.saturating_sub(1);
            if self.looks > 0 {
                return Ok(false);
            }
            self.note("done").map(|()| true)
        }

        fn wait_for_copies(&mut self) -> Result<(), DeviceError> {
            self.note("copied")
        }
    }

    const LIMIT: Duration = Duration::from_millis(50);

    /// Runs two uploads, two kernels, an upload, a kernel and a download.
    fn run(order: &mut Order, queue: &mut Noted) -> Result<(), DeviceError> {
        let buffer = Buffer { index: 0, bytes: 1 };
        let up = || Command::Upload {
            to: buffer,
            at: 0,
            from: &[0],
        };
        let launch = || {
            Command::Launch(Launch {
                kernel: "any",
                args: &[],
                groups: [1, 1],
                threads: [1, 1],
                units: 1,
                host: &|_| (),
            })
        };
        let mut to = [0];
        let down = Command::Download {
            from: buffer,
            at: 0,
            to: &mut to,
        };
        let commands = &mut [up(), up(), launch(), launch(), up(), launch(), down];
        order.run(queue, commands, LIMIT)
    }

    const ALL: [&str; 12] = [
        "up", "up", "launch", "launch", "submit", "done", "up", "launch", "submit", "done", "down",
        "copied",
    ];

    #[test]
    fn copies_are_begun_when_kernels_are_done() {
        let (mut order, mut queue) = (
            Order::default(),
            Noted {
                looks: 3,
                ..Noted::default()
            },
        );
        assert_eq!(run(&mut order, &mut queue), Ok(()));
        assert_eq!(queue.told, ALL);
        assert!(!order.failed());
    }

    #[test]
    fn copies_are_waited_for_whatever_fails() {
        for (i, what) in ALL.iter().enumerate() {
            let first = ALL.iter().position(|other| other == what) == Some(i);
            if !first {
                continue;
            }
            let mut queue = Noted {
                refuses: Some(what),
                ..Noted::default()
            };
            let mut order = Order::default();
            assert_eq!(run(&mut order, &mut queue), Err(lost(what)));
            assert_eq!(queue.told[..=i], ALL[..=i]);
            assert_eq!(queue.told.last(), Some(&"copied"), "{what}");
            // From then on it is not touched.
            let told = queue.told.len();
            assert!(order.failed() && run(&mut order, &mut queue).is_err());
            assert_eq!(queue.told.len(), told);
        }
    }

    #[test]
    fn a_kernel_that_hangs_is_told_when_the_copies_are_done() {
        let (mut order, mut queue) = (
            Order::default(),
            Noted {
                looks: u32::MAX,
                ..Noted::default()
            },
        );
        let hung = DeviceError::Hung {
            device: "noted".to_owned(),
            limit: LIMIT,
        };
        assert_eq!(run(&mut order, &mut queue), Err(hung));
        assert_eq!(
            queue.told,
            ["up", "up", "launch", "launch", "submit", "copied"]
        );
    }
}
