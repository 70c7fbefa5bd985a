//! Pools of origins: which one a stream comes from, and what clients see when it fails.

mod failing;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/gateway.rs"]
mod gateway;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/gst.rs"]
mod gst;
mod killed;
mod origin;
mod redirected;
