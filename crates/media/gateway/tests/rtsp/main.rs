//! The client of RTSP, with scripted servers in virtual time, hostile ones, and a real one.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/gst.rs"]
mod gst;
mod gstreamer;
mod hostile;
mod keeping;
mod script;
mod setting_up;
