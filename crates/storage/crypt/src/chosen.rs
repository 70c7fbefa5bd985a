//! Kernels chosen by measurement.

use evener_runtime::{Kernels, Simd};

use crate::chacha20poly1305::ChaCha20Poly1305;
use crate::ctr::Ctr;
use crate::gcm::{Gcm, TAG};
use crate::product::{KEY_BYTES, PASSES, Product};
use crate::variant::Variant;

/// Bytes that a trial encrypts: within the nearest two caches.
const BYTES: usize = 64 << 10;
/// Blocks that a trial of the product cipher encrypts.
const BLOCKS: usize = 256;

/// AES in counter mode.
pub static CTR: Kernels = Kernels::new("aes-256-ctr", "64 KiB", aes, |simd| {
    let ctr = Ctr::new(&[1; 32], &[2; 16], simd).expect("lengths of AES-256");
    let mut buf = vec![0; BYTES];
    Box::new(move || ctr.apply(0, &mut buf))
});

/// AES-GCM. Decrypting uses the same instructions as encrypting.
pub static GCM: Kernels = Kernels::new("aes-256-gcm", "64 KiB", aes, |simd| {
    let gcm = Gcm::new(&[1; 32], simd);
    let (plain, mut sealed) = (vec![0; BYTES], vec![0; BYTES + TAG]);
    Box::new(move || gcm.seal(&[2; 12], b"", &plain, &mut sealed))
});

/// ChaCha20-Poly1305, for age files. Decrypting uses the same instructions as encrypting.
pub static CHACHA20_POLY1305: Kernels = Kernels::new(
    "chacha20-poly1305",
    "64 KiB",
    ChaCha20Poly1305::variant,
    |simd| {
        let key = ChaCha20Poly1305::new(&[1; 32], simd);
        let (plain, mut sealed) = (vec![0; BYTES], vec![0; BYTES + TAG]);
        Box::new(move || key.seal(&[2; 12], &plain, &mut sealed))
    },
);

/// The product cipher.
pub static PRODUCT: Kernels = Kernels::new("product", "256 blocks", Product::variant, |simd| {
    let product = Product::new(&[1; KEY_BYTES]);
    let mut blocks = vec![[0; 8]; BLOCKS];
    Box::new(move || product.encrypt(simd, 0..PASSES, &mut blocks))
});

/// All kernels.
pub static KERNELS: [&Kernels; 4] = [&CTR, &GCM, &CHACHA20_POLY1305, &PRODUCT];

fn aes(simd: Simd) -> &'static str {
    Variant::of(simd).name()
}
