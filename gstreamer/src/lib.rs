//! The GStreamer element `evenerfilter`. docs/gstreamer.md is the manual.

mod element;
mod formats;
#[allow(unsafe_code)]
mod frames;
mod running;

use element::register;

gst::plugin_define!(
    evener,
    env!("CARGO_PKG_DESCRIPTION"),
    register,
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("COMMIT_ID")),
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    "evener",
    env!("BUILD_REL_DATE")
);
