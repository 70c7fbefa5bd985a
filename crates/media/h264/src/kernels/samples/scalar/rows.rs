//! Whole rows: smaller ones, and interleaving.

pub fn halve(to: &mut [u8], above: &[u8], below: &[u8]) {
    assert!(above.len() >= 2 * to.len() && below.len() >= 2 * to.len());
    let above = above.as_chunks::<2>().0.iter();
    let below = below.as_chunks::<2>().0.iter();
    for (to, (above, below)) in to.iter_mut().zip(above.zip(below)) {
        let four = above.iter().chain(below);
        let sum: u16 = four.map(|&v| u16::from(v)).sum();
        *to = ((sum + 2) >> 2) as u8;
    }
}

pub fn interleave(to: &mut [u8], cb: &[u8], cr: &[u8]) {
    assert!(cb.len() == cr.len() && to.len() == 2 * cb.len());
    for (to, (cb, cr)) in to.as_chunks_mut::<2>().0.iter_mut().zip(cb.iter().zip(cr)) {
        *to = [*cb, *cr];
    }
}
