//! Fixed newstyle negotiation: from the greeting to the first request.

use std::io::{self, Write};
use std::ops::ControlFlow;

use super::input::{Fields, Input};
use super::proto::*;
use super::stream::Stream;
use crate::serve::Store;

/// An option with longer data is refused. Names have at most 4096 bytes.
const MAX_OPTION: u32 = 64 << 10;
/// If the data are longer than this, the connection ends.
const MAX_SKIP: u32 = MAX_PAYLOAD;
/// The most options of a client.
const MAX_OPTIONS: u32 = 1024;

/// What is served.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its bytes.
    pub size: u64,
    /// The best size of a request.
    pub block: u32,
    /// It can be written.
    pub writable: bool,
}

/// What was negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Replies are structured.
    pub structured: bool,
    /// `base:allocation` may be asked for.
    pub allocation: bool,
}

impl Export {
    /// The export of a store.
    pub fn of(store: &Store) -> Export {
        let image = store.image();
        let block = image.block_size();
        Export {
            size: image.size(),
            // The protocol demands a power of two, of 512 at least.
            block: block.clamp(512, crate::MAX_BLOCK).next_power_of_two(),
            writable: store.overlay().is_some(),
        }
    }

    fn transmission_flags(&self, negotiated: &Negotiated) -> u16 {
        let writes = match self.writable {
            true => SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO,
            false => READ_ONLY,
        };
        // CAN_MULTI_CONN holds since a flush covers what all connections have written.
        let always = HAS_FLAGS | SEND_FLUSH | CAN_MULTI_CONN | SEND_CACHE | writes;
        match negotiated.structured {
            true => always | SEND_DF,
            false => always,
        }
    }
}

/// Greets a client and answers its options. `None`: it aborted, or broke the protocol.
///
/// # Errors
/// The connection ended in the middle.
pub fn negotiate(
    stream: &Stream,
    input: &mut Input,
    export: &Export,
) -> io::Result<Option<Negotiated>> {
    let mut greeting = Vec::with_capacity(18);
    greeting.extend(NBDMAGIC.to_be_bytes());
    greeting.extend(IHAVEOPT.to_be_bytes());
    greeting.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
    let mut out = stream;
    out.write_all(&greeting)?;
    let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
    let flags = input.u32()?;
    if flags & !known != 0 {
        return Ok(None);
    }
    let mut negotiation = Negotiation {
        stream,
        export,
        negotiated: Negotiated::default(),
        no_zeroes: flags & u32::from(FLAG_NO_ZEROES) != 0,
    };
    for _ in 0..MAX_OPTIONS {
        if input.u64()? != IHAVEOPT {
            return Ok(None);
        }
        let (option, len) = (input.u32()?, input.u32()?);
        if len > MAX_OPTION {
            // The protocol has no error reply to EXPORT_NAME.
            if len > MAX_SKIP || option == OPT_EXPORT_NAME {
                return Ok(None);
            }
            input.skip(len.into())?;
            negotiation.reply(option, REP_ERR_TOO_BIG, b"too long")?;
            continue;
        }
        let data = input.bytes(len)?;
        if let ControlFlow::Break(end) = negotiation.option(option, &data)? {
            return Ok(end);
        }
    }
    Ok(None)
}

/// A negotiation under way.
struct Negotiation<'a> {
    stream: &'a Stream,
    export: &'a Export,
    negotiated: Negotiated,
    no_zeroes: bool,
}

type Next = ControlFlow<Option<Negotiated>>;

impl Negotiation<'_> {
    fn option(&mut self, option: u32, data: &[u8]) -> io::Result<Next> {
        match option {
            OPT_EXPORT_NAME => return self.export_name(data),
            OPT_ABORT => {
                self.reply(option, REP_ACK, b"")?;
                return Ok(Next::Break(None));
            }
            OPT_INFO | OPT_GO => return self.info(option, data),
            OPT_LIST if data.is_empty() => {
                // One export, whose name is empty: a length of 0.
                self.reply(option, REP_SERVER, &[0; 4])?;
                self.reply(option, REP_ACK, b"")?;
            }
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.negotiated.structured = true;
                self.reply(option, REP_ACK, b"")?;
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => {
                self.reply(option, REP_ERR_INVALID, b"this option has no data")?;
            }
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => self.meta_context(option, data)?,
            _ => self.reply(option, REP_ERR_UNSUP, b"not supported")?,
        }
        Ok(Next::Continue(()))
    }

    /// The oldest way to begin. It cannot be refused but by ending the connection.
    fn export_name(&mut self, name: &[u8]) -> io::Result<Next> {
        if !name.is_empty() {
            return Ok(Next::Break(None));
        }
        let mut reply = Vec::with_capacity(134);
        reply.extend(self.export.size.to_be_bytes());
        reply.extend(
            self.export
                .transmission_flags(&self.negotiated)
                .to_be_bytes(),
        );
        if !self.no_zeroes {
            reply.extend([0; 124]);
        }
        let mut out = self.stream;
        out.write_all(&reply)?;
        Ok(Next::Break(Some(self.negotiated)))
    }

    fn info(&mut self, option: u32, data: &[u8]) -> io::Result<Next> {
        let mut fields = Fields(data);
        let parsed = fields.string().and_then(|name| {
            let wanted = fields.u16()?;
            (fields.0.len() == 2 * usize::from(wanted)).then_some(name)
        });
        let Some(name) = parsed else {
            self.reply(option, REP_ERR_INVALID, b"malformed")?;
            return Ok(Next::Continue(()));
        };
        if !name.is_empty() {
            self.unknown(option)?;
            return Ok(Next::Continue(()));
        }
        let mut export = INFO_EXPORT.to_be_bytes().to_vec();
        export.extend(self.export.size.to_be_bytes());
        export.extend(
            self.export
                .transmission_flags(&self.negotiated)
                .to_be_bytes(),
        );
        self.reply(option, REP_INFO, &export)?;
        let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, self.export.block, MAX_PAYLOAD] {
            sizes.extend(size.to_be_bytes());
        }
        self.reply(option, REP_INFO, &sizes)?;
        self.reply(option, REP_ACK, b"")?;
        Ok(match option {
            OPT_GO => Next::Break(Some(self.negotiated)),
            _ => Next::Continue(()),
        })
    }

    fn meta_context(&mut self, option: u32, data: &[u8]) -> io::Result<()> {
        let sets = option == OPT_SET_META_CONTEXT;
        if sets {
            self.negotiated.allocation = false;
        }
        if !self.negotiated.structured {
            return self.reply(option, REP_ERR_INVALID, b"needs structured replies");
        }
        let mut fields = Fields(data);
        let parsed = fields.string().and_then(|name| {
            let queries = fields.u32()?;
            let mut matched = queries == 0 && !sets;
            for _ in 0..queries {
                matched |= match fields.string()? {
                    b"base:allocation" => true,
                    // A namespace can be listed, but not set.
                    b"base:" => !sets,
                    _ => false,
                };
            }
            fields.is_empty().then_some((name, matched))
        });
        let Some((name, matched)) = parsed else {
            return self.reply(option, REP_ERR_INVALID, b"malformed");
        };
        if !name.is_empty() {
            return self.unknown(option);
        }
        if matched {
            self.negotiated.allocation |= sets;
            // In a list the id is reserved.
            let id = if sets { BASE_ALLOCATION_ID } else { 0 };
            let mut context = id.to_be_bytes().to_vec();
            context.extend(BASE_ALLOCATION.as_bytes());
            self.reply(option, REP_META_CONTEXT, &context)?;
        }
        self.reply(option, REP_ACK, b"")
    }

    fn unknown(&self, option: u32) -> io::Result<()> {
        self.reply(
            option,
            REP_ERR_UNKNOWN,
            b"the one export has the empty name",
        )
    }

    fn reply(&self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let mut reply = Vec::with_capacity(20 + data.len());
        reply.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        for number in [option, kind, data.len() as u32] {
            reply.extend(number.to_be_bytes());
        }
        reply.extend(data);
        let mut out = self.stream;
        out.write_all(&reply)
    }
}
