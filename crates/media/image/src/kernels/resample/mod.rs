//! Weighted sums of codes in integers: of columns first, into rows of 16 bits, and of those rows. What is computed is
//! defined by [`integer`](crate::integer).
//!
//! Across: a window of bytes holds the samples of four outputs. A shuffle brings two neighbouring samples of each output
//! beside each other, one instruction multiplies both by their weights and adds the products. Four rows take turns, so that
//! shuffles and weights are loaded once for all. Down: a multiplication that rounds and an addition for 16 columns.

mod across;
mod bell;
mod down;

pub use across::{Across, BLOCK, ROWS};
pub use bell::bell;
pub use down::{Window, down_deep, down_u8};

use bytemuck::Pod;
#[cfg(target_arch = "x86_64")]
use evener_runtime::Simd;

#[cfg(target_arch = "x86_64")]
use crate::kernels::has_avx512;

/// A code as sums read it.
pub trait Code: Pod {
    /// Its number.
    fn number(self) -> i32;

    /// Codes of a byte.
    fn bytes(codes: &[Self]) -> Option<&[u8]> {
        let _ = codes;
        None
    }
}

impl Code for u8 {
    fn bytes(codes: &[u8]) -> Option<&[u8]> {
        Some(codes)
    }

    #[inline(always)]
    fn number(self) -> i32 {
        i32::from(self)
    }
}

/// At most 15 bits.
impl Code for u16 {
    #[inline(always)]
    fn number(self) -> i32 {
        i32::from(self as i16)
    }
}

/// Sums themselves.
impl Code for i16 {
    #[inline(always)]
    fn number(self) -> i32 {
        i32::from(self)
    }
}

/// Whether there are shuffles of bytes across a register of 512 bits, and sums of products.
#[cfg(target_arch = "x86_64")]
fn has_avx512_bytes(simd: Simd) -> bool {
    has_avx512(simd)
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512vbmi")
        && std::arch::is_x86_feature_detected!("avx512vnni")
}
