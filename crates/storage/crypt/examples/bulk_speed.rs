//! Throughput of the kernels on one thread, at every SIMD level.
//!
//! `cargo run --release -p evener-crypt --example bulk_speed -- [--rounds N] [ctr] [seal] [open] [chacha]` prints a line a
//! measurement, `WHAT VARIANT BYTES GB/s`. Blocks stay in the first two caches. A figure is the median of rounds that
//! go over all variants in turn, by processor time, so that other processes count little.

use std::time::Duration;

use evener_crypt::Variant;
use evener_crypt::chacha20poly1305::ChaCha20Poly1305;
use evener_crypt::ctr::Ctr;
use evener_crypt::gcm::{Gcm, TAG};
use evener_runtime::Simd;
use rustix::time::{ClockId, clock_gettime};

const CTR_BYTES: usize = 64 << 10;
const CHACHA_BYTES: usize = 64 << 10;
const GCM_BYTES: usize = 16 << 10;
const ROUND: Duration = Duration::from_millis(60);

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut rounds = 7;
    if wanted.first().is_some_and(|first| first == "--rounds") {
        let given = wanted.drain(..2.min(wanted.len())).nth(1);
        rounds = given.and_then(|n| n.parse().ok()).unwrap_or(1).max(1);
    }
    let mut cases = Vec::new();
    let mut known = Vec::new();
    for simd in Simd::levels() {
        let ciphers = [
            (Variant::of(simd).name(), aes as fn(Simd) -> Vec<Case>),
            (ChaCha20Poly1305::variant(simd), chacha),
        ];
        for (variant, cases_of) in ciphers {
            if !known.contains(&variant) {
                known.push(variant);
                cases.extend(cases_of(simd));
            }
        }
    }
    cases.retain(|case| wanted.is_empty() || wanted.iter().any(|w| case.name.starts_with(w)));
    for _ in 0..rounds {
        for case in &mut cases {
            case.measure();
        }
    }
    for case in &mut cases {
        case.rates.sort_by(f64::total_cmp);
        let median = case.rates[rounds / 2];
        println!("{} {} {} {median:.2}", case.name, case.variant, case.bytes);
    }
}

struct Case {
    name: &'static str,
    variant: &'static str,
    bytes: usize,
    run: Box<dyn FnMut()>,
    rates: Vec<f64>,
}

impl Case {
    fn measure(&mut self) {
        (self.run)();
        let (start, mut calls) = (processor_time(), 0);
        let elapsed = loop {
            for _ in 0..16 {
                (self.run)();
            }
            calls += 16;
            let elapsed = processor_time() - start;
            if elapsed >= ROUND {
                break elapsed;
            }
        };
        self.rates
            .push((calls * self.bytes) as f64 / elapsed.as_secs_f64() / 1e9);
    }
}

/// What this thread has computed so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn case(name: &'static str, variant: &'static str, bytes: usize, run: Box<dyn FnMut()>) -> Case {
    Case {
        name,
        variant,
        bytes,
        run,
        rates: Vec::new(),
    }
}

fn chacha(simd: Simd) -> Vec<Case> {
    let variant = ChaCha20Poly1305::variant(simd);
    let cipher = || ChaCha20Poly1305::new(&[5; 32], simd);
    let (sealer, plain) = (cipher(), vec![0; CHACHA_BYTES]);
    let mut sealed = vec![0; CHACHA_BYTES + TAG];
    let mut genuine = sealed.clone();
    sealer.seal(&[7; 12], &plain, &mut genuine);
    let seal = move || sealer.seal(&[7; 12], &plain, &mut sealed);
    let (opener, mut plain) = (cipher(), vec![0; CHACHA_BYTES]);
    let open = move || {
        let opened = opener.open(&[7; 12], &genuine, &mut plain);
        opened.expect("sealed above")
    };
    vec![
        case("chacha-seal", variant, CHACHA_BYTES, Box::new(seal)),
        case("chacha-open", variant, CHACHA_BYTES, Box::new(open)),
    ]
}

fn aes(simd: Simd) -> Vec<Case> {
    let variant = Variant::of(simd).name();
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let nonce = [7; 12];
    let stream = || Ctr::new(&key, &[9; 16], simd).expect("lengths of AES-256");
    let gcm = || Gcm::new(&key, simd);

    let (ctr, mut buf) = (stream(), vec![0; CTR_BYTES]);
    let in_place = move || ctr.apply(0, &mut buf);
    let (ctr, input, mut output) = (stream(), vec![0; CTR_BYTES], vec![0; CTR_BYTES]);
    let copying = move || ctr.apply_to(0, &input, &mut output);
    let (sealer, plain) = (gcm(), vec![0; GCM_BYTES]);
    let mut sealed = vec![0; GCM_BYTES + TAG];
    let mut genuine = sealed.clone();
    sealer.seal(&nonce, b"", &plain, &mut genuine);
    let seal = move || sealer.seal(&nonce, b"", &plain, &mut sealed);
    let (opener, mut plain) = (gcm(), vec![0; GCM_BYTES]);
    let open = move || {
        opener
            .open(&nonce, b"", &genuine, &mut plain)
            .expect("sealed above")
    };
    vec![
        case("ctr-in-place", variant, CTR_BYTES, Box::new(in_place)),
        case("ctr", variant, CTR_BYTES, Box::new(copying)),
        case("seal", variant, GCM_BYTES, Box::new(seal)),
        case("open", variant, GCM_BYTES, Box::new(open)),
    ]
}
