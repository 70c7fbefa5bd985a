//! Devices by name: `KIND:NAME,OPTION=VALUE,…`.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use super::{Context, Device, Prefix, TABLE};

/// A kind of device.
pub struct Entry {
    /// What its specifications begin with.
    pub kind: &'static str,
    /// How they are written.
    pub syntax: &'static str,
    /// What it is, in half a sentence.
    pub about: &'static str,
    pub(super) options: &'static [&'static str],
    /// Whether workers can help it.
    pub(super) computes: bool,
    pub(super) parse: fn(&str, &Arguments<'_>) -> Result<Open, SpecificationError>,
}

/// Opens a device whose specification was right.
pub(super) type Open = Arc<dyn Fn(&Context) -> io::Result<Box<dyn Device>> + Send + Sync>;

/// What device to open, and how.
#[derive(Clone)]
pub struct Specification {
    text: String,
    computes: bool,
    address: Option<Prefix>,
    open: Open,
}

/// Why a specification is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecificationError {
    /// No device of this kind.
    #[error("no device '{kind}'; there are {}", syntaxes())]
    Kind {
        /// As it was written.
        kind: String,
    },
    /// Nothing that says which of its kind.
    #[error("'{kind}' does not say which one: {syntax}")]
    Name {
        /// The kind.
        kind: &'static str,
        /// How it is written.
        syntax: &'static str,
    },
    /// An option that it does not have.
    #[error("{kind} has no option '{option}'; it has {}", known.join(", "))]
    Option {
        /// The kind.
        kind: &'static str,
        /// As it was written.
        option: String,
        /// Those that it has.
        known: &'static [&'static str],
    },
    /// An option that is given twice.
    #[error("option '{option}' is given twice")]
    Twice {
        /// The option.
        option: String,
    },
    /// An option that it cannot do without.
    #[error("{kind} needs the option '{option}'")]
    Missing {
        /// The kind.
        kind: &'static str,
        /// The option.
        option: &'static str,
    },
    /// A value that an option cannot have.
    #[error("{option}={value}: {expected} is expected")]
    Value {
        /// The option, or what the name is of.
        option: &'static str,
        /// As it was written.
        value: String,
        /// What it can be.
        expected: &'static str,
    },
}

fn syntaxes() -> String {
    let syntaxes: Vec<&str> = TABLE.iter().map(|entry| entry.syntax).collect();
    syntaxes.join(" | ")
}

/// Options of one device.
pub(super) struct Arguments<'a> {
    options: Vec<(&'a str, &'a str)>,
}

impl Specification {
    /// Reads a specification. A name goes to the first comma.
    ///
    /// # Errors
    /// [`SpecificationError`], which says what would be right.
    pub fn parse(text: &str) -> Result<Specification, SpecificationError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let entry = TABLE
            .iter()
            .find(|entry| entry.kind == kind)
            .ok_or_else(|| SpecificationError::Kind { kind: kind.into() })?;
        let mut parts = rest.split(',');
        let name = parts.next().unwrap_or("");
        if name.is_empty() {
            let Entry { kind, syntax, .. } = *entry;
            return Err(SpecificationError::Name { kind, syntax });
        }
        let mut options: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let (option, value) = part.split_once('=').unwrap_or((part, ""));
            if !entry.options.contains(&option) {
                return Err(SpecificationError::Option {
                    kind: entry.kind,
                    option: option.into(),
                    known: entry.options,
                });
            }
            if options.iter().any(|(earlier, _)| *earlier == option) {
                return Err(SpecificationError::Twice {
                    option: option.into(),
                });
            }
            options.push((option, value));
        }
        let arguments = Arguments { options };
        let open = (entry.parse)(name, &arguments)?;
        Ok(Specification {
            text: text.into(),
            computes: entry.computes,
            address: arguments.address()?,
            open,
        })
    }

    /// The address of the kernel's end, if the specification gives one.
    pub fn address(&self) -> Option<Prefix> {
        self.address
    }

    /// Whether the device has something to compute, with which the workers of a runtime can help.
    pub fn computes(&self) -> bool {
        self.computes
    }

    /// Opens the device, with nothing around it. A wire waits for its peer.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(&self) -> io::Result<Box<dyn Device>> {
        self.open_with(&Context::default())
    }

    /// Opens the device.
    ///
    /// # Errors
    /// As [`open`](Specification::open), and [`io::ErrorKind::Interrupted`] when the wait for a peer is stopped.
    pub fn open_with(&self, context: &Context) -> io::Result<Box<dyn Device>> {
        (self.open)(context)
    }
}

impl FromStr for Specification {
    type Err = SpecificationError;

    fn from_str(text: &str) -> Result<Specification, SpecificationError> {
        Specification::parse(text)
    }
}

impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Specification({:?})", self.text)
    }
}

impl Arguments<'_> {
    /// What an option is set to, read by its type.
    pub(super) fn value<T: FromStr>(
        &self,
        option: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, SpecificationError> {
        let Some((_, value)) = self.options.iter().find(|(name, _)| *name == option) else {
            return Ok(None);
        };
        let read = value.parse().map_err(|_| SpecificationError::Value {
            option,
            value: (*value).into(),
            expected,
        })?;
        Ok(Some(read))
    }

    /// The option `addr`.
    pub(super) fn address(&self) -> Result<Option<Prefix>, SpecificationError> {
        self.value("addr", "an address with its prefix, as in 10.1.0.1/24,")
    }

    /// Whether an option is on.
    pub(super) fn switch(
        &self,
        option: &'static str,
        otherwise: bool,
    ) -> Result<bool, SpecificationError> {
        let switch: Option<Switch> = self.value(option, "on or off")?;
        Ok(switch.map_or(otherwise, |switch| switch.0))
    }

    /// The option `mtu`: what IPv4 needs (RFC 791) up to what the length field allows.
    pub(super) fn mtu(&self) -> Result<Option<u16>, SpecificationError> {
        let expected = "a number of bytes from 68 to 65535";
        let mtu: Option<u16> = self.value("mtu", expected)?;
        match mtu {
            Some(mtu) if mtu < 68 => Err(SpecificationError::Value {
                option: "mtu",
                value: mtu.to_string(),
                expected,
            }),
            mtu => Ok(mtu),
        }
    }
}

struct Switch(bool);

impl FromStr for Switch {
    type Err = ();

    fn from_str(text: &str) -> Result<Switch, ()> {
        match text {
            "on" => Ok(Switch(true)),
            "off" => Ok(Switch(false)),
            _ => Err(()),
        }
    }
}

/// Whether a name can be that of a network interface: 15 bytes at most, none of them a space or slash.
pub(super) fn interface_name(name: &str) -> Result<String, SpecificationError> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':');
    if plain && name.len() < 16 && name != "." && name != ".." {
        return Ok(name.into());
    }
    Err(SpecificationError::Value {
        option: "interface",
        value: name.into(),
        expected: "a name of 15 characters at most, without spaces, slashes and colons",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Specification::parse(text)
            .expect_err("an error")
            .to_string()
    }

    #[test]
    fn devices_are_named() {
        for text in [
            "tun:t0",
            "tun:t0,addr=10.1.0.1/24",
            "tun:t0,addr=fd00::1/64,mtu=9000,queue=100,offload=off",
            "tap:t0",
            "wire:/tmp/a b",
            "wire:x,mtu=1500,offload=on",
            "packet:eth0",
        ] {
            let specification = Specification::parse(text).expect(text);
            assert_eq!(specification.to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert!(error("tunnel:x").starts_with("no device 'tunnel'; there are tun:NAME"));
        assert!(error("").contains("packet:INTERFACE"));
        assert!(error("tun").starts_with("'tun' does not say which one: tun:NAME"));
        assert!(error("tun:,mtu=1500").starts_with("'tun' does not say"));
        assert_eq!(
            error("wire:x,addr=10.0.0.1/8"),
            "wire has no option 'addr'; it has mtu, offload"
        );
        assert_eq!(
            error("tun:t,offload=yes"),
            "offload=yes: on or off is expected"
        );
        assert_eq!(
            error("tun:t,mtu=20"),
            "mtu=20: a number of bytes from 68 to 65535 is expected"
        );
        assert_eq!(
            error("tun:t,mtu=1500,mtu=1500"),
            "option 'mtu' is given twice"
        );
        assert!(error("tun:t,addr=10.0.0.1").contains("as in 10.1.0.1/24"));
        for name in ["a/b", "a b", "sixteencharacter", ".."] {
            assert!(
                error(&format!("tun:{name}")).contains("15 characters"),
                "{name}"
            );
        }
    }
}
