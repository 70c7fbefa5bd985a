//! The ends of a stream: sources and sinks, and what can stand between them.

use std::convert::Infallible;

use super::error::BoxError;
use crate::service::Service;
use crate::topology::Topology;

/// Where the units of a stream come from.
///
/// A source runs on a thread of its own, `evener-in`, unless it is [`inline`](Source::inline); it may block.
/// A panic in it is reported like an error.
pub trait Source<S: Service>: Send {
    /// What can go wrong in reading. It comes out of the stream as [`StreamError::Source`](super::StreamError).
    type Error: Into<BoxError>;

    /// Called once before the first unit. Here a source may ask which parts of a unit the service reads.
    fn start(&mut self, service: &S) {
        let _ = service;
    }

    /// Overwrites `unit` with the next unit. `false` at the end, where `unit` may have any content. Not called again
    /// after the end or an error.
    fn read(&mut self, unit: &mut S::Input) -> Result<bool, Self::Error>;

    /// How many units will be read in all, where that is known. Progress shows it, and the tuner tries plans
    /// accordingly.
    fn units(&self) -> Option<u64> {
        None
    }

    /// Whether reading is so cheap that the computing threads should do it, without a thread of its own. Ignored in
    /// live streams.
    fn inline(&self) -> bool {
        false
    }

    /// Whether a read may wait for another program or machine, as that of a pipe does, so that a stream that is
    /// cancelled does not wait for it. By default it may. The computing threads read themselves where it may not, if
    /// the stream is so small that a thread does not pay.
    fn may_wait(&self) -> bool {
        true
    }
}

/// Where the units of a stream go, in order.
///
/// A sink runs on a thread of its own, `evener-out`, unless it is [`inline`](Sink::inline); it may block.
/// A panic in it is reported like an error. A sink that is dropped without [`Sink::finish`] should leave no partial
/// output, as with [`Sink::abort`].
pub trait Sink<S: Service>: Send {
    /// What can go wrong in writing. It comes out of the stream as [`StreamError::Sink`](super::StreamError).
    type Error: Into<BoxError>;

    /// Called once before the first unit, even if none comes. Here a sink may write a header.
    fn start(&mut self, service: &S) -> Result<(), Self::Error> {
        let _ = service;
        Ok(())
    }

    /// Writes one unit. Not called again after an error.
    fn write(&mut self, unit: &S::Output) -> Result<(), Self::Error>;

    /// Called once after the last unit, if the result is to be kept: flush, write a trailer, rename into place.
    fn finish(&mut self) -> Result<(), Self::Error>;

    /// Called instead of [`Sink::finish`] when the stream failed and its output is not to be kept, or when it was ended
    /// early with nothing written.
    fn abort(&mut self) {}

    /// Whether writing is so cheap that the computing threads should do it, without a thread of its own.
    fn inline(&self) -> bool {
        false
    }

    /// Whether a write may wait for another program or machine, as that to a pipe does. By default it may. The
    /// computing threads write themselves where it may not, if the stream is so small that a thread does not pay.
    fn may_wait(&self) -> bool {
        true
    }
}

/// What a source can be sent through: a service, or something that becomes one when it knows the source's format.
pub trait Through<Src> {
    /// The service that it becomes.
    type Service: Service;
    /// Why it cannot, for this source. It comes out of the stream as [`StreamError::Bind`](super::StreamError).
    type Error: Into<BoxError>;

    /// Becomes a service for what `source` delivers, on the machine that `topology` describes: its caches and its
    /// level of vector instructions.
    fn bind(self, source: &Src, topology: &Topology) -> Result<Self::Service, Self::Error>;
}

impl<Src, S: Service> Through<Src> for S {
    type Service = S;
    type Error = Infallible;

    fn bind(self, _: &Src, _: &Topology) -> Result<S, Infallible> {
        Ok(self)
    }
}

/// A sink that discards units: for measuring, and for services of which only the report is wanted.
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
