//! A library that `LD_PRELOAD` puts before the C library: sockets of a program that never heard of the stack go there, by
//! their addresses. `evener net exec` starts programs with it.
//!
//! A socket is the kernel's until `connect` or `bind` names an address of the stack's. Then a file descriptor that says
//! nothing takes its number, and the calls on it are answered here. All other calls go to the kernel as they are.

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
