//! Weighted rendezvous hashing: each pair of key and origin has a time, exponentially distributed with the origin's weight
//! as its rate, and the origin with the shortest time is the first for the key. The shortest of such times is that of an
//! origin in proportion to its weight. A change of one weight changes the times of that origin only.

use sha2::{Digest, Sha256};

/// The time of an origin for a key. Origins are ordered by it.
pub fn cost(key: &str, origin: &str, weight: f64) -> f64 {
    let mut hash = Sha256::new();
    // The length keeps two pairs with the same letters apart.
    hash.update((key.len() as u64).to_be_bytes());
    hash.update(key);
    hash.update(origin);
    let digest: [u8; 32] = hash.finalize().into();
    let bits = digest[..8]
        .iter()
        .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    // Uniform in (0, 1), with all the bits that a double has.
    let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -uniform.ln() / weight
}
