//! Packets that have an adaptation field and nothing else.

use super::packet::{LEN, SYNC};

/// A packet without payload whose adaptation field begins with `flags`, then `fields`; the rest is stuffing.
fn adaptation(pid: u16, counter: u8, flags: u8, fields: &[u8]) -> [u8; LEN] {
    let mut packet = [0xff; LEN];
    let [high, low] = (pid & 0x1fff).to_be_bytes();
    packet[..6].copy_from_slice(&[
        SYNC,
        high,
        low,
        0x20 | counter & 0xf,
        (LEN - 5) as u8,
        flags,
    ]);
    packet[6..6 + fields.len()].copy_from_slice(fields);
    packet
}

/// Says that packets of `pid` are missing. `counter` is one less than that of the next with payload: packets without
/// payload do not count (H.222.0, clause 2.4.3.3).
pub fn discontinuity(pid: u16, counter: u8) -> [u8; LEN] {
    adaptation(pid, counter, 0x80, &[])
}

/// Says what time it is, in units of 27 MHz. `counter` is that of the last packet of `pid` with payload.
pub fn clock(pid: u16, counter: u8, pcr: u64) -> [u8; LEN] {
    adaptation(pid, counter, 0x10, &pcr_field(pcr))
}

/// Says that another clock begins, and what time it is by it. `counter` is as for [`clock`], or for [`discontinuity`] if
/// packets of `pid` are missing as well.
pub fn new_clock(pid: u16, counter: u8, pcr: u64) -> [u8; LEN] {
    adaptation(pid, counter, 0x90, &pcr_field(pcr))
}

/// A PCR as it is written (H.222.0, clause 2.4.3.5).
pub fn pcr_field(pcr: u64) -> [u8; 6] {
    let base = pcr / 300 % (1 << 33);
    let field = base << 15 | 0x7e00 | (pcr % 300);
    let [_, _, bytes @ ..] = field.to_be_bytes();
    bytes
}
