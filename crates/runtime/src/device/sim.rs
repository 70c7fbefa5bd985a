//! A device that is only simulated.
