//! `evener net link`: two devices by name, and what became of the packets between them.

use std::fmt;
use std::io;

use evener_runtime::CancelToken;
use thiserror::Error;

use super::forward::run_reporting;
use super::{Conditions, Counters, Report};
use crate::device::{Capabilities, Context, Device, Medium, Specification};
use crate::filter::{Filtered, Rules};

/// Why a link ended.
#[derive(Debug, Error)]
pub enum Error {
    /// A device that cannot be opened.
    #[error("cannot open {device}: {source}")]
    Open {
        /// As it was named.
        device: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// One has frames of Ethernet, and the other packets of IP.
    #[error("one of {0} and {1} has frames of Ethernet and the other has not")]
    Media(String, String),
    /// What is as large as one of them takes would be lost at the other.
    #[error(
        "{larger} has packets of up to {more} bytes, and {smaller} of {less}, so larger ones would be lost: make the first's mtu {less}, as with ,mtu={less} where it has that option"
    )]
    Mtu {
        /// The device of the larger packets.
        larger: String,
        /// Bytes of its largest.
        more: u16,
        /// The other device.
        smaller: String,
        /// Bytes of its largest.
        less: u16,
    },
    /// It was stopped before the peer of a device came.
    #[error("the link was stopped before it began")]
    Stopped,
    /// The file that a rule mirrors to cannot be made.
    #[error("packets cannot be mirrored: {0}")]
    Mirror(io::Error),
    /// A device that is gone, or one that does not fit the other.
    #[error("the link ends: {0}")]
    Forward(#[from] io::Error),
}

impl Error {
    /// Whether the request can never work.
    pub fn is_request(&self) -> bool {
        matches!(self, Error::Media(..) | Error::Mtu { .. })
    }
}

/// Whether a link can join what two devices carry.
fn check(names: [&Specification; 2], capabilities: [Capabilities; 2]) -> Result<(), Error> {
    let [first, second] = capabilities.map(|device| matches!(device.medium, Medium::Ip));
    let names = names.map(ToString::to_string);
    if first != second {
        let [first, second] = names;
        return Err(Error::Media(first, second));
    }
    let mut both = [0, 1].map(|at| (capabilities[at].mtu, &names[at]));
    both.sort();
    match both {
        [(less, smaller), (more, larger)] if less < more => Err(Error::Mtu {
            larger: larger.clone(),
            more,
            smaller: smaller.clone(),
            less,
        }),
        _ => Ok(()),
    }
}

/// Two open devices.
pub struct Session {
    first: Box<dyn Device>,
    second: Box<dyn Device>,
}

impl Session {
    /// Opens both. What passes the first goes through a filter, if there is one: what comes from it goes in, and what goes
    /// to it goes out.
    ///
    /// # Errors
    /// All of [`enum@Error`] but [`Error::Forward`].
    pub fn open(
        first_name: &Specification,
        second_name: &Specification,
        filter: Option<&Rules>,
        context: &Context,
    ) -> Result<Session, Error> {
        let open = |specification: &Specification| {
            let wrong = |source| match context.stop.is_cancelled() {
                true => Error::Stopped,
                false => Error::Open {
                    device: specification.to_string(),
                    source,
                },
            };
            specification.open_with(context).map_err(wrong)
        };
        let (mut first, second) = (open(first_name)?, open(second_name)?);
        check(
            [first_name, second_name],
            [first.capabilities(), second.capabilities()],
        )?;
        if let Some(rules) = filter {
            first = Box::new(Filtered::new(first, rules).map_err(Error::Mirror)?);
        }
        Ok(Session { first, second })
    }

    /// Forwards packets until it is stopped, or until a device is gone: an error then. What became of the packets is in the
    /// report in either case.
    pub fn run(
        mut self,
        conditions: &Conditions,
        stop: &CancelToken,
    ) -> (Report, Result<(), Error>) {
        let mut report = Report::default();
        let ended = run_reporting(
            [&mut *self.first, &mut *self.second],
            conditions,
            stop,
            &mut report,
        );
        (report, ended.map_err(Error::Forward))
    }
}

impl fmt::Display for Report {
    /// A line for each direction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "there: {}", self.forth)?;
        write!(f, "back: {}", self.back)?;
        if self.refused > 0 {
            write!(f, "\na device had no room for {}", self.refused)?;
        }
        for count in self.devices.iter().filter(|count| count.value > 0) {
            write!(f, "\n{count}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Counters {
    /// What did not happen is not told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} forwarded", self.forwarded)?;
        let others = [
            (self.lost, "lost"),
            (self.dropped, "dropped"),
            (self.duplicated, "doubled"),
            (self.reordered, "held back"),
            (self.marked, "marked"),
        ];
        for (count, what) in others.iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_tell_what_happened() {
        let report = Report {
            forth: Counters {
                forwarded: 90,
                lost: 10,
                marked: 1,
                ..Counters::default()
            },
            ..Report::default()
        };
        assert_eq!(
            report.to_string(),
            "there: 90 forwarded, 10 lost, 1 marked\nback: 0 forwarded"
        );
    }

    #[test]
    fn devices_fit_each_other() {
        let names = ["tun:a", "seal:192.0.2.1:1,local=192.0.2.2:1,key=k"];
        let names = names.map(|name| Specification::parse(name).expect("a specification"));
        let device = |mtu, medium| Capabilities {
            medium,
            mtu,
            tcp_segments: 0,
            udp_segments: 0,
            checksums: false,
        };
        let check = |devices| {
            let checked = check([&names[0], &names[1]], devices);
            checked.map_err(|error| error.to_string())
        };
        let ip = |mtu| device(mtu, Medium::Ip);
        assert_eq!(check([ip(1420), ip(1420)]), Ok(()));
        for devices in [[ip(1500), ip(1420)], [ip(1420), ip(1500)]] {
            let error = check(devices).expect_err("an error");
            assert!(error.contains("make the first's mtu 1420"), "{error}");
        }
        let frames = device(1500, Medium::Ethernet([0; 6]));
        let error = check([ip(1500), frames]).expect_err("an error");
        assert!(error.contains("frames of Ethernet"), "{error}");
    }

    #[test]
    fn a_device_that_cannot_be_opened_is_named() {
        let wrong = Specification::parse("packet:no-such-one").expect("a specification");
        let error = Session::open(&wrong, &wrong, None, &Context::default())
            .err()
            .expect("an error");
        assert!(
            error
                .to_string()
                .starts_with("cannot open packet:no-such-one: ")
        );
    }
}
