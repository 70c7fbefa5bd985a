//! A gateway from RTSP, RTP and transport streams over UDP to HTTP.
//!
//! [`session::listen`] makes a complete gateway with its threads. An [`engine::Engine`] is one of its threads, for
//! programs that accept clients themselves. The protocols, such as [`rtp`], [`rtsp`] and [`ts`], do no input or
//! output and can be used alone.
#![forbid(unsafe_code)]

pub mod access;
pub mod engine;
pub mod fmp4;
pub mod media;
pub mod payload;
pub mod pool;
pub mod rate;
pub mod rtp;
pub mod rtsp;
pub mod sdp;
pub mod session;
pub mod ts;
pub mod video;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
