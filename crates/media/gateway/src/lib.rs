//! A gateway that turns RTSP and RTP streams into HTTP. The crate's README has the map.
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
