//! A picture whose rows cost very different amounts of time: `mandelbrot > out.pgm`.

use std::io::Write;

use evener::prelude::*;

const WIDTH: usize = 1600;
const HEIGHT: usize = 1200;
const MOST: u32 = 1000;

/// Steps until a point leaves the circle of radius 2.
fn steps(x: f64, y: f64) -> u32 {
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..MOST {
        if a * a + b * b > 4.0 {
            return step;
        }
        (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
    }
    MOST
}

fn main() -> std::io::Result<()> {
    let mut picture = vec![0_u8; WIDTH * HEIGHT];
    let start = std::time::Instant::now();
    picture
        .par_chunks_mut(WIDTH)
        .enumerate()
        .for_each(|(row, pixels)| {
            let y = row as f64 / HEIGHT as f64 * 2.4 - 1.2;
            for (column, pixel) in pixels.iter_mut().enumerate() {
                let x = column as f64 / WIDTH as f64 * 3.2 - 2.2;
                *pixel = (f64::from(steps(x, y)).ln() * 36.0) as u8;
            }
        });
    eprintln!("{:?}", start.elapsed());
    let mut out = std::io::stdout().lock();
    writeln!(out, "P5 {WIDTH} {HEIGHT} 255")?;
    out.write_all(&picture)
}
