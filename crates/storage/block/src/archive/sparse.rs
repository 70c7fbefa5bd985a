//! Files with holes: of GNU's old format, as `tar -S` writes, and of pax version 1.0, as `bsdtar` does.

use std::io;

use super::header::{BLOCK, Header, decimal, number};
use super::walk::Bytes;

/// The most pieces of a file.
const MAX_PIECES: usize = 1 << 20;

/// Where the header of GNU's old format has the pieces, how many, whether there are more, and bytes of the file.
const PIECES: usize = 386;
const IN_HEADER: usize = 4;
const MORE: usize = 482;
const REAL_SIZE: std::ops::Range<usize> = 483..495;
/// Bytes of a piece: where it begins and its length.
const PIECE: usize = 24;
/// How many there are in a block of further ones, and where that says whether there are more.
const IN_BLOCK: usize = 21;
const MORE_IN_BLOCK: usize = 504;

/// The map of a file with holes.
pub struct Map {
    /// Bytes of the file.
    pub size: u64,
    /// Where pieces begin in it, and their lengths.
    pub pieces: Vec<(u64, u64)>,
    /// Bytes in front of the pieces that the map takes in the tar.
    pub taken: u64,
}

/// The map of GNU's old format, of which further parts begin at byte `at`. `None` if it is damaged.
pub fn of_gnu(header: &Header, at: u64, from: &mut impl Bytes) -> io::Result<Option<Map>> {
    let Some(size) = number(&header.0[REAL_SIZE]) else {
        return Ok(None);
    };
    let (mut pieces, mut taken) = (Vec::new(), 0);
    let mut block = header.0[PIECES..PIECES + IN_HEADER * PIECE].to_vec();
    let mut more = header.0[MORE] != 0;
    loop {
        for piece in block.chunks_exact(PIECE) {
            let (start, len) = piece.split_at(PIECE / 2);
            // Those that are not in use are zero.
            if start[0] == 0 || len[0] == 0 {
                break;
            }
            match number(start).zip(number(len)) {
                Some(piece) if pieces.len() < MAX_PIECES => pieces.push(piece),
                _ => return Ok(None),
            }
        }
        if !more {
            return Ok(Some(Map {
                size,
                pieces,
                taken,
            }));
        }
        let next = from.bytes(at + taken, BLOCK as usize)?;
        if next.len() < BLOCK as usize || taken / BLOCK > (MAX_PIECES / IN_BLOCK) as u64 {
            return Ok(None);
        }
        taken += BLOCK;
        more = next[MORE_IN_BLOCK] != 0;
        block = next[..IN_BLOCK * PIECE].to_vec();
    }
}

/// The pieces of pax version 1.0, which stand in front of the bytes from byte `at` on: lines of decimal numbers. `None` if
/// they are damaged.
pub fn of_pax(size: u64, at: u64, from: &mut impl Bytes) -> io::Result<Option<Map>> {
    let (mut text, mut taken) = (Vec::new(), 0);
    let (mut numbers, mut wanted) = (Vec::new(), None);
    while wanted.is_none_or(|wanted| numbers.len() < wanted) {
        let block = from.bytes(at + taken, BLOCK as usize)?;
        if block.len() < BLOCK as usize {
            return Ok(None);
        }
        taken += BLOCK;
        text.extend(block);
        while wanted.is_none_or(|wanted| numbers.len() < wanted)
            && let Some(end) = text.iter().position(|&byte| byte == b'\n')
        {
            let Some(number) = decimal(&text[..end]) else {
                return Ok(None);
            };
            text.drain(..=end);
            match wanted {
                None if number <= MAX_PIECES as u64 => wanted = Some(2 * number as usize),
                None => return Ok(None),
                Some(_) => numbers.push(number),
            }
        }
        // No number is as long.
        if text.len() > BLOCK as usize && wanted.is_none_or(|wanted| numbers.len() < wanted) {
            return Ok(None);
        }
    }
    let pieces = numbers
        .chunks_exact(2)
        .map(|two| (two[0], two[1]))
        .collect();
    Ok(Some(Map {
        size,
        pieces,
        taken,
    }))
}
