//! Fixed newstyle negotiation: from the greeting to the first request.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use evener_files::{error_text, one_line};

use super::channel::Channel;
use super::export::{Export, NamedExport, find};
use super::input::{Fields, Input};
use super::proto::*;
use super::tls::Tls;
use crate::certificates;

/// An option with longer data is refused. Names have at most 4096 bytes.
const MAX_OPTION: u32 = 64 << 10;
/// If the data are longer than this, the connection ends.
const MAX_SKIP: u32 = MAX_PAYLOAD;
/// The most characters of a name that are logged.
const SHOWN: usize = 100;
/// The most options of a client.
const MAX_OPTIONS: u32 = 1024;

/// What was negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Replies are structured.
    pub structured: bool,
    /// `base:allocation` may be asked for.
    pub allocation: bool,
}

impl Export {
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

/// What clients may choose, and how.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    pub exports: &'a [NamedExport],
    pub tls: Option<&'a Tls>,
}

/// The export that a client chose, and how it is served.
pub struct Agreed<'a> {
    pub export: &'a NamedExport,
    pub negotiated: Negotiated,
}

/// Greets a client and answers its options. `None`: it aborted, or broke the protocol. `refused` becomes the last thing
/// that it was refused, if any.
///
/// # Errors
/// The connection ended in the middle.
pub fn negotiate<'a>(
    stream: &Channel,
    input: &mut Input,
    offer: Offer<'a>,
    refused: &mut Option<String>,
) -> io::Result<Option<Agreed<'a>>> {
    let mut greeting = Vec::with_capacity(18);
    greeting.extend(NBDMAGIC.to_be_bytes());
    greeting.extend(IHAVEOPT.to_be_bytes());
    greeting.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
    stream.write_all(&greeting)?;
    let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
    let flags = input.u32()?;
    if flags & !known != 0 {
        return Ok(None);
    }
    let mut negotiation = Negotiation {
        stream,
        offer,
        refused,
        structured: false,
        allocation: None,
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
        let next = match option {
            OPT_STARTTLS => negotiation.start_tls(&data, input)?,
            _ => negotiation.option(option, &data)?,
        };
        if let ControlFlow::Break(end) = next {
            return Ok(end);
        }
    }
    Ok(None)
}

/// A negotiation under way.
struct Negotiation<'a, 's> {
    stream: &'s Channel,
    offer: Offer<'a>,
    refused: &'s mut Option<String>,
    structured: bool,
    /// The export for which `base:allocation` was set.
    allocation: Option<&'a NamedExport>,
    no_zeroes: bool,
}

type Next<'a> = ControlFlow<Option<Agreed<'a>>>;

impl<'a> Negotiation<'a, '_> {
    fn agree(&self, export: &'a NamedExport) -> Agreed<'a> {
        let set = |chosen: &NamedExport| std::ptr::eq(chosen, export);
        Agreed {
            export,
            negotiated: Negotiated {
                structured: self.structured,
                allocation: self.allocation.is_some_and(set),
            },
        }
    }

    /// The size and the flags of an export, as they are sent.
    fn described(&self, export: &'a NamedExport) -> [u8; 10] {
        let told = export.export();
        let flags = told.transmission_flags(&self.agree(export).negotiated);
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&told.size.to_be_bytes());
        bytes[8..].copy_from_slice(&flags.to_be_bytes());
        bytes
    }

    fn list(&self) -> io::Result<()> {
        for export in self.offer.exports {
            let mut entry = (export.name.len() as u32).to_be_bytes().to_vec();
            entry.extend(export.name.as_bytes());
            self.reply(OPT_LIST, REP_SERVER, &entry)?;
        }
        self.reply(OPT_LIST, REP_ACK, b"")
    }

    /// Begins TLS if the server has it and the client sent nothing behind this in clear text: an attacker on the way
    /// may have added it.
    fn start_tls(&mut self, data: &[u8], input: &Input) -> io::Result<Next<'a>> {
        let go_on = Ok(Next::Continue(()));
        let Some(tls) = self.offer.tls else {
            *self.refused = Some("it begins TLS, and there are no --tls-certs".to_owned());
            self.reply(OPT_STARTTLS, REP_ERR_UNSUP, b"not supported")?;
            return go_on;
        };
        if !data.is_empty() || self.stream.has_tls() {
            self.reply(OPT_STARTTLS, REP_ERR_INVALID, b"not now")?;
            return go_on;
        }
        if input.has_more() {
            return Ok(Next::Break(None));
        }
        self.reply(OPT_STARTTLS, REP_ACK, b"")?;
        let begun = self.stream.start_tls(Arc::clone(&tls.config));
        begun.inspect_err(|error| *self.refused = Some(broken(error)))?;
        *self.refused = None;
        // What was agreed in clear text does not hold.
        self.structured = false;
        self.allocation = None;
        go_on
    }

    fn option(&mut self, option: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let wants_tls = self.offer.tls.is_some_and(|tls| tls.is_required);
        if wants_tls && !self.stream.has_tls() && option != OPT_ABORT {
            *self.refused = Some("it has not begun TLS, which is required".to_owned());
            // The protocol has no error reply to EXPORT_NAME.
            if option == OPT_EXPORT_NAME {
                return Ok(Next::Break(None));
            }
            self.reply(option, REP_ERR_TLS_REQD, b"this server wants TLS")?;
            return Ok(Next::Continue(()));
        }
        match option {
            OPT_EXPORT_NAME => return self.export_name(data),
            OPT_ABORT => {
                self.reply(option, REP_ACK, b"")?;
                return Ok(Next::Break(None));
            }
            OPT_INFO | OPT_GO => return self.info(option, data),
            OPT_LIST if data.is_empty() => self.list()?,
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
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
    fn export_name(&mut self, name: &[u8]) -> io::Result<Next<'a>> {
        let Some(export) = find(self.offer.exports, name) else {
            *self.refused = Some(no_export(name));
            return Ok(Next::Break(None));
        };
        let mut reply = self.described(export).to_vec();
        if !self.no_zeroes {
            reply.extend([0; 124]);
        }
        self.stream.write_all(&reply)?;
        Ok(Next::Break(Some(self.agree(export))))
    }

    fn info(&mut self, option: u32, data: &[u8]) -> io::Result<Next<'a>> {
        let mut fields = Fields(data);
        let parsed = fields.string().and_then(|name| {
            let wanted = fields.u16()?;
            (fields.0.len() == 2 * usize::from(wanted)).then_some(name)
        });
        let Some(name) = parsed else {
            self.reply(option, REP_ERR_INVALID, b"malformed")?;
            return Ok(Next::Continue(()));
        };
        let Some(export) = find(self.offer.exports, name) else {
            self.unknown(option, name)?;
            return Ok(Next::Continue(()));
        };
        let mut described = INFO_EXPORT.to_be_bytes().to_vec();
        described.extend(self.described(export));
        self.reply(option, REP_INFO, &described)?;
        let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, export.export().block, MAX_PAYLOAD] {
            sizes.extend(size.to_be_bytes());
        }
        self.reply(option, REP_INFO, &sizes)?;
        self.reply(option, REP_ACK, b"")?;
        Ok(match option {
            OPT_GO => Next::Break(Some(self.agree(export))),
            _ => Next::Continue(()),
        })
    }

    fn meta_context(&mut self, option: u32, data: &[u8]) -> io::Result<()> {
        let sets = option == OPT_SET_META_CONTEXT;
        if sets {
            self.allocation = None;
        }
        if !self.structured {
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
        let Some(export) = find(self.offer.exports, name) else {
            return self.unknown(option, name);
        };
        if matched {
            if sets {
                self.allocation = Some(export);
            }
            // In a list the id is reserved.
            let id = if sets { BASE_ALLOCATION_ID } else { 0 };
            let mut context = id.to_be_bytes().to_vec();
            context.extend(BASE_ALLOCATION.as_bytes());
            self.reply(option, REP_META_CONTEXT, &context)?;
        }
        self.reply(option, REP_ACK, b"")
    }

    fn unknown(&mut self, option: u32, name: &[u8]) -> io::Result<()> {
        *self.refused = Some(no_export(name));
        self.reply(option, REP_ERR_UNKNOWN, b"no export has this name")
    }

    fn reply(&self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let mut reply = Vec::with_capacity(20 + data.len());
        reply.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        for number in [option, kind, data.len() as u32] {
            reply.extend(number.to_be_bytes());
        }
        reply.extend(data);
        self.stream.write_all(&reply)
    }
}

/// Why TLS did not begin.
fn broken(error: &io::Error) -> String {
    match (certificates::said(error), error.kind()) {
        (Some(said), _) => format!("it {said}"),
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "it ended the connection while TLS began; perhaps it does not trust the certificate"
                .to_owned()
        }
        (None, io::ErrorKind::WouldBlock) => "it is silent while TLS begins".to_owned(),
        (None, _) => format!("TLS did not begin: {}", error_text(error)),
    }
}

/// What a client asked for that is not there.
fn no_export(name: &[u8]) -> String {
    let name = one_line(&String::from_utf8_lossy(name));
    let shown: String = name.chars().take(SHOWN).collect();
    let cut = if shown.len() < name.len() { "..." } else { "" };
    format!("it asks for export '{shown}{cut}', which does not exist")
}
