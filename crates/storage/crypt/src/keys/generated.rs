//! New passphrases.

use zeroize::Zeroizing;

use super::RandomError;

/// Crockford's 32 letters, of which none is easily taken for another.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const GROUPS: usize = 5;
const GROUP: usize = 5;

/// Generates a passphrase of 125 random bits: five groups of five letters and digits, joined by `-`.
///
/// # Errors
/// The operating system provides no randomness.
pub fn generated_passphrase() -> Result<Zeroizing<Vec<u8>>, RandomError> {
    let mut random = Zeroizing::new([0; GROUPS * GROUP]);
    getrandom::fill(&mut *random).map_err(RandomError)?;
    // The full capacity is reserved first, since a vector that grows leaves copies in memory.
    let mut text = Zeroizing::new(Vec::with_capacity(GROUPS * (GROUP + 1)));
    for (i, byte) in random.iter().enumerate() {
        if i > 0 && i % GROUP == 0 {
            text.push(b'-');
        }
        text.push(LETTERS[usize::from(byte % 32)]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passphrases_have_their_form_and_differ() {
        let [a, b] = [generated_passphrase(), generated_passphrase()].map(Result::unwrap);
        assert_ne!(a, b);
        let groups: Vec<_> = a.split(|&byte| byte == b'-').collect();
        assert_eq!(groups.len(), 5);
        let well = |group: &[u8]| group.len() == 5 && group.iter().all(|c| LETTERS.contains(c));
        assert!(groups.into_iter().all(well));
        let mut letters = LETTERS.to_vec();
        letters.dedup();
        assert_eq!(letters.len(), 32);
    }
}
