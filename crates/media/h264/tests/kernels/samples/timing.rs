//! How long each kernel takes at each level, in nanoseconds a call:
//! `cargo test --release -p evener-h264 --test kernels samples::timing -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use evener_h264::kernels::{BlockSize, Samples};

use super::{canvas, reference, variants};
use crate::Rng;

/// The least time of a call over several rounds.
fn nanoseconds(calls: u32, mut call: impl FnMut(usize)) -> f64 {
    (0..9)
        .map(|_| {
            let start = Instant::now();
            (0..calls as usize).for_each(&mut call);
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

fn print(what: &str, mut case: impl FnMut(&'static Samples) -> f64) {
    print!("{what:24} scalar {:9.1}", case(reference()));
    for table in variants() {
        print!("  {} {:9.1}", table.name, case(table));
    }
    println!();
}

#[test]
#[ignore = "prints times"]
fn timing() {
    const STRIDE: usize = 2048;
    const CALLS: u32 = 20_000;
    let mut rng = Rng(71);
    let plane: Vec<u8> = (0..64 * STRIDE).map(|_| rng.next() as u8).collect();
    let (a, far) = (&plane[64..], &plane[20 * STRIDE..]);
    // Positions as a search takes them: at any alignment.
    let at = |i: usize| i * 13 % 1500;

    for (name, kernel) in [
        (
            "satd 16x16",
            (|k| k.satd[BlockSize::B16x16 as usize]) as fn(&Samples) -> _,
        ),
        ("satd 16x8", |k| k.satd[BlockSize::B16x8 as usize]),
        ("satd 8x16", |k| k.satd[BlockSize::B8x16 as usize]),
        ("satd 8x8", |k| k.satd[BlockSize::B8x8 as usize]),
        ("satd 4x4", |k| k.satd_4x4),
        ("ssd 16x16", |k| k.ssd_16x16),
    ] {
        print(name, |k| {
            let kernel = kernel(k);
            nanoseconds(CALLS, |i| {
                black_box(kernel(a, STRIDE, &far[at(i)..], STRIDE));
            })
        });
    }
    print("sad quads x4, of four", |k| {
        nanoseconds(CALLS, |i| {
            let x = at(i) + 4 * STRIDE;
            let offsets = [x - 1, x + 1, x - STRIDE, x + STRIDE];
            black_box((k.sad_quads_x4)(a, STRIDE, far, STRIDE, offsets));
        })
    });
    print("sad 8x8 x8, of eight", |k| {
        nanoseconds(CALLS, |i| {
            black_box((k.sad_8x8_x8)(a, STRIDE, &far[at(i)..], STRIDE));
        })
    });
    for size in BlockSize::ALL {
        print(&format!("satd average {size:?}"), |k| {
            let kernel = k.satd_average[size as usize];
            nanoseconds(CALLS, |i| {
                let (b, c) = (&far[at(i)..], &far[at(i) + STRIDE..]);
                black_box(kernel(a, STRIDE, b, STRIDE, c, STRIDE));
            })
        });
    }
    let mut block = [0; 256];
    print("average 16x16", |k| {
        nanoseconds(CALLS, |i| {
            let (b, c) = (&far[at(i)..], &far[at(i) + STRIDE..]);
            (k.average)(
                black_box(&mut block),
                16,
                b,
                STRIDE,
                c,
                STRIDE,
                BlockSize::B16x16,
            );
        })
    });
    let mut block = [0; 256];
    print("copy 16x16", |k| {
        nanoseconds(CALLS, |i| {
            let to = black_box(&mut block);
            (k.copy)(to, 16, &far[at(i)..], STRIDE, BlockSize::B16x16);
        })
    });
    for (pairs, height) in [(8, 8), (4, 4)] {
        print(&format!("chroma {pairs}x{height}"), |k| {
            nanoseconds(CALLS, |i| {
                let (to, from) = (black_box(&mut block), &far[at(i)..]);
                (k.chroma)(to, 16, from, STRIDE, 3, 5, pairs, height);
            })
        });
    }
    print("energy 16x16", |k| {
        nanoseconds(CALLS, |i| {
            black_box((k.energy_16x16)(&far[at(i)..], STRIDE));
        })
    });
    print("energy chroma", |k| {
        nanoseconds(CALLS, |i| {
            black_box((k.energy_chroma)(&far[at(i)..], STRIDE));
        })
    });
    let mut row = vec![0; 1920];
    print("halve to 960", |k| {
        nanoseconds(CALLS, |i| (k.halve)(&mut row[..960], &far[at(i)..], a))
    });
    print("interleave 960", |k| {
        nanoseconds(CALLS, |i| {
            (k.interleave)(&mut row, &far[at(i)..][..960], &a[..960]);
        })
    });
}

/// Three planes of a picture of 1920x1080 with its border, 16 rows at once, beside copying its samples three times.
#[test]
#[ignore = "prints times"]
fn timing_of_half_pel_planes() {
    let mut rng = Rng(72);
    for (stride, height) in [(448, 288 + 64), (1984, 1088 + 64)] {
        let samples = canvas(&mut rng, stride * (height + 5));
        let mut planes = [0; 3].map(|_| vec![0; stride * height]);
        print(&format!("half-pel {stride}x{height}"), |k| {
            let calls = if k.name == "scalar" { 1 } else { 10 };
            nanoseconds(calls, |_| {
                for y in (0..height).step_by(16) {
                    let rows = |p| &mut <Vec<u8>>::as_mut_slice(p)[y * stride..][..16 * stride];
                    let samples = &samples[y * stride..][..21 * stride];
                    (k.half_pel)(planes.each_mut().map(rows), samples, stride);
                }
            })
        });
        let copied = nanoseconds(10, |_| {
            for plane in &mut planes {
                black_box(plane).copy_from_slice(&samples[..stride * height]);
            }
        });
        println!("  copied {copied:9.1}");
    }
}
