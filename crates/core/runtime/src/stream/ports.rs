//! The ends of a stream: sources and sinks, and the adapters between them.

use std::convert::Infallible;

use super::error::BoxError;
use crate::service::Service;
use crate::topology::Topology;

/// Reads the units of a stream.
///
/// A source runs on its own thread, `evener-in`, unless it is [`inline`](Source::inline); it may block. A panic in it
/// is reported like an error.
pub trait Source<S: Service>: Send {
    /// The error of reading. The stream returns it as [`StreamError::Source`](super::StreamError).
    type Error: Into<BoxError>;

    /// Called once before the first unit. A source may ask here which parts of a unit the service reads.
    fn start(&mut self, service: &S) {
        let _ = service;
    }

    /// Overwrites `unit` with the next unit. Returns `false` at the end; `unit` may then have any contents. Not
    /// called again after the end or an error.
    fn read(&mut self, unit: &mut S::Input) -> Result<bool, Self::Error>;

    /// The total number of units, if known. Progress shows it, and the tuner adapts its experiments to it.
    fn units(&self) -> Option<u64> {
        None
    }

    /// Whether reading is so cheap that the computing threads should do it, without a separate thread. Ignored in
    /// live streams.
    fn inline(&self) -> bool {
        false
    }

    /// Whether a read may wait for another program or machine, as with a pipe. A cancelled stream does not wait for
    /// such a read. By default it may wait. If it may not, and the stream is so small that a thread does not pay, the
    /// computing threads read the units.
    fn may_wait(&self) -> bool {
        true
    }
}

/// Writes the units of a stream, in order.
///
/// A sink runs on its own thread, `evener-out`, unless it is [`inline`](Sink::inline); it may block. A panic in it is
/// reported like an error. A sink that is dropped without [`Sink::finish`] should leave no partial output, as after
/// [`Sink::abort`].
pub trait Sink<S: Service>: Send {
    /// The error of writing. The stream returns it as [`StreamError::Sink`](super::StreamError).
    type Error: Into<BoxError>;

    /// Called once before the first unit, even if there are no units. A sink may write a header here.
    fn start(&mut self, service: &S) -> Result<(), Self::Error> {
        let _ = service;
        Ok(())
    }

    /// Writes one unit. Not called again after an error.
    fn write(&mut self, unit: &S::Output) -> Result<(), Self::Error>;

    /// Called once after the last unit, if the result is to be kept: flush, write a trailer, rename the file.
    fn finish(&mut self) -> Result<(), Self::Error>;

    /// Called instead of [`Sink::finish`] if the stream failed and its output is not kept, or if it was cancelled
    /// before anything was written.
    fn abort(&mut self) {}

    /// Whether writing is so cheap that the computing threads should do it, without a separate thread.
    fn inline(&self) -> bool {
        false
    }

    /// Whether a write may wait for another program or machine, as with a pipe. By default it may. If it may not, and
    /// the stream is so small that a thread does not pay, the computing threads write the units.
    fn may_wait(&self) -> bool {
        true
    }
}

/// A service, or something that becomes a service once it knows the source's format.
pub trait Through<Src> {
    /// The resulting service.
    type Service: Service;
    /// The error if it cannot become a service for this source. The stream returns it as
    /// [`StreamError::Bind`](super::StreamError).
    type Error: Into<BoxError>;

    /// Becomes a service for the units of `source`, on the machine that `topology` describes: its caches and its SIMD
    /// level.
    fn bind(self, source: &Src, topology: &Topology) -> Result<Self::Service, Self::Error>;
}

impl<Src, S: Service> Through<Src> for S {
    type Service = S;
    type Error = Infallible;

    fn bind(self, _: &Src, _: &Topology) -> Result<S, Infallible> {
        Ok(self)
    }
}

/// A sink that discards units: for benchmarks, and for services of which only the report matters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl<S: Service> Sink<S> for Discard {
    type Error = Infallible;

    fn write(&mut self, _: &S::Output) -> Result<(), Infallible> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

impl<S: Service, T: Source<S> + ?Sized> Source<S> for Box<T> {
    type Error = T::Error;

    fn start(&mut self, service: &S) {
        (**self).start(service);
    }

    fn read(&mut self, unit: &mut S::Input) -> Result<bool, T::Error> {
        (**self).read(unit)
    }

    fn units(&self) -> Option<u64> {
        (**self).units()
    }

    fn inline(&self) -> bool {
        (**self).inline()
    }

    fn may_wait(&self) -> bool {
        (**self).may_wait()
    }
}

macro_rules! sink_behind {
    ($pointer:ty) => {
        impl<S: Service, T: Sink<S> + ?Sized> Sink<S> for $pointer {
            type Error = T::Error;

            fn start(&mut self, service: &S) -> Result<(), T::Error> {
                (**self).start(service)
            }

            fn write(&mut self, unit: &S::Output) -> Result<(), T::Error> {
                (**self).write(unit)
            }

            fn finish(&mut self) -> Result<(), T::Error> {
                (**self).finish()
            }

            fn abort(&mut self) {
                (**self).abort();
            }

            fn inline(&self) -> bool {
                (**self).inline()
            }

            fn may_wait(&self) -> bool {
                (**self).may_wait()
            }
        }
    };
}

sink_behind!(Box<T>);
sink_behind!(&mut T);
