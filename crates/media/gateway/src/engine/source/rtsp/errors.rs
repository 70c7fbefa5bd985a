//! Responses to clients when an origin fails.

use std::fmt;

use crate::engine::http::request::Refused;
use crate::rtsp::{Failure, Url};

pub(super) fn failed(url: &Url, text: impl fmt::Display) -> Refused {
    Refused::bad_gateway(format!("{url}: {text}"))
}

pub(super) fn late(url: &Url, text: impl fmt::Display) -> Refused {
    Refused::late(format!("{url}: {text}"))
}

pub(super) fn refused(url: &Url, failure: &Failure) -> Refused {
    match failure {
        Failure::Refused { status: 457, .. } => Refused::no_such_range(format!("{url}: {failure}")),
        Failure::Refused { status: 404, .. } => Refused::not_found(format!("{url}: {failure}")),
        Failure::NoAnswer { .. } | Failure::NoPacket(_) => late(url, failure),
        _ => failed(url, failure),
    }
}
