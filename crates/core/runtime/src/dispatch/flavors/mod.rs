//! The flavours of dispatch. Each has `run_caller`, which the caller of a batch does, and `run_worker`, which a woken
//! worker does.

pub(crate) mod fifo;
pub(crate) mod mailbox;
pub(crate) mod steal;

pub(crate) use fifo::Fifo;
pub(crate) use steal::Steal;
