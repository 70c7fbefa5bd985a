//! Serving an image.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use evener_runtime::quantity::Size;
use evener_runtime::rounds::LoadReport;
use evener_runtime::stream::CancelToken;
use evener_runtime::{Choice, Rounds, Runtime};

use super::{SessionError, open};
use crate::format::Format;
use crate::image::Image;
use crate::nbd::{self, Address, Listener, OnStatus};
use crate::overlay::{Base, Overlay};
use crate::serve::{ServeContext, Store};
use crate::units::{DECODING, work};

/// Bytes of decoded blocks that are cached by default.
pub const DEFAULT_CACHE: u64 = 64 << 20;
/// Bytes to read ahead by default: enough that a reader which works between its requests finds the next one decoded,
/// and few compared with the cache.
const AUTO_READ_AHEAD: u64 = 2 << 20;

/// How an image is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where clients connect.
    pub address: Address,
    /// The file that clients write to. Without one the image is read only.
    pub overlay: Option<PathBuf>,
    /// Where metrics are served over HTTP.
    pub metrics: Option<Address>,
    /// The format of the image; `None` to recognise it.
    pub format: Option<&'static Format>,
    /// Bytes of decoded blocks that are cached.
    pub cache: u64,
    /// What is decoded before it is requested.
    pub read_ahead: ReadAhead,
    /// The plan for decoding blocks that are needed at once.
    pub plan: Choice,
}

/// What is decoded for a sequential reader before it is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// As much as is useful.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// At most this number of bytes.
    Bytes(u64),
}

impl FromStr for ReadAhead {
    type Err = String;

    fn from_str(text: &str) -> Result<ReadAhead, String> {
        match text {
            "auto" => Ok(ReadAhead::Auto),
            "off" => Ok(ReadAhead::Off),
            _ => bytes(text).map(ReadAhead::Bytes),
        }
    }
}

impl ReadAhead {
    /// The most bytes to read ahead: no more than a quarter of the cache, so that blocks in use are not evicted.
    pub(super) fn limit(self, cache: u64) -> u64 {
        let wanted = match self {
            ReadAhead::Auto => AUTO_READ_AHEAD,
            ReadAhead::Off => 0,
            ReadAhead::Bytes(bytes) => bytes,
        };
        wanted.min(cache / 4)
    }
}

/// A number of bytes from text: `64M`, `1G`, `65536`.
///
/// # Errors
/// The text is no such number.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => Some(0),
        "k" | "kib" => Some(10),
        "m" | "mib" => Some(20),
        "g" | "gib" => Some(30),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift?));
    // More bytes cannot be addressed.
    let bytes = bytes.filter(|&bytes| bytes <= isize::MAX as u64);
    bytes.ok_or_else(|| "a number of bytes, as 65536, 64M or 1G".into())
}

/// An image that can be served. Clients can connect, and wait until it runs.
pub struct ServeSession {
    context: ServeContext,
    listener: Listener,
    metrics: Option<Listener>,
}

/// What was served. `Display` gives one line.
#[derive(Clone, Debug)]
pub struct Served {
    /// How many clients there were. A disk has none.
    pub clients: u64,
    /// How many requests there were.
    pub requests: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes that were written, zeros included.
    pub written: u64,
    /// How blocks that were needed at once were decoded, by their number.
    pub loads: Vec<LoadReport>,
    /// Blocks that were decoded for read-ahead.
    pub prefetched: u64,
    /// How many of them were requested then.
    pub prefetched_used: u64,
    /// Blocks of which only a prefix was decoded.
    pub prefixes: u64,
    /// Of how many of them more was requested then.
    pub prefixes_extended: u64,
}

impl Served {
    pub(super) fn of(store: &Store) -> Served {
        let metrics = store.metrics();
        Served {
            clients: metrics.accepted.get(),
            requests: metrics.requests.iter().map(|count| count.get()).sum(),
            bytes: metrics.bytes.get(),
            written: metrics.written.get(),
            loads: store.rounds().report(),
            prefetched: metrics.prefetched.get(),
            prefetched_used: store.cache().prefetched_used(),
            prefixes: store.cache().prefixes().decoded_total(),
            prefixes_extended: store.cache().prefixes().extended_total(),
        }
    }

    /// Lines that say how blocks were decoded, and why.
    pub fn explained(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for load in &self.loads {
            lines.push(format!("blocks at once: {load}"));
            let why = load.decisions.iter();
            lines.extend(why.map(|decision| format!("  {decision}")));
        }
        let (prefetched, used) = (self.prefetched, self.prefetched_used);
        lines.push(format!(
            "read ahead: {prefetched} blocks, {used} of them requested then"
        ));
        let (prefixes, extended) = (self.prefixes, self.prefixes_extended);
        lines.push(format!(
            "prefixes: of {prefixes} blocks only a prefix was decoded, and more of {extended} of them was requested then"
        ));
        lines
    }
}

/// A store whose blocks are decoded by the plan that the tuner chooses, or by a fixed one.
pub(super) fn store(
    image: Arc<Image>,
    cache: u64,
    runtime: &Runtime,
    plan: Choice,
) -> Result<Store, SessionError> {
    let item = work(image.block_size().into(), DECODING);
    Ok(Store::new(image, cache, Rounds::new(runtime, item, plan)?))
}

/// Opens `input` and its overlay, if there is one, and listens for clients. `cancel` ends the session.
///
/// # Errors
/// The image cannot be read, the overlay is of another image or in use, the plan is not possible, or the server cannot
/// listen at the addresses.
pub fn serve(
    input: &OsStr,
    options: &ServeOptions,
    runtime: &Runtime,
    cancel: CancelToken,
) -> Result<ServeSession, SessionError> {
    let image = open(input, options.format)?;
    let mut store = store(
        Arc::clone(&image),
        options.cache,
        runtime,
        options.plan.clone(),
    )?;
    let listen = |address: &Address| {
        Listener::bind(address).map_err(|reason| SessionError::Listen {
            address: address.to_string(),
            reason,
        })
    };
    let listener = listen(&options.address)?;
    let metrics = options.metrics.as_ref().map(listen).transpose()?;
    // This comes last, since it may create the overlay.
    if let Some(path) = &options.overlay {
        store = store.with_overlay(Overlay::open(path, &Base::of(&image)?)?);
    }
    Ok(ServeSession {
        listener,
        metrics,
        context: ServeContext {
            store,
            read_ahead: options.read_ahead.limit(options.cache),
            cancel,
        },
    })
}

impl ServeSession {
    /// Where clients connect.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// Where metrics are served.
    pub fn metrics_address(&self) -> Option<Address> {
        self.metrics.as_ref().map(Listener::address)
    }

    /// Serves until it is cancelled, and calls `on_status` every second. At the end, all that was written is durable.
    ///
    /// # Errors
    /// The system cannot wait for clients any more, or what was written may not be durable.
    pub fn run(
        self,
        runtime: &Runtime,
        on_status: Option<OnStatus<'_>>,
    ) -> Result<Served, SessionError> {
        let address = self.address().to_string();
        let metrics = self.metrics.as_ref();
        let served = nbd::serve(&self.context, runtime, &self.listener, metrics, on_status)
            .map_err(|reason| SessionError::Listen { address, reason });
        self.context.store.faults().close();
        self.context
            .store
            .overlay()
            .map_or(Ok(()), Overlay::close)?;
        served?;
        Ok(Served::of(&self.context.store))
    }
}

impl fmt::Display for ServeSession {
    /// One line: what is served, where, and how to connect.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let image = self.context.store.image();
        let (name, size) = (image.file().name(), Size(image.size()));
        let address = self.address();
        write!(f, "{name}: {size} at {address}; ")?;
        if let Some(overlay) = self.context.store.overlay() {
            let (name, bytes) = (overlay.name(), Size(overlay.bytes()));
            write!(f, "written into {name}, which has {bytes} of it; ")?;
        }
        if let Some(metrics) = self.metrics_address() {
            write!(f, "metrics at {metrics}; ")?;
        }
        write!(f, "connect with: nbdcopy '{}' disk.img", address.uri())
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, requests) = (Size(self.bytes), self.requests);
        match self.clients {
            0 => write!(f, "{bytes} in {requests} requests")?,
            1 => write!(f, "{bytes} to 1 client, {requests} requests")?,
            clients => write!(f, "{bytes} to {clients} clients, {requests} requests")?,
        }
        match self.written {
            0 => Ok(()),
            written => write!(f, ", {} written", Size(written)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes() {
        for (text, number) in [
            ("0", 0),
            ("65536", 65536),
            ("64M", 64 << 20),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(bytes(text), Ok(number));
        }
        for text in [
            "",
            "M",
            "-1",
            "1T",
            "99999999999999999999",
            "9999999999999G",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn read_ahead_leaves_most_of_the_cache() {
        assert_eq!("auto".parse(), Ok(ReadAhead::Auto));
        assert_eq!("1M".parse(), Ok(ReadAhead::Bytes(1 << 20)));
        assert_eq!(ReadAhead::Bytes(1 << 30).limit(64 << 20), 16 << 20);
        assert_eq!(ReadAhead::Off.limit(64 << 20), 0);
        assert_eq!(ReadAhead::Auto.limit(0), 0);
    }
}
