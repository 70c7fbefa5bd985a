use evener_crypt::product::{Cipher, PASSES, Product};
use evener_runtime::Simd;
use std::hint::black_box;
use std::time::Instant;
fn main() {
    let p = Product::new(b"0123456789abcdef");
    let n: usize = std::env::args().nth(1).map_or(1024, |a| a.parse().unwrap());
    let mut blocks = vec![[7u8; 8]; n];
    for (i, b) in blocks.iter_mut().enumerate() {
        *b = (i as u64).wrapping_mul(0x9E3779B97F4A7C15).to_le_bytes();
    }
    for (name, r) in [
        ("idea", 0..20),
        ("skipjack", 20..44),
        ("raiden", 44..64),
        ("all", 0..64),
    ] {
        for simd in Simd::levels() {
            if simd == Simd::Sse2 {
                continue;
            }
            for dec in [false, true] {
                let mut best = f64::MAX;
                for _ in 0..15 {
                    let t = Instant::now();
                    let reps = 1;
                    for _ in 0..reps {
                        if dec {
                            p.decrypt(simd, r.clone(), black_box(&mut blocks))
                        } else {
                            p.encrypt(simd, r.clone(), black_box(&mut blocks))
                        }
                    }
                    best = best.min(t.elapsed().as_secs_f64() / reps as f64);
                }
                println!(
                    "{name} {simd} {} {:.1} ns/block",
                    if dec { "dec" } else { "enc" },
                    best * 1e9 / n as f64
                );
            }
        }
    }
    let _ = (Cipher::ALL, PASSES);
}
