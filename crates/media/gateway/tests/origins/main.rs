//! Streams of RTSP servers, through the gateway to clients of HTTP.

mod film;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/gateway.rs"]
mod gateway;
mod gortsplib;
#[path = "../common/gst.rs"]
mod gst;
mod gstreamer;
mod hostile;
mod script;
mod sessions;
