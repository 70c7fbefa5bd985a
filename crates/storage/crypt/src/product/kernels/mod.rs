//! Passes over many blocks at once. Groups of blocks stay in registers or in the nearest cache for all passes.

mod idea;
mod lanes;
mod layout;
mod raiden;
mod skipjack;

use evener_runtime::Simd;
use zeroize::{Zeroize, ZeroizeOnDrop};

use self::lanes::{Avx2, Avx512, Lanes};
use self::layout::Group;
use crate::product::types::{Block, Direction};
use crate::product::{idea as idea_cipher, raiden as raiden_cipher, skipjack as skipjack_cipher};

/// Subkeys, repeated to fill 32 bits, as they are broadcast to lanes.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Keys {
    /// To encrypt and to decrypt.
    idea: [[u32; idea_cipher::SUBKEYS]; 2],
    /// Whether a subkey that IDEA multiplies by is 0, which takes other instructions.
    zeros: bool,
    skipjack: [u32; skipjack::KEYS],
    raiden: [u32; raiden_cipher::CYCLES],
}

impl Keys {
    /// The subkeys of the reference.
    pub fn new(
        idea: &idea_cipher::Schedule,
        skipjack: &skipjack_cipher::Schedule,
        raiden: &raiden_cipher::Schedule,
    ) -> Self {
        let factor = |at: usize| !matches!(at % 6, 1 | 2);
        let mut zeros = idea.encrypt.iter().enumerate();
        Keys {
            idea: [&idea.encrypt, &idea.decrypt].map(|k| k.map(|k| u32::from(k) * 0x0001_0001)),
            zeros: zeros.any(|(at, &subkey)| factor(at) && subkey == 0),
            skipjack: std::array::from_fn(|at| {
                u32::from(skipjack.key[at % skipjack_cipher::KEY_BYTES]) * 0x0101_0101
            }),
            raiden: raiden.subkeys,
        }
    }
}

/// The passes to run on every block.
pub struct Job<'a> {
    /// Subkeys.
    pub keys: &'a Keys,
    /// The direction.
    pub direction: Direction,
    /// Passes of IDEA, Skipjack and Raiden.
    pub work: [usize; 3],
}

/// Runs the job for the first blocks, and returns how many these are: none if the level or the processor has no
/// kernels. The reference is for the others.
pub fn run(simd: Simd, job: &Job<'_>, blocks: &mut [Block]) -> usize {
    if let Some(lanes) = Avx512::new(simd) {
        // SAFETY: `lanes` exists, so the processor has these instructions.
        return unsafe { avx512(lanes, job, blocks) };
    }
    if let Some(lanes) = Avx2::new(simd) {
        // SAFETY: as above.
        return unsafe { avx2(lanes, job, blocks) };
    }
    0
}

/// What [`run`] uses at a level.
pub fn variant(simd: Simd) -> &'static str {
    match (Avx512::new(simd), Avx2::new(simd)) {
        (Some(_), _) => "avx512",
        (None, Some(_)) => "avx2",
        (None, None) => "scalar",
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn avx512(lanes: Avx512, job: &Job<'_>, blocks: &mut [Block]) -> usize {
    all::<_, 4>(lanes, job, 2, blocks)
}

#[target_feature(enable = "avx2")]
fn avx2(lanes: Avx2, job: &Job<'_>, blocks: &mut [Block]) -> usize {
    all::<_, 4>(lanes, job, 3, blocks)
}

/// Runs `U` groups at once as long as `U` groups are left, then one group at a time. The rest is padded to a group if
/// it has at least `worth` blocks; with fewer the reference is faster.
#[inline(always)]
fn all<S: Lanes, const U: usize>(s: S, job: &Job<'_>, worth: usize, blocks: &mut [Block]) -> usize {
    let whole = blocks.len();
    let mut sets = blocks.chunks_exact_mut(U * S::BYTES);
    for set in &mut sets {
        groups::<S, U>(s, job, set);
    }
    let mut sets = sets.into_remainder().chunks_exact_mut(S::BYTES);
    for set in &mut sets {
        groups::<S, 1>(s, job, set);
    }
    let rest = sets.into_remainder();
    if rest.len() < worth {
        return whole - rest.len();
    }
    let mut filled = [[0; 8]; MAX_GROUP];
    filled[..rest.len()].copy_from_slice(rest);
    groups::<S, 1>(s, job, &mut filled[..S::BYTES]);
    rest.copy_from_slice(&filled[..rest.len()]);
    whole
}

/// Blocks of the largest group.
const MAX_GROUP: usize = Avx512::BYTES;

/// `U` groups through all passes of the job.
#[inline(always)]
fn groups<S: Lanes, const U: usize>(s: S, job: &Job<'_>, blocks: &mut [Block]) {
    assert_eq!(blocks.len(), U * S::BYTES);
    let at = blocks.as_mut_ptr().cast::<u8>();
    let group = 8 * S::BYTES;
    // SAFETY: a group has `BYTES` blocks of 8 bytes, and `blocks` has `U` groups.
    let mut state = unsafe { [layout::load(s, at); U] };
    for (i, planes) in state.iter_mut().enumerate() {
        // SAFETY: as above.
        *planes = unsafe { layout::load(s, at.add(i * group)) };
    }
    let (keys, [idea, skipjack, raiden]) = (job.keys, job.work);
    match job.direction {
        Direction::Encrypt => {
            ideas(s, keys, 0, idea, &mut state);
            if skipjack > 0 {
                skipjack::encrypt(s, &keys.skipjack, skipjack, &mut state);
            }
            if raiden > 0 {
                for planes in &mut state {
                    raiden::encrypt(s, &keys.raiden, raiden, planes);
                }
            }
        }
        Direction::Decrypt => {
            if raiden > 0 {
                for planes in &mut state {
                    raiden::decrypt(s, &keys.raiden, raiden, planes);
                }
            }
            if skipjack > 0 {
                skipjack::decrypt(s, &keys.skipjack, skipjack, &mut state);
            }
            ideas(s, keys, 1, idea, &mut state);
        }
    }
    for (i, planes) in state.iter().enumerate() {
        // SAFETY: as above.
        unsafe { layout::store(s, *planes, at.add(i * group)) };
    }
}

#[inline(always)]
fn ideas<S: Lanes, const U: usize>(
    s: S,
    keys: &Keys,
    direction: usize,
    count: usize,
    state: &mut [Group<S>; U],
) {
    if count == 0 {
        return;
    }
    let keyed = &keys.idea[direction];
    if keys.zeros {
        for group in state {
            idea::one::<S, true>(s, keyed, count, group);
        }
        return;
    }
    let (pairs, single) = state.as_chunks_mut();
    for pair in pairs {
        idea::two::<S, false>(s, keyed, count, pair);
    }
    for group in single {
        idea::one::<S, false>(s, keyed, count, group);
    }
}
