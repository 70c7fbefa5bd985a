//! Real streams through the gateway's formats: ffmpeg makes them and reads what comes out.

mod browser;
mod file;
mod headers;
mod joined;
mod origin;
mod pictures;
mod transport;
