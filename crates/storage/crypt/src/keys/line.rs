//! Reading secret lines.

use std::fs::File;
use std::io::{self, Read};

use zeroize::{Zeroize, Zeroizing};

/// Reads a line of at most `most` bytes. Returns the line without its line end, and whether it had one. Nothing after
/// the line is read, which takes one system call per byte.
///
/// # Errors
/// The read fails.
pub fn secret_line(mut file: &File, most: usize) -> io::Result<(Zeroizing<Vec<u8>>, bool)> {
    // The full capacity is reserved first, since a vector that grows leaves copies in memory.
    let mut line = Zeroizing::new(Vec::with_capacity(most));
    let mut byte = [0];
    let ended = loop {
        if line.len() == most {
            break false;
        }
        match file.read(&mut byte) {
            Ok(0) => break false,
            Ok(_) if byte == *b"\n" => break true,
            Ok(_) => line.push(byte[0]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    };
    byte.zeroize();
    Ok((line, ended))
}
