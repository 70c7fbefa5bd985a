//! ASCII armor: PEM (RFC 7468) in its strict form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evener_files::Error;

/// The line that armor begins with.
pub(crate) const BEGIN: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
/// The line that it ends with.
const END: &[u8] = b"-----END AGE ENCRYPTED FILE-----";
/// Characters of a whole line, and the bytes they stand for.
const LINE: usize = 64;
const LINE_BYTES: usize = 48;
/// The most white space before the armor, and after it.
const MOST_SPACE: usize = 1024;
/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Whether an input that begins with `front` is armored. `whole` says that the input has no more.
pub(crate) fn is_armored(front: &[u8], whole: bool) -> bool {
    let rest = front.trim_ascii_start();
    let known = rest.len().min(BEGIN.len());
    let enough = known == BEGIN.len() || !whole;
    !front.is_empty() && enough && rest[..known] == BEGIN[..known]
}

/// Armored text cannot be read.
#[derive(Debug)]
pub enum ArmorError {
    /// The input cannot be read.
    Input(Error),
    /// The armor is damaged.
    Damaged {
        /// The line, counted from 1.
        line: u64,
        /// The problem.
        what: &'static str,
    },
}

/// Removes armor.
pub struct Decoder {
    /// Bytes that were read and not yet looked at, from `at` on.
    text: Vec<u8>,
    at: usize,
    /// Bytes read from the input.
    read: u64,
    ended: bool,
    /// Decoded bytes, of which those from `taken` on are left.
    plain: [u8; LINE_BYTES],
    taken: usize,
    decoded: usize,
    line: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Body,
    /// A line that was short was the last.
    Last,
    After,
}

impl Decoder {
    /// Creates a decoder for an input whose first bytes, `front`, have been read already.
    pub fn new(front: &[u8]) -> Decoder {
        Decoder {
            text: front.to_vec(),
            at: 0,
            read: front.len() as u64,
            ended: false,
            plain: [0; LINE_BYTES],
            taken: 0,
            decoded: 0,
            line: 0,
            state: State::Before,
        }
    }

    /// Fills `buffer` with decoded bytes, until the input ends. `read` reads the input: it fills a buffer with the
    /// bytes from an offset on.
    ///
    /// # Errors
    /// The input cannot be read, or the armor is damaged.
    pub fn fill(
        &mut self,
        buffer: &mut [u8],
        mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
    ) -> Result<usize, ArmorError> {
        let mut got = 0;
        while got < buffer.len() {
            if self.taken == self.decoded && !self.next_line(&mut read)? {
                break;
            }
            let some = (self.decoded - self.taken).min(buffer.len() - got);
            buffer[got..got + some].copy_from_slice(&self.plain[self.taken..self.taken + some]);
            self.taken += some;
            got += some;
        }
        Ok(got)
    }

    /// Decodes the next line with bytes. `false` at the end.
    fn next_line(
        &mut self,
        read: &mut impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
    ) -> Result<bool, ArmorError> {
        if self.state == State::Before {
            self.space(read)?;
            self.line += 1;
            let line = self.take_line(read)?;
            if self.text[line] != *BEGIN {
                return Err(self.damaged("is not the one that armor begins with"));
            }
            self.state = State::Body;
        }
        if self.state == State::After {
            return Ok(false);
        }
        self.line += 1;
        let line = self.take_line(read)?;
        let text = &self.text[line];
        if text == END {
            self.state = State::After;
            self.space(read)?;
            return match self.at == self.text.len() {
                true => Ok(false),
                false => Err(self.damaged("is followed by something else")),
            };
        }
        if self.state == State::Last {
            return Err(self.damaged("should be the one that armor ends with"));
        }
        if text.is_empty() || text.len() > LINE {
            return Err(self.damaged("has no characters or more than 64"));
        }
        let Ok(decoded) = STANDARD.decode_slice(text, &mut self.plain) else {
            return Err(self.damaged("is not base64 in its canonical form"));
        };
        if text.len() < LINE || decoded < LINE_BYTES {
            self.state = State::Last;
        }
        (self.taken, self.decoded) = (0, decoded);
        Ok(true)
    }

    /// Takes a line, without its end. An input that ends without one has a last line all the same.
    fn take_line(
        &mut self,
        read: &mut impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
    ) -> Result<std::ops::Range<usize>, ArmorError> {
        let mut searched = 0;
        loop {
            let rest = &self.text[self.at + searched..];
            if let Some(found) = rest.iter().position(|&byte| byte == b'\n') {
                let from = self.at;
                let end = from + searched + found;
                self.at = end + 1;
                let carriage = end > from && self.text[end - 1] == b'\r';
                return Ok(from..end - usize::from(carriage));
            }
            searched = self.text.len() - self.at;
            // Lines are short, so the rest of a line that is not is of no use.
            if searched > BLOCK {
                return Err(self.damaged("has no characters or more than 64"));
            }
            if !self.more(read)? {
                let from = self.at;
                self.at = self.text.len();
                return match from < self.at {
                    true => Ok(from..self.at),
                    false => Err(self.damaged("is missing: the armor was cut")),
                };
            }
        }
    }

    /// Passes over white space.
    fn space(
        &mut self,
        read: &mut impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
    ) -> Result<(), ArmorError> {
        let mut passed = 0;
        loop {
            while let Some(byte) = self
                .text
                .get(self.at)
                .filter(|byte| byte.is_ascii_whitespace())
            {
                self.line += u64::from(self.state == State::Before && *byte == b'\n');
                self.at += 1;
                passed += 1;
            }
            if passed > MOST_SPACE {
                return Err(self.damaged("has more than 1024 characters of white space beside it"));
            }
            if self.at < self.text.len() || !self.more(read)? {
                return Ok(());
            }
        }
    }

    /// Reads on. `false` at the end of the input.
    fn more(
        &mut self,
        read: &mut impl FnMut(&mut [u8], u64) -> Result<usize, Error>,
    ) -> Result<bool, ArmorError> {
        if self.ended {
            return Ok(false);
        }
        self.text.drain(..self.at);
        self.at = 0;
        let from = self.text.len();
        self.text.resize(from + BLOCK, 0);
        let got = read(&mut self.text[from..], self.read).map_err(ArmorError::Input)?;
        self.text.truncate(from + got);
        self.read += got as u64;
        self.ended = got < BLOCK;
        Ok(got > 0)
    }

    fn damaged(&self, what: &'static str) -> ArmorError {
        let line = self.line;
        ArmorError::Damaged { line, what }
    }
}

/// Adds armor.
#[derive(Default)]
pub struct Encoder {
    /// Bytes of a line that is not whole yet.
    rest: Vec<u8>,
    begun: bool,
}

impl Encoder {
    /// Returns the text of all complete lines after `bytes`.
    pub fn update(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text =
            Vec::with_capacity((bytes.len() + LINE_BYTES) / LINE_BYTES * (LINE + 1) + LINE);
        if !std::mem::replace(&mut self.begun, true) {
            text.extend_from_slice(BEGIN);
            text.push(b'\n');
        }
        let missing = (LINE_BYTES - self.rest.len()) % LINE_BYTES;
        let (first, bytes) = bytes.split_at(missing.min(bytes.len()));
        self.rest.extend_from_slice(first);
        if self.rest.len() == LINE_BYTES {
            push_line(&mut text, &self.rest);
            self.rest.clear();
        }
        let lines = bytes.chunks_exact(LINE_BYTES);
        self.rest.extend_from_slice(lines.remainder());
        lines.for_each(|line| push_line(&mut text, line));
        text
    }

    /// Returns the end of the text.
    pub fn finish(self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.begun {
            text.extend_from_slice(BEGIN);
            text.push(b'\n');
        }
        if !self.rest.is_empty() {
            push_line(&mut text, &self.rest);
        }
        text.extend_from_slice(END);
        text.push(b'\n');
        text
    }
}

fn push_line(text: &mut Vec<u8>, bytes: &[u8]) {
    let from = text.len();
    text.resize(from + bytes.len().div_ceil(3) * 4, 0);
    STANDARD
        .encode_slice(bytes, &mut text[from..])
        .expect("there is room for every group of three bytes");
    text.push(b'\n');
}

/// Bytes of the text of `bytes` bytes.
pub(crate) fn armored_len(bytes: u64) -> u64 {
    let (line, whole) = (LINE_BYTES as u64, LINE as u64 + 1);
    let rest = bytes % line;
    let last = match rest {
        0 => 0,
        rest => rest.div_ceil(3) * 4 + 1,
    };
    (BEGIN.len() + END.len() + 2) as u64 + bytes / line * whole + last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &[u8], front: usize, piece: usize) -> Result<Vec<u8>, String> {
        let mut decoder = Decoder::new(&text[..front.min(text.len())]);
        let mut plain = Vec::new();
        let mut room = vec![0; piece];
        loop {
            let got = decoder.fill(&mut room, |room, byte| {
                let rest = &text[byte as usize..];
                let some = rest.len().min(room.len());
                room[..some].copy_from_slice(&rest[..some]);
                Ok(some)
            });
            match got {
                Ok(got) => plain.extend_from_slice(&room[..got]),
                Err(error) => return Err(format!("{error:?}")),
            }
            if got.is_ok_and(|got| got < piece) {
                return Ok(plain);
            }
        }
    }

    #[test]
    fn what_was_armored_comes_back_whatever_the_pieces() {
        for length in [1, 47, 48, 49, 95, 96, 97, 1000, 100_000] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            for piece in [1, 16, 48, 70, 65536] {
                let mut encoder = Encoder::default();
                let mut text: Vec<u8> = bytes
                    .chunks(piece)
                    .flat_map(|piece| encoder.update(piece))
                    .collect();
                text.extend(encoder.finish());
                assert_eq!(text.len() as u64, armored_len(length as u64));
                assert!(
                    decoded(&text, 36, piece).unwrap() == bytes,
                    "{length} {piece}"
                );
            }
        }
    }

    #[test]
    fn armor_that_was_changed_is_refused() {
        let mut encoder = Encoder::default();
        let mut text = encoder.update(&[9; 200]);
        text.extend(encoder.finish());
        for cut in 1..text.len() - 1 {
            let done = decoded(&text[..cut], 0, 64);
            assert!(done.is_err() || cut == 0, "{cut}: {done:?}");
        }
        for extra in [&b"x"[..], b"-----BEGIN AGE ENCRYPTED FILE-----\n"] {
            assert!(decoded(&[&text, extra].concat(), 0, 64).is_err());
        }
        assert_eq!(
            decoded(&[b" \r\n", &text[..], b"\n \n"].concat(), 2, 64).unwrap(),
            [9; 200]
        );
    }
}
