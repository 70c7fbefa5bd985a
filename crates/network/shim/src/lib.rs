//! The `LD_PRELOAD` library of `evener net exec`. It redirects sockets of an unmodified program to a stack, by their
//! addresses.
//!
//! A socket belongs to the kernel until `connect` or `bind` names an address of the stack. Then a silent file
//! descriptor takes over its number, and the library handles the calls on it. All other calls go to the kernel
//! unchanged.

// The functions of C have their own documentation, and what is `pub` here is so within the library alone.
#![allow(missing_docs)]

#[allow(unsafe_code)]
mod calls;
mod datagrams;
mod epoll;
#[allow(unsafe_code)]
mod exec;
#[allow(unsafe_code)]
mod memory;
mod options;
mod own;
mod poll;
#[allow(unsafe_code)]
mod process;
mod socket;
#[allow(unsafe_code)]
mod sys;
mod table;
mod take;
mod wait;
