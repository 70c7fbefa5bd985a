//! Replies, sent from where their bytes lie.

use std::io::{self, IoSlice};
use std::ops::Range;

use super::proto::*;
use super::stream::Stream;
use crate::serve::Piece;

/// What zeros are sent from where they have to be sent.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
/// So few bytes are copied, so that several replies can go to the system in one call.
const COPIED: u64 = 8 << 10;
/// Bytes of replies that may wait for others.
const WAITING: usize = 64 << 10;

/// Replies that are put together, until they are sent. Kept, so that it need not grow again.
#[derive(Debug, Default)]
pub struct Reply {
    heads: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// A range of the heads.
    Head(Range<usize>),
    /// A piece, by number.
    Piece(usize),
}

impl Reply {
    fn clear(&mut self) {
        self.heads.clear();
        self.parts.clear();
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether what there is could wait for more: it needs no pieces, and is not much.
    pub fn can_wait(&self) -> bool {
        self.heads.len() < WAITING && matches!(self.parts[..], [Part::Head(_)])
    }

    fn head(&mut self, bytes: &[u8]) {
        let from = self.heads.len();
        self.heads.extend(bytes);
        let to = self.heads.len();
        match self.parts.last_mut() {
            Some(Part::Head(range)) if range.end == from => range.end = to,
            _ => self.parts.push(Part::Head(from..to)),
        }
    }

    pub fn simple(&mut self, cookie: u64, error: u32) {
        self.head(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        self.head(&error.to_be_bytes());
        self.head(&cookie.to_be_bytes());
    }

    fn chunk(&mut self, cookie: u64, done: bool, kind: u16, length: u32) {
        let flags = if done { REPLY_FLAG_DONE } else { 0 };
        self.head(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        self.head(&flags.to_be_bytes());
        self.head(&kind.to_be_bytes());
        self.head(&cookie.to_be_bytes());
        self.head(&length.to_be_bytes());
    }

    /// The whole of a structured reply that says all is well.
    pub fn none(&mut self, cookie: u64) {
        self.chunk(cookie, true, REPLY_TYPE_NONE, 0);
    }

    /// The end of a structured reply that says what went wrong, and where if it is known.
    pub fn error(&mut self, cookie: u64, error: u32, why: &str, at: Option<u64>) {
        let (kind, more) = match at {
            Some(_) => (REPLY_TYPE_ERROR_OFFSET, 8),
            None => (REPLY_TYPE_ERROR, 0),
        };
        self.chunk(cookie, true, kind, 6 + why.len() as u32 + more);
        self.head(&error.to_be_bytes());
        self.head(&(why.len() as u16).to_be_bytes());
        self.head(why.as_bytes());
        if let Some(at) = at {
            self.head(&at.to_be_bytes());
        }
    }

    /// Runs of bytes, each with its flags.
    pub fn block_status(&mut self, cookie: u64, runs: &[(u32, u32)]) {
        self.chunk(
            cookie,
            true,
            REPLY_TYPE_BLOCK_STATUS,
            4 + 8 * runs.len() as u32,
        );
        self.head(&BASE_ALLOCATION_ID.to_be_bytes());
        for (length, flags) in runs {
            self.head(&length.to_be_bytes());
            self.head(&flags.to_be_bytes());
        }
    }

    /// Pieces as they are, zeros too.
    pub fn plain(&mut self, pieces: &[Piece]) {
        self.pieces(pieces, 0..pieces.len());
    }

    fn pieces(&mut self, pieces: &[Piece], which: Range<usize>) {
        if pieces[which.clone()].iter().map(Piece::len).sum::<u64>() > COPIED {
            self.parts.extend(which.map(Part::Piece));
            return;
        }
        for piece in &pieces[which] {
            match piece {
                Piece::Zero(len) => self.head(&ZEROS[..*len as usize]),
                Piece::Data(plain, range) => self.head(&plain.bytes()[range.clone()]),
            }
        }
    }

    /// All pieces in one chunk that begins at byte `at` of the image.
    pub fn whole(&mut self, cookie: u64, at: u64, pieces: &[Piece]) {
        let length = pieces.iter().map(Piece::len).sum::<u64>();
        self.chunk(cookie, true, REPLY_TYPE_OFFSET_DATA, 8 + length as u32);
        self.head(&at.to_be_bytes());
        self.plain(pieces);
    }

    /// Pieces from byte `at` on in as few chunks as there are runs of data and of zeros.
    pub fn chunks(&mut self, cookie: u64, mut at: u64, pieces: &[Piece], done: bool) {
        let is_zero = |piece: &Piece| matches!(piece, Piece::Zero(_));
        let mut first = 0;
        for run in pieces.chunk_by(|a, b| is_zero(a) == is_zero(b)) {
            let length = run.iter().map(Piece::len).sum::<u64>();
            let after = first + run.len();
            let done = done && after == pieces.len();
            if is_zero(&run[0]) {
                self.chunk(cookie, done, REPLY_TYPE_OFFSET_HOLE, 12);
                self.head(&at.to_be_bytes());
                self.head(&(length as u32).to_be_bytes());
            } else {
                self.chunk(cookie, done, REPLY_TYPE_OFFSET_DATA, 8 + length as u32);
                self.head(&at.to_be_bytes());
                self.pieces(pieces, first..after);
            }
            at += length;
            first = after;
        }
    }

    /// Sends all there is, the last of it with the pieces it was made of, and begins anew.
    pub fn send(&mut self, stream: &Stream, pieces: &[Piece]) -> io::Result<()> {
        let mut slices = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            match part {
                Part::Head(range) => slices.push(IoSlice::new(&self.heads[range.clone()])),
                Part::Piece(number) => match &pieces[*number] {
                    Piece::Data(plain, range) => {
                        slices.push(IoSlice::new(&plain.bytes()[range.clone()]));
                    }
                    Piece::Zero(len) => {
                        let (whole, rest) = (len / ZEROS.len() as u64, len % ZEROS.len() as u64);
                        slices.extend((0..whole).map(|_| IoSlice::new(&ZEROS)));
                        slices.push(IoSlice::new(&ZEROS[..rest as usize]));
                    }
                },
            }
        }
        let sent = stream.write_slices(&mut slices);
        self.clear();
        sent
    }
}
