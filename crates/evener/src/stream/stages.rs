//! What is done with the items of a stream, and what its end says.

/// What is done with an item on its way.
pub trait Stages<T>: Sync {
    /// What comes out.
    type Out: Send;
    #[doc(hidden)]
    fn run(&self, item: T) -> Self::Out;
}

/// No stage.
#[derive(Debug)]
pub struct Same;

impl<T: Send> Stages<T> for Same {
    type Out = T;

    #[inline]
    fn run(&self, item: T) -> T {
        item
    }
}

/// A stage behind others.
#[derive(Debug)]
pub struct Then<S, F>(pub(super) S, pub(super) F);

impl<T, S: Stages<T>, R: Send, F: Fn(S::Out) -> R + Sync> Stages<T> for Then<S, F> {
    type Out = R;

    #[inline]
    fn run(&self, item: T) -> R {
        (self.1)(self.0.run(item))
    }
}

/// What the closure at the end of a stream returns: nothing, or a result whose error ends the stream.
pub trait Ended {
    #[doc(hidden)]
    fn goes_on() -> Self;
    #[doc(hidden)]
    fn ends(&self) -> bool;
}

impl Ended for () {
    fn goes_on() {}

    fn ends(&self) -> bool {
        false
    }
}

impl<E> Ended for Result<(), E> {
    fn goes_on() -> Self {
        Ok(())
    }

    fn ends(&self) -> bool {
        self.is_err()
    }
}
