//! Rayon-core's older configuration API, from before `ThreadPoolBuilder`.
#![expect(deprecated, reason = "all of this is")]

use std::any::Any;
use std::error::Error;

use crate::{ThreadPool, ThreadPoolBuilder};

/// How a pool is made.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

/// Makes the global pool.
///
/// # Errors
/// As [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(configuration: Configuration) -> Result<(), Box<dyn Error>> {
    configuration.builder.build_global().map_err(Box::from)
}

impl Configuration {
    /// As [`ThreadPoolBuilder::new`].
    pub fn new() -> Configuration {
        Configuration::default()
    }

    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    /// As [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, name: F) -> Configuration {
        self.with(|builder| builder.thread_name(name))
    }

    /// As [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, threads: usize) -> Configuration {
        self.with(|builder| builder.num_threads(threads))
    }

    /// As [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.with(|builder| builder.panic_handler(handler))
    }

    /// As [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, bytes: usize) -> Configuration {
        self.with(|builder| builder.stack_size(bytes))
    }

    /// As [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Configuration {
        self.with(ThreadPoolBuilder::breadth_first)
    }

    /// As [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Configuration {
        self.with(|builder| builder.start_handler(handler))
    }

    /// As [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Configuration {
        self.with(|builder| builder.exit_handler(handler))
    }

    fn with(self, change: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Configuration {
        Configuration {
            builder: change(self.builder),
        }
    }
}

impl ThreadPool {
    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    #[doc(hidden)]
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    pub fn new(configuration: Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }
}
