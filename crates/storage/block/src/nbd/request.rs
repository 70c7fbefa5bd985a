//! A request, and the check whether it can be carried out.

use std::io;
use std::ops::Range;

use super::export::Export;
use super::handshake::Negotiated;
use super::input::Input;
use super::proto::*;
use crate::serve::COMMANDS;

/// A request as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// To send bytes, `whole` in one chunk.
    Read { bytes: Range<u64>, whole: bool },
    /// To tell which bytes are zero, of one run or of several.
    BlockStatus { bytes: Range<u64>, one: bool },
    /// To decode bytes for later requests.
    Cache(Range<u64>),
    /// To write the payload; with `fua` it is durable before the reply.
    Write { bytes: Range<u64>, fua: bool },
    /// To make bytes zero: `allocate` leaves no holes, `fast` fails rather than write zeros.
    Zero {
        bytes: Range<u64>,
        allocate: bool,
        fast: bool,
        fua: bool,
    },
    /// To free the space of bytes.
    Trim { bytes: Range<u64>, fua: bool },
    /// To make durable what was written.
    Flush,
    /// To reply that all is well.
    Nothing,
    /// To refuse, with an error number and why.
    Refuse(u32, &'static str),
}

/// Zeros and trims of more bytes may take long.
const LONG: u64 = 1 << 20;

impl Action {
    /// Whether it may take so long that the next requests should not wait for it: it syncs, or what it decodes or
    /// writes has no bound.
    pub fn is_long(&self) -> bool {
        match self {
            Action::Flush | Action::Cache(_) => true,
            Action::Write { fua, .. } => *fua,
            Action::Zero { bytes, fua, .. } | Action::Trim { bytes, fua } => {
                *fua || bytes.end - bytes.start > LONG
            }
            Action::Read { .. }
            | Action::BlockStatus { .. }
            | Action::Nothing
            | Action::Refuse(..) => false,
        }
    }
}

impl Request {
    /// Bytes of a request without its payload.
    pub const LEN: usize = 28;

    /// Reads the next request without its payload. `None`: the client has ended the connection, or sent something else.
    ///
    /// # Errors
    /// The connection ended in the middle of one.
    pub fn read(input: &mut Input) -> io::Result<Option<Request>> {
        if input.is_at_end()? || input.u32()? != REQUEST_MAGIC {
            return Ok(None);
        }
        let head: [u8; 24] = input.array()?;
        let number = |range: Range<usize>| {
            let bytes = &head[range];
            bytes
                .iter()
                .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let request = Request {
            flags: number(0..2) as u16,
            command: number(2..4) as u16,
            cookie: number(4..12),
            offset: number(12..20),
            length: number(20..24) as u32,
        };
        match request.command {
            CMD_DISC => Ok(None),
            // Where the next request begins would be unknown.
            CMD_WRITE if request.length > MAX_PAYLOAD => Ok(None),
            _ => Ok(Some(request)),
        }
    }

    /// Bytes of its payload.
    pub fn payload(&self) -> u64 {
        match self.command {
            CMD_WRITE => self.length.into(),
            _ => 0,
        }
    }

    /// What it asks for, with places in the image.
    pub fn action(&self, export: &Export, negotiated: &Negotiated) -> Action {
        let writes = matches!(self.command, CMD_WRITE | CMD_TRIM | CMD_WRITE_ZEROES);
        if writes && !export.writable {
            return Action::Refuse(EPERM, "the image is read only");
        }
        let own = match self.command {
            CMD_READ if negotiated.structured => CMD_FLAG_DF,
            CMD_BLOCK_STATUS => CMD_FLAG_REQ_ONE,
            CMD_WRITE_ZEROES => CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO,
            _ => 0,
        };
        // Once it was offered, any command may have it.
        let all = if export.writable { CMD_FLAG_FUA } else { 0 };
        if self.flags & !(own | all) != 0 {
            return Action::Refuse(EINVAL, "flags that this command does not have");
        }
        match self.command {
            CMD_FLUSH if export.writable => return Action::Flush,
            CMD_FLUSH => return Action::Nothing,
            CMD_READ | CMD_CACHE | CMD_BLOCK_STATUS | CMD_WRITE | CMD_TRIM | CMD_WRITE_ZEROES => {}
            _ => return Action::Refuse(EINVAL, "no such command"),
        }
        let end = self.offset.checked_add(self.length.into());
        let Some(end) = end.filter(|&end| end <= export.size && end > self.offset) else {
            return match self.command {
                CMD_WRITE | CMD_WRITE_ZEROES if self.length > 0 => {
                    Action::Refuse(ENOSPC, "bytes beyond the end")
                }
                _ => Action::Refuse(EINVAL, "no bytes, or bytes beyond the end"),
            };
        };
        let bytes = export.start + self.offset..export.start + end;
        let fua = self.flags & CMD_FLAG_FUA != 0;
        match self.command {
            CMD_WRITE => Action::Write { bytes, fua },
            CMD_TRIM => Action::Trim { bytes, fua },
            CMD_WRITE_ZEROES => Action::Zero {
                bytes,
                allocate: self.flags & CMD_FLAG_NO_HOLE != 0,
                fast: self.flags & CMD_FLAG_FAST_ZERO != 0,
                fua,
            },
            CMD_READ if self.length > MAX_PAYLOAD => {
                Action::Refuse(EINVAL, "more than 32 MiB at once")
            }
            CMD_READ => Action::Read {
                bytes,
                whole: self.flags & CMD_FLAG_DF != 0,
            },
            CMD_BLOCK_STATUS if !negotiated.allocation => {
                Action::Refuse(EINVAL, "base:allocation was not negotiated")
            }
            CMD_BLOCK_STATUS => Action::BlockStatus {
                bytes,
                one: self.flags & CMD_FLAG_REQ_ONE != 0,
            },
            _ => Action::Cache(bytes),
        }
    }

    /// Its place in [`COMMANDS`].
    pub fn kind(&self) -> usize {
        match self.command {
            CMD_READ => 0,
            CMD_BLOCK_STATUS => 1,
            CMD_CACHE => 2,
            CMD_FLUSH => 3,
            CMD_WRITE => 4,
            CMD_TRIM => 5,
            CMD_WRITE_ZEROES => 6,
            _ => COMMANDS.len() - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_syncs_or_has_no_bound_is_long() {
        let export = Export {
            start: 0,
            size: 1 << 32,
            block: 4096,
            writable: true,
        };
        let action = |command, flags, length| {
            let request = Request {
                flags,
                command,
                cookie: 0,
                offset: 0,
                length,
            };
            request.action(&export, &Negotiated::default())
        };
        for (command, flags, length, long) in [
            (CMD_READ, 0, MAX_PAYLOAD, false),
            (CMD_FLUSH, 0, 0, true),
            (CMD_CACHE, 0, 4096, true),
            (CMD_WRITE, 0, MAX_PAYLOAD, false),
            (CMD_WRITE, CMD_FLAG_FUA, 512, true),
            (CMD_TRIM, 0, 4096, false),
            (CMD_TRIM, CMD_FLAG_FUA, 4096, true),
            (CMD_TRIM, 0, u32::MAX, true),
            (CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE, 4096, false),
            (CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE, u32::MAX, true),
            (CMD_WRITE_ZEROES, CMD_FLAG_FUA, 4096, true),
            (CMD_FLUSH, CMD_FLAG_NO_HOLE, 0, false),
        ] {
            let action = action(command, flags, length);
            assert_eq!(action.is_long(), long, "{action:?}");
        }
    }
}
