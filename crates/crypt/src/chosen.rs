//! Kernels that are chosen by measurement.

use evener_runtime::{Kernels, Simd};

use crate::ctr::Ctr;
use crate::gcm::{Gcm, TAG};
use crate::product::{KEY_BYTES, PASSES, Product};
use crate::variant::Variant;

/// Bytes that a trial of AES encrypts: within the nearest two caches.
const BYTES: usize = 64 << 10;
/// Blocks that a trial of the product cipher encrypts.
const BLOCKS: usize = 256;

/// AES in counter mode.
pub static CTR: Kernels = Kernels::new("aes-256-ctr", "64 KiB", aes, |simd| {
    let ctr = Ctr::new(&[1; 32], &[2; 16], simd).expect("lengths of AES-256");
    let mut buf = vec![0; BYTES];
    Box::new(move || ctr.apply(0, &mut buf))
});

/// AES-GCM. Opening uses the same instructions as sealing.
pub static GCM: Kernels = Kernels::new("aes-256-gcm", "64 KiB", aes, |simd| {
    let gcm = Gcm::new(&[1; 32], simd);
    let (plain, mut sealed) = (vec![0; BYTES], vec![0; BYTES + TAG]);
    Box::new(move || gcm.seal(&[2; 12], b"", &plain, &mut sealed))
});

/// The product cipher.
pub static PRODUCT: Kernels = Kernels::new("product", "256 blocks", Product::variant, |simd| {
    let product = Product::new(&[1; KEY_BYTES]);
    let mut blocks = vec![[0; 8]; BLOCKS];
    Box::new(move || product.encrypt(simd, 0..PASSES, &mut blocks))
});

/// All of them.
pub static KERNELS: [&Kernels; 3] = [&CTR, &GCM, &PRODUCT];

fn aes(simd: Simd) -> &'static str {
    Variant::of(simd).name()
}
