//! Serving an image.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use evener_runtime::quantity::Size;
use evener_runtime::rounds::LoadReport;
use evener_runtime::stream::CancelToken;
use evener_runtime::{Choice, Rounds, Runtime};

use super::pid_file::PidFile;
use super::{ByteRange, OpenOptions, SessionError, open};
use crate::image::Image;
use crate::nbd::{self, Address, Collectors, End, HostName, Listener, NamedExport, OnStatus, Tls};
use crate::overlay::{Base, Overlay};
use crate::serve::{ServeContext, Store};
use crate::units::{DECODING, work};

/// The default size of the cache of decoded blocks, in bytes.
pub const DEFAULT_CACHE: u64 = 64 << 20;
/// Bytes to read ahead by default: enough that a reader which works between its requests finds the next one decoded,
/// and few compared with the cache.
const AUTO_READ_AHEAD: u64 = 2 << 20;

/// How to serve images.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address for clients.
    pub address: Address,
    /// The names of the exports, one for each image. Without names, a single image has the empty name, and several
    /// have the names of their files.
    pub exports: Vec<String>,
    /// The bytes of each image that clients see.
    pub range: ByteRange,
    /// Whether clients may write, and the destination of writes.
    pub writes: Writes,
    /// TLS, either optional or required for clients.
    pub tls: Option<TlsOptions>,
    /// A file for the process ID, which exists while clients can connect.
    pub pid_file: Option<PathBuf>,
    /// Ends the server when the last client that chose an export is gone.
    pub exit_last: bool,
    /// The address for metrics over HTTP.
    pub metrics: Option<Address>,
    /// Additional host names of this machine for collectors of metrics, beyond those in
    /// [`Hosts`](evener_sockets::Hosts).
    pub hosts: Vec<HostName>,
    /// How to open images.
    pub open: OpenOptions,
    /// The size of the cache of decoded blocks, in bytes, for all images; each gets the same share.
    pub cache: u64,
    /// The amount of read-ahead.
    pub read_ahead: ReadAhead,
    /// The plan for decoding blocks that are needed at once.
    pub plan: Choice,
}

/// The certificates of a server, and its demands on clients.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// A folder with `server-cert.pem` and `server-key.pem`.
    pub folder: PathBuf,
    /// Whether the certificates of clients must be signed by `ca-cert.pem` in the same folder.
    pub verifies_clients: bool,
    /// Whether clients without TLS are rejected.
    pub is_required: bool,
}

/// Whether clients may write, and the destination of writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// Images are read only.
    #[default]
    Refused,
    /// Into the last of these stacked overlays on a single image.
    Overlays(Vec<PathBuf>),
    /// Into a temporary file for each image, until the server ends.
    Temporary,
}

/// The amount of data that is decoded for a sequential reader before it is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// As much as is useful.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// At most this many bytes.
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

/// Parses a number of bytes: `64M`, `1G`, `65536`.
///
/// # Errors
/// The text is not a number of bytes.
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

/// Images that can be served. Clients can connect, and wait until it runs.
pub struct ServeSession {
    exports: Vec<NamedExport>,
    end: End,
    listener: Listener,
    metrics: Option<Collectors>,
    tls: Option<Tls>,
    _pid_file: Option<PidFile>,
}

/// The result of serving. `Display` prints one line.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// The number of clients. A block device has none.
    pub clients: u64,
    /// The number of requests.
    pub requests: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes that were written, including zeros.
    pub written: u64,
    /// How blocks needed at once were decoded, by their number, for each image.
    pub loads: Vec<(String, Vec<LoadReport>)>,
    /// Blocks that were decoded for read-ahead.
    pub prefetched: u64,
    /// The number of these blocks that were then requested.
    pub prefetched_used: u64,
    /// Blocks of which only a prefix was decoded.
    pub prefixes: u64,
    /// The number of these blocks of which more was then requested.
    pub prefixes_extended: u64,
}

impl Served {
    pub(super) fn of<'a>(stores: impl Iterator<Item = &'a Store>, clients: u64) -> Served {
        let mut served = Served {
            clients,
            ..Served::default()
        };
        for store in stores {
            let (metrics, cache) = (store.metrics(), store.cache());
            served.requests += metrics.requests_total();
            served.bytes += metrics.bytes.get();
            served.written += metrics.written.get();
            let name = store.image().file().name().to_owned();
            served.loads.push((name, store.rounds().report()));
            served.prefetched += metrics.prefetched.get();
            served.prefetched_used += cache.prefetched_used();
            served.prefixes += cache.prefixes().decoded_total();
            served.prefixes_extended += cache.prefixes().extended_total();
        }
        served
    }

    /// Lines that explain how blocks were decoded, and why.
    pub fn explained(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let several = self.loads.len() > 1;
        let loads = self.loads.iter();
        let loads = loads.flat_map(|(name, loads)| loads.iter().map(move |load| (name, load)));
        for (name, load) in loads {
            lines.push(match several {
                true => format!("{name}: blocks at once: {load}"),
                false => format!("blocks at once: {load}"),
            });
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

/// The names of the exports of these images.
fn names(inputs: &[OsString], given: &[String]) -> Result<Vec<String>, SessionError> {
    let refuse = |text| Err(SessionError::Request(text));
    if inputs.is_empty() {
        return refuse("name an image to serve".to_owned());
    }
    let names: Vec<String> = match (inputs, given) {
        ([_], []) => vec![String::new()],
        (_, []) => inputs.iter().map(|input| file_name(input)).collect(),
        _ if given.len() == inputs.len() => given.to_vec(),
        _ => {
            let counted = |number: usize, what| match number {
                1 => format!("1 {what}"),
                number => format!("{number} {what}s"),
            };
            let (names, images) = (counted(given.len(), "name"), counted(inputs.len(), "image"));
            return refuse(format!(
                "--export: {names} for {images}; give each a name, or none"
            ));
        }
    };
    for (at, name) in names.iter().enumerate() {
        if name.len() > nbd::MAX_NAME {
            let most = nbd::MAX_NAME;
            return refuse(format!("--export: a name has {most} bytes at most"));
        }
        if names[..at].contains(name) {
            return refuse(format!(
                "two exports would have the name '{name}'; give each its own with --export"
            ));
        }
    }
    Ok(names)
}

/// The name that an export has by its image: clients see it, so it is without the parameters of a URL.
fn file_name(input: &OsStr) -> String {
    let name = evener_files::one_line(&input.to_string_lossy());
    let path = match name.split_once("://") {
        Some((_, rest)) => rest.split(['?', '#']).next().unwrap_or(rest),
        None => &name,
    };
    let last = Path::new(path).file_name().map(OsStr::to_string_lossy);
    last.map_or_else(|| path.to_owned(), |last| last.into_owned())
}

/// Opens the images `inputs` and their overlays, and listens for clients. `cancel` ends the session.
///
/// # Errors
/// An image cannot be read or does not have the requested bytes, names are not distinct, an overlay belongs to
/// another image or is in use, the plan is not possible, or the server cannot listen at the addresses.
pub fn serve(
    inputs: &[OsString],
    options: &ServeOptions,
    runtime: &Runtime,
    cancel: CancelToken,
) -> Result<ServeSession, SessionError> {
    let names = names(inputs, &options.exports)?;
    if let (Writes::Overlays(_), [_, _, ..]) = (&options.writes, inputs) {
        let text = "--overlay is of one image; serve each from its own server, or use --snapshot";
        return Err(SessionError::Request(text.to_owned()));
    }
    if options.open.backing.is_some() && inputs.len() > 1 {
        let text = "--backing is of one image; serve each from its own server";
        return Err(SessionError::Request(text.to_owned()));
    }
    let cache = options.cache / inputs.len() as u64;
    let mut exports = Vec::new();
    for (input, name) in inputs.iter().zip(names) {
        let image = open(input, &options.open)?;
        let bytes = options.range.of(&image)?;
        let store = store(image, cache, runtime, options.plan.clone())?;
        let context = ServeContext {
            store,
            read_ahead: options.read_ahead.limit(cache),
            cancel: cancel.clone(),
        };
        exports.push(NamedExport {
            name,
            context,
            bytes,
        });
    }
    let tls = options
        .tls
        .as_ref()
        .map(|tls| Tls::read(&tls.folder, tls.verifies_clients, tls.is_required));
    let tls = tls.transpose()?;
    let failed = |address: &Address, reason| SessionError::Listen {
        address: address.to_string(),
        reason,
    };
    let address = &options.address;
    let listener = Listener::bind(address).map_err(|reason| failed(address, reason))?;
    let collectors = |address: &Address| {
        Collectors::bind(address, &options.hosts).map_err(|reason| failed(address, reason))
    };
    let metrics = options.metrics.as_ref().map(collectors).transpose()?;
    let pid_file = options
        .pid_file
        .as_deref()
        .map(PidFile::write)
        .transpose()?;
    // This comes last, since it may create the overlay.
    for export in &mut exports {
        let store = &mut export.context.store;
        let overlay = match &options.writes {
            Writes::Refused => None,
            Writes::Overlays(paths) => Overlay::open_chain(paths, &Base::of(store.image())?)?,
            Writes::Temporary => Some(Overlay::temporary(&Base::of(store.image())?)?),
        };
        overlay
            .into_iter()
            .for_each(|overlay| store.set_overlay(overlay));
    }
    let exit_last = options.exit_last;
    Ok(ServeSession {
        exports,
        end: End { cancel, exit_last },
        listener,
        metrics,
        tls,
        _pid_file: pid_file,
    })
}

impl ServeSession {
    /// The address for clients.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// The address for metrics.
    pub fn metrics_address(&self) -> Option<Address> {
        self.metrics.as_ref().map(Collectors::address)
    }

    /// Serves until it is cancelled, and calls `on_status` every second. At the end, all written data is durable.
    ///
    /// # Errors
    /// The system cannot wait for clients any more, or written data may not be durable.
    pub fn run(
        self,
        runtime: &Runtime,
        on_status: Option<OnStatus<'_>>,
    ) -> Result<Served, SessionError> {
        let address = self.address().to_string();
        let listeners = (&self.listener, self.metrics.as_ref());
        let served = nbd::serve(
            &self.exports,
            runtime,
            listeners,
            self.tls.as_ref(),
            &self.end,
            on_status,
        )
        .map_err(|reason| SessionError::Listen { address, reason });
        let stores = || self.exports.iter().map(|export| &export.context.store);
        let mut closed = Ok(());
        for store in stores() {
            store.faults().close();
            closed = closed.and(store.overlay().map_or(Ok(()), Overlay::close));
        }
        closed?;
        Ok(Served::of(stores(), served?))
    }
}

impl fmt::Display for ServeSession {
    /// One line: what is served, where, and how to connect.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, export) in self.exports.iter().enumerate() {
            let (image, bytes) = (export.context.store.image(), &export.bytes);
            let comma = if number > 0 { ", " } else { "" };
            let (name, size) = (image.file().name(), Size(bytes.end - bytes.start));
            write!(f, "{comma}{name}: {size}")?;
            if bytes.end - bytes.start < image.size() {
                write!(f, " from byte {}", bytes.start)?;
            }
            if !export.name.is_empty() {
                write!(f, " as '{}'", evener_files::one_line(&export.name))?;
            }
        }
        let address = self.address();
        write!(f, " at {address}; ")?;
        if let Some(overlay) = self.exports.iter().find_map(|e| e.context.store.overlay()) {
            let (name, bytes) = (overlay.name(), Size(overlay.bytes()));
            write!(f, "writes go to {name} ({bytes} so far)")?;
            let lower = overlay.lower_names();
            if !lower.is_empty() {
                write!(f, ", on top of {}", lower.join(", "))?;
            }
            f.write_str("; ")?;
        }
        if let Some(metrics) = self.metrics_address() {
            write!(f, "metrics at {metrics}; ")?;
        }
        let first = self.exports.first().map_or("", |export| &export.name);
        let tls = self.tls.as_ref();
        let Some(uri) = nbd::uri(&address, first, tls) else {
            return f.write_str("there is no URI for that address");
        };
        write!(f, "connect with: nbdcopy '{uri}' copy.img")?;
        if let Some(tls) = tls {
            write!(f, ", where DIR has {}", tls.client_files())?;
        }
        let open = tls.filter(|tls| !tls.is_required());
        match open.and_then(|_| nbd::uri(&address, first, None)) {
            Some(uri) => write!(f, "; without TLS: '{uri}'"),
            None => Ok(()),
        }
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
    fn exports_are_named_by_files_without_secrets() {
        for (input, name) in [
            ("dir/disk.img", "disk.img"),
            ("what?.img", "what?.img"),
            (
                "https://user:hidden@host/a/disk.img?token=hidden&x=1",
                "disk.img",
            ),
            ("https://host?token=hidden", "host"),
        ] {
            assert_eq!(file_name(OsStr::new(input)), name);
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
