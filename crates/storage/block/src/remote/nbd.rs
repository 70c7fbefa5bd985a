//! A client of the NBD protocol: fixed newstyle, structured replies where the server has them, and where the image has no
//! data (`base:allocation`).

use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::{Condvar, Mutex};

use evener_files::{blocking_call, error_text, lock, one_line, unpoisoned};

use super::chunks::Chunks;
use super::nbd_parts::Parts;
use super::nbd_sizes::Sizes;
use super::nbd_stream::{BEGIN_TIMEOUT, TIMEOUT, Waiting, after, connect};
use super::nbd_tls;
use super::nbd_uri::NbdUri;
use super::{Found, Remote, failed};
use crate::error::Error;
use crate::nbd::input::Fields;
use crate::nbd::proto::*;

/// The longest range whose allocation is asked for.
const STATUS: u64 = 1 << 30;
/// The most connections, if the server allows several.
const MAX_CONNECTIONS: usize = 4;
/// The most bytes of a reply that are not data of the image.
const MAX_REPLY: u32 = 16 << 20;
/// The most replies to one option.
const MAX_REPLIES: u32 = 1024;

/// An export of a server.
#[derive(Debug)]
struct Export {
    name: String,
    uri: NbdUri,
    told: Told,
    chunks: Chunks,
    pool: Mutex<Pool>,
    returned: Condvar,
    /// What the server said last about where there are data.
    allocation: Mutex<Allocation>,
}

/// Idle connections, and how many there are in all.
#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    open: usize,
}

/// What a server says of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    size: u64,
    flags: u16,
    sizes: Sizes,
}

/// Ranges one after the other, from a byte on, and whether they read as zero.
#[derive(Debug, Default)]
struct Allocation {
    start: u64,
    /// Where each ends.
    ranges: Vec<(u64, bool)>,
}

/// Connects to a server.
pub fn open(text: &str) -> Result<(String, Found), Error> {
    let uri =
        NbdUri::parse(text).map_err(|what| failed(text, format!("is not an NBD URI: {what}")))?;
    let (connection, told) = Connection::open(&uri)
        .map_err(|error| failed(text, format!("cannot be read: {}", error_text(&error))))?;
    let export = Export {
        name: one_line(text),
        chunks: Chunks::new(told.size, told.sizes.piece()),
        uri,
        told,
        pool: Mutex::new(Pool {
            idle: vec![connection],
            open: 1,
        }),
        returned: Condvar::new(),
        allocation: Mutex::default(),
    };
    let (remote, is_disk) = (Box::new(export), true);
    Ok((one_line(text), Found::Image { remote, is_disk }))
}

impl Export {
    fn most(&self) -> usize {
        match self.told.flags & CAN_MULTI_CONN {
            0 => 1,
            _ => MAX_CONNECTIONS,
        }
    }

    /// Has a connection do something. One that broke while it was idle, as when the server was started again, is replaced
    /// once.
    fn with<R>(&self, mut act: impl FnMut(&mut Connection) -> io::Result<R>) -> io::Result<R> {
        let mut connection = self.take();
        let done = match &mut connection {
            Some(old) => match act(old) {
                Err(error) if is_broken(&error) => None,
                done => Some(done),
            },
            None => None,
        };
        let done = done.unwrap_or_else(|| {
            connection = None;
            act(connection.insert(self.connect()?))
        });
        if done.as_ref().is_err_and(|error| !is_refused(error)) {
            connection = None;
        }
        self.put(connection);
        done.map_err(|error| after(TIMEOUT, error))
    }

    /// An idle connection, or the right to open one. If the server allows no more, it waits until another thread returns one.
    fn take(&self) -> Option<Connection> {
        let none = |pool: &mut Pool| pool.idle.is_empty() && pool.open >= self.most();
        let pool = lock(&self.pool);
        let mut pool = unpoisoned(self.returned.wait_while(pool, none));
        let idle = pool.idle.pop();
        if idle.is_none() {
            pool.open += 1;
        }
        idle
    }

    fn put(&self, connection: Option<Connection>) {
        let mut pool = lock(&self.pool);
        match connection {
            Some(connection) => pool.idle.push(connection),
            None => pool.open -= 1,
        }
        drop(pool);
        self.returned.notify_one();
    }

    fn connect(&self) -> io::Result<Connection> {
        let (connection, told) = Connection::open(&self.uri)?;
        match told.size == self.told.size {
            true => Ok(connection),
            false => Err(invalid("the size of the export has changed")),
        }
    }

    /// Whether byte `wanted` reads as zero, and where the run of such bytes ends, as far as it is known.
    fn status(&self, wanted: u64) -> io::Result<(bool, u64)> {
        let mut allocation = lock(&self.allocation);
        if let Some(known) = allocation.at(wanted) {
            return Ok(known);
        }
        let at = wanted - wanted % u64::from(self.told.sizes.least);
        let len = STATUS.min(self.told.size - at) as u32;
        allocation.start = at;
        allocation.ranges = self.with(|connection| connection.status(at, len))?;
        allocation
            .at(wanted)
            .ok_or_else(|| invalid("it does not tell the allocation that was asked for"))
    }
}

impl Allocation {
    fn at(&self, at: u64) -> Option<(bool, u64)> {
        if at < self.start {
            return None;
        }
        let behind = self.ranges.partition_point(|(end, _)| *end <= at);
        self.ranges.get(behind).map(|&(end, zero)| (zero, end))
    }
}

impl Remote for Export {
    fn size(&self) -> u64 {
        self.chunks.size()
    }

    fn read(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let fetch = |at: u64, room: &mut [u8]| {
            self.with(|connection| connection.read(at, room))
                .map_err(|error| {
                    failed(&self.name, format!("cannot be read at byte {at}: {error}"))
                })
        };
        self.chunks.read(at, room, fetch)
    }

    fn data_from(&self, at: u64) -> u64 {
        let (mut at, size) = (at, self.told.size);
        while at < size {
            match self.status(at) {
                Ok((true, end)) => at = end,
                // Reading tells what is wrong.
                Ok((false, _)) | Err(_) => break,
            }
        }
        at
    }
}

/// An error that the server answered with.
#[derive(Debug, thiserror::Error)]
#[error("the server answers: {0}")]
struct Refused(String);

/// Whether the server answered with an error, so that the connection is whole.
fn is_refused(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Refused>())
}

/// Whether the connection ended.
fn is_broken(error: &io::Error) -> bool {
    let stays = [
        ErrorKind::InvalidData,
        ErrorKind::TimedOut,
        ErrorKind::WouldBlock,
    ];
    !is_refused(error) && !stays.contains(&error.kind())
}

fn refused(what: impl Into<String>) -> io::Error {
    io::Error::other(Refused(what.into()))
}

fn invalid(what: &str) -> io::Error {
    let what = format!("the server does not keep to the protocol: {what}");
    io::Error::new(ErrorKind::InvalidData, what)
}

/// A connection after the negotiation. One request is under way at a time.
#[derive(Debug)]
struct Connection {
    reader: BufReader<Waiting>,
    structured: bool,
    /// The number of `base:allocation`.
    allocation: Option<u32>,
    sizes: Sizes,
    cookie: u64,
}

impl Connection {
    fn open(uri: &NbdUri) -> io::Result<(Connection, Told)> {
        let stream = connect(&uri.address).map_err(|error| after(BEGIN_TIMEOUT, error))?;
        let mut connection = Connection {
            reader: BufReader::with_capacity(64 << 10, Waiting::Clear(stream)),
            structured: false,
            allocation: None,
            sizes: Sizes::default(),
            cookie: 0,
        };
        let told = connection.negotiate(uri);
        let folder = uri.tls.as_ref().and_then(|tls| tls.folder.as_deref());
        let told = told.map_err(|error| after(BEGIN_TIMEOUT, nbd_tls::explained(error, folder)))?;
        connection.reader.get_ref().set_read_timeout(TIMEOUT)?;
        Ok((connection, told))
    }

    fn negotiate(&mut self, uri: &NbdUri) -> io::Result<Told> {
        let export = uri.export.as_bytes();
        if self.u64()? != NBDMAGIC || self.u64()? != IHAVEOPT {
            return Err(io::Error::other(
                "what answers there is no NBD server, or of the old style",
            ));
        }
        let flags = self.u16()?;
        if flags & FLAG_FIXED_NEWSTYLE == 0 {
            return Err(io::Error::other("the server is of the old style"));
        }
        let ours = FLAG_FIXED_NEWSTYLE | flags & FLAG_NO_ZEROES;
        self.send(&u32::from(ours).to_be_bytes())?;
        if let Some(tls) = &uri.tls {
            self.option(OPT_STARTTLS, &[], |_, _| ())?
                .map_err(|_| io::Error::other("the server has no TLS"))?;
            let stream = match std::mem::replace(self.reader.get_mut(), Waiting::Nothing) {
                // An attacker on the way may have sent what follows in clear text.
                Waiting::Clear(stream) if self.reader.buffer().is_empty() => stream,
                _ => return Err(invalid("it goes on in clear text")),
            };
            let sealed = blocking_call(|| nbd_tls::start(stream, tls))?;
            *self.reader.get_mut() = Waiting::Sealed(Box::new(sealed));
        }
        self.structured = self.option(OPT_STRUCTURED_REPLY, &[], |_, _| ())?.is_ok();
        let name = [&(export.len() as u32).to_be_bytes(), export].concat();
        if self.structured {
            let context = BASE_ALLOCATION.as_bytes();
            let (one, len) = (1u32.to_be_bytes(), (context.len() as u32).to_be_bytes());
            let data = [&name, &one[..], &len, context].concat();
            let mut allocation = None;
            // An export that is not there is told of below.
            let _ = self.option(OPT_SET_META_CONTEXT, &data, |kind, data| {
                let mut fields = Fields(data);
                if let (REP_META_CONTEXT, Some(number)) = (kind, fields.u32())
                    && fields.0 == context
                {
                    allocation = Some(number);
                }
            })?;
            self.allocation = allocation;
        }
        let (mut export, mut sizes) = (None, None);
        let data = [name, [1, INFO_BLOCK_SIZE].map(u16::to_be_bytes).concat()].concat();
        let answered = self.option(OPT_GO, &data, |kind, data| {
            if kind != REP_INFO {
                return;
            }
            match data
                .split_first_chunk()
                .map(|(kind, data)| (u16::from_be_bytes(*kind), data))
            {
                Some((INFO_EXPORT, data)) => {
                    if let Some((size, flags)) = data.split_first_chunk()
                        && let Some(flags) = flags.first_chunk()
                    {
                        export = Some((u64::from_be_bytes(*size), u16::from_be_bytes(*flags)));
                    }
                }
                Some((INFO_BLOCK_SIZE, data)) => sizes = Some(Sizes::parse(data)),
                _ => {}
            }
        })?;
        answered?;
        let (size, flags) = export.ok_or_else(|| invalid("it does not tell the size"))?;
        // Offsets in files have 63 bits.
        if i64::try_from(size).is_err() {
            return Err(invalid("no image is as large"));
        }
        let sizes = sizes.unwrap_or(Ok(Sizes::default()));
        self.sizes = sizes
            .and_then(|sizes| sizes.of(size))
            .map_err(|what| invalid(&what))?;
        Ok(Told {
            size,
            flags,
            sizes: self.sizes,
        })
    }

    /// Sends an option, and calls `on_reply` with each reply before the last. The inner error: the server refuses it.
    fn option(
        &mut self,
        option: u32,
        data: &[u8],
        mut on_reply: impl FnMut(u32, &[u8]),
    ) -> io::Result<io::Result<()>> {
        let mut request = IHAVEOPT.to_be_bytes().to_vec();
        request.extend(option.to_be_bytes());
        request.extend((data.len() as u32).to_be_bytes());
        request.extend(data);
        self.send(&request)?;
        for _ in 0..MAX_REPLIES {
            if self.u64()? != OPTION_REPLY_MAGIC || self.u32()? != option {
                return Err(invalid("a reply to an option begins with something else"));
            }
            let (kind, len) = (self.u32()?, self.u32()?);
            let data = self.bytes(len)?;
            match kind {
                REP_ACK => return Ok(Ok(())),
                _ if kind & (1 << 31) == 0 => on_reply(kind, &data),
                REP_ERR_UNKNOWN => return Ok(Err(refused("no export has this name"))),
                REP_ERR_TLS_REQD => {
                    return Ok(Err(refused("it wants TLS; write nbds instead of nbd")));
                }
                REP_ERR_UNSUP => return Ok(Err(refused("it is too old"))),
                _ => {
                    let said = evener_files::one_line(&String::from_utf8_lossy(&data));
                    return Ok(Err(refused(format!("error {:#x} {said}", kind))));
                }
            }
        }
        Err(invalid("too many replies"))
    }

    fn request(&mut self, command: u16, at: u64, len: u32) -> io::Result<()> {
        self.cookie += 1;
        let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
        request.extend(0u16.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(at.to_be_bytes());
        request.extend(len.to_be_bytes());
        self.send(&request)
    }

    /// Fills `room` from byte `at` on, in requests that are as long as the server takes.
    fn read(&mut self, at: u64, room: &mut [u8]) -> io::Result<()> {
        let mut at = at;
        for part in room.chunks_mut(self.sizes.most as usize) {
            self.read_once(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// The same in one request.
    fn read_once(&mut self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.request(CMD_READ, at, room.len() as u32)?;
        let mut parts = Parts::of(at, room.len());
        let mut error = None;
        loop {
            let chunk = self.chunk()?;
            match chunk.kind {
                Kind::Simple => {
                    self.reader.read_exact(room)?;
                    return Ok(());
                }
                Kind::Structured(REPLY_TYPE_OFFSET_DATA) if chunk.len >= 8 => {
                    let from = self.u64()?;
                    let part = parts.add(from, u64::from(chunk.len) - 8).map_err(invalid)?;
                    self.reader.read_exact(&mut room[part])?;
                }
                Kind::Structured(REPLY_TYPE_OFFSET_HOLE) if chunk.len == 12 => {
                    let (from, len) = (self.u64()?, self.u32()?);
                    let part = parts.add(from, len.into()).map_err(invalid)?;
                    room[part].fill(0);
                }
                kind => error = self.other(kind, chunk.len)?.or(error),
            }
            if chunk.is_last {
                break;
            }
        }
        match error {
            Some(error) => Err(error),
            None => parts.finish().map_err(invalid),
        }
    }

    /// Where runs from byte `at` on end, and whether they read as zero; one of data if the server does not tell.
    fn status(&mut self, at: u64, len: u32) -> io::Result<Vec<(u64, bool)>> {
        let end = at + u64::from(len);
        let Some(context) = self.allocation else {
            return Ok(vec![(end, false)]);
        };
        self.request(CMD_BLOCK_STATUS, at, len)?;
        let (mut ranges, mut error) = (Vec::new(), None);
        loop {
            let chunk = self.chunk()?;
            match chunk.kind {
                Kind::Structured(REPLY_TYPE_BLOCK_STATUS) => {
                    let data = self.bytes(chunk.len)?;
                    let mut fields = Fields(&data);
                    if fields.u32() != Some(context) || !ranges.is_empty() {
                        return Err(invalid("it tells an allocation that was not asked for"));
                    }
                    let mut to = at;
                    while let (Some(len), Some(flags)) = (fields.u32(), fields.u32())
                        && len > 0
                        && to < end
                    {
                        to += u64::from(len);
                        ranges.push((to.min(end), flags & STATE_ZERO != 0));
                    }
                }
                Kind::Simple => return Err(invalid("a reply without the allocation")),
                kind => error = self.other(kind, chunk.len)?.or(error),
            }
            if chunk.is_last {
                break;
            }
        }
        match error {
            Some(error) => Err(error),
            None if ranges.is_empty() => Err(invalid("it does not tell the allocation")),
            None => Ok(ranges),
        }
    }

    /// A part of a reply that holds nothing or an error.
    fn other(&mut self, kind: Kind, len: u32) -> io::Result<Option<io::Error>> {
        match kind {
            Kind::Structured(REPLY_TYPE_NONE) if len == 0 => Ok(None),
            Kind::Structured(kind) if kind & (1 << 15) != 0 => {
                let data = self.bytes(len)?;
                Ok(Some(answered(Fields(&data).u32().unwrap_or(EIO))))
            }
            _ => Err(invalid("a reply of a kind that was not asked for")),
        }
    }

    /// The header of the next part of a reply.
    fn chunk(&mut self) -> io::Result<Chunk> {
        let magic = self.u32()?;
        let chunk = match magic {
            SIMPLE_REPLY_MAGIC => {
                let error = self.u32()?;
                self.is_ours()?;
                if error != 0 {
                    return Err(answered(error));
                }
                Chunk {
                    kind: Kind::Simple,
                    len: 0,
                    is_last: true,
                }
            }
            STRUCTURED_REPLY_MAGIC if self.structured => {
                let (flags, kind) = (self.u16()?, self.u16()?);
                self.is_ours()?;
                Chunk {
                    kind: Kind::Structured(kind),
                    len: self.u32()?,
                    is_last: flags & REPLY_FLAG_DONE != 0,
                }
            }
            _ => return Err(invalid("a reply begins with something else")),
        };
        Ok(chunk)
    }

    fn is_ours(&mut self) -> io::Result<()> {
        match self.u64()? == self.cookie {
            true => Ok(()),
            false => Err(invalid("a reply to no request")),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().send(bytes)
    }

    fn bytes(&mut self, len: u32) -> io::Result<Vec<u8>> {
        if len > MAX_REPLY {
            return Err(invalid("a reply is too long"));
        }
        let mut bytes = vec![0; len as usize];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.request(CMD_DISC, 0, 0);
    }
}

/// A part of a reply.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    kind: Kind,
    /// Bytes that follow.
    len: u32,
    is_last: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Simple,
    Structured(u16),
}

/// The error of a request, by its number.
fn answered(error: u32) -> io::Error {
    refused(io::Error::from_raw_os_error(error as i32).to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_given_up_soon() {
        // Connected to, and perhaps greeted, but not answered.
        for greeting in [&b""[..], b"NBDMAGICIHAVEOPT\0\x03"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("nbd://{}", listener.local_addr().unwrap());
            let silent = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(greeting).unwrap();
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let began = Instant::now();
            let said = match open(&url) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{url}"),
            };
            assert_eq!(said, format!("{url}: cannot be read: no answer for 1 s"));
            assert!(began.elapsed() < TIMEOUT / 2);
            silent.join().unwrap();
        }
    }
}
