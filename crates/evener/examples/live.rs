//! A camera that does not wait: frames that come too fast are dropped, the oldest first, so that what is shown is never old.
//! `live [FRAMES A SECOND]`.

use std::thread;
use std::time::{Duration, Instant};

use evener::prelude::*;

const SECONDS: u64 = 3;
const SIDE: usize = 1024;

struct Frame {
    number: u64,
    taken: Instant,
    pixels: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rate: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(240), |rate| rate.parse())?;
    let (feed, frames) = evener::live(2);
    let camera = thread::spawn(move || {
        let begun = Instant::now();
        for number in 0..SECONDS * rate {
            let due = begun + Duration::from_secs(number) / rate as u32;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            feed.push(Frame {
                number,
                taken: Instant::now(),
                pixels: (0..SIDE)
                    .flat_map(|row| [(row as u64 * number) as u8; SIDE])
                    .collect(),
            });
        }
        feed.dropped()
    });
    let (mut shown, mut oldest) = (0_u64, Duration::ZERO);
    frames
        .even()
        .map(|frame| (sharpness(&frame.pixels), frame))
        .for_each(|(sharpness, frame)| {
            shown += 1;
            oldest = oldest.max(frame.taken.elapsed());
            if shown % 50 == 0 {
                println!("frame {}: sharpness {sharpness}", frame.number);
            }
        });
    let dropped = camera.join().map_err(|_| "the camera has panicked")?;
    println!("{shown} frames were shown, the oldest after {oldest:.0?}; {dropped} were dropped");
    Ok(())
}

/// Some milliseconds of work.
fn sharpness(pixels: &[u8]) -> u64 {
    let rows: Vec<&[u8]> = pixels.chunks_exact(SIDE).collect();
    (0..8)
        .flat_map(|_| rows.windows(2))
        .map(|pair| {
            let differences = pair[0].iter().zip(pair[1]);
            differences
                .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2))
                .sum::<u64>()
        })
        .sum()
}
