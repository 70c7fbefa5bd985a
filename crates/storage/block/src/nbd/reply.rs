//! Replies. Large pieces are sent from where they lie in memory.

use std::io::{self, IoSlice};
use std::ops::Range;

use super::channel::Channel;

use super::proto::*;
use crate::serve::Piece;
use crate::zero::ZEROS;

/// Up to this number of bytes are copied, so that several replies can be sent with one system call.
const MAX_COPIED: u64 = 8 << 10;
/// Bytes of replies that may be held back.
const MAX_HELD: usize = 64 << 10;

/// Replies that are not sent yet. Its memory is kept from one to the next.
#[derive(Debug, Default)]
pub struct Reply {
    heads: Vec<u8>,
    parts: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
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

    /// Whether it can be held back: it refers to no pieces, and is short.
    pub fn can_be_held(&self) -> bool {
        self.heads.len() < MAX_HELD && matches!(self.parts[..], [Segment::Head(_)])
    }

    fn head(&mut self, bytes: &[u8]) {
        let from = self.heads.len();
        self.heads.extend(bytes);
        let to = self.heads.len();
        match self.parts.last_mut() {
            Some(Segment::Head(range)) if range.end == from => range.end = to,
            _ => self.parts.push(Segment::Head(from..to)),
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

    /// A structured reply without content.
    pub fn none(&mut self, cookie: u64) {
        self.chunk(cookie, true, REPLY_TYPE_NONE, 0);
    }

    /// The last chunk of a structured reply that failed: why, and where if that is known.
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

    /// The bytes of pieces, zeros too.
    pub fn data(&mut self, pieces: &[Piece]) {
        self.pieces(pieces, 0..pieces.len());
    }

    fn pieces(&mut self, pieces: &[Piece], which: Range<usize>) {
        if pieces[which.clone()].iter().map(Piece::len).sum::<u64>() > MAX_COPIED {
            self.parts.extend(which.map(Segment::Piece));
            return;
        }
        for piece in &pieces[which] {
            match piece {
                Piece::Zero(len) => self.head(&ZEROS[..*len as usize]),
                Piece::Data(block, range) => self.head(&block.bytes()[range.clone()]),
            }
        }
    }

    /// All pieces in one chunk that begins at byte `at` of the image.
    pub fn whole(&mut self, cookie: u64, at: u64, pieces: &[Piece]) {
        let length = pieces.iter().map(Piece::len).sum::<u64>();
        self.chunk(cookie, true, REPLY_TYPE_OFFSET_DATA, 8 + length as u32);
        self.head(&at.to_be_bytes());
        self.data(pieces);
    }

    /// Pieces from byte `at` on, a chunk for each run of data or of zeros.
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

    /// Sends all, and clears it. `pieces` are those that the last reply was made of.
    pub fn send(&mut self, stream: &Channel, pieces: &[Piece]) -> io::Result<()> {
        let mut slices = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            match part {
                Segment::Head(range) => slices.push(IoSlice::new(&self.heads[range.clone()])),
                Segment::Piece(number) => match &pieces[*number] {
                    Piece::Data(block, range) => {
                        slices.push(IoSlice::new(&block.bytes()[range.clone()]));
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
