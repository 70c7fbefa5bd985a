//! Thumbnails of the PNG files of a folder: `thumbnails FROM TO`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use evener::prelude::*;

/// Pixels of the longer side.
const SIDE: usize = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("say from which folder, and to which".into());
    };
    fs::create_dir_all(&to)?;
    let files = fs::read_dir(from)?.collect::<Result<Vec<_>, _>>()?;
    let images = files.iter().map(fs::DirEntry::path);
    let mut made = 0;
    images
        .filter(|path| path.extension().is_some_and(|e| e == "png"))
        .even()
        .map(|path| thumbnail(&path, &to).map_err(|e| format!("{}: {e}", path.display())))
        .unordered()
        .for_each(|result| match result {
            Ok(()) => made += 1,
            Err(error) => eprintln!("{error}"),
        });
    println!("{made} thumbnails");
    Ok(())
}

fn thumbnail(path: &Path, to: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let info = reader.next_frame(&mut pixels)?;
    let (width, height) = (info.width as usize, info.height as usize);
    let step = width.max(height).div_ceil(SIDE);
    let samples = info.color_type.samples();
    // Each pixel is the mean of a square.
    let small: Vec<u8> = (0..height / step)
        .flat_map(|y| (0..width / step).map(move |x| (x * step, y * step)))
        .flat_map(|(x, y)| {
            let (pixels, line) = (&pixels, info.line_size);
            (0..samples).map(move |sample| {
                let rows = (y..y + step).map(|y| &pixels[y * line..][..line]);
                let sum: usize = rows
                    .flat_map(|row| {
                        row[x * samples + sample..]
                            .iter()
                            .step_by(samples)
                            .take(step)
                    })
                    .map(|&value| usize::from(value))
                    .sum();
                (sum / (step * step)) as u8
            })
        })
        .collect();
    let name = path.file_name().ok_or("no name")?;
    let file = BufWriter::new(File::create(to.join(name))?);
    let mut encoder = png::Encoder::new(file, (width / step) as u32, (height / step) as u32);
    encoder.set_color(info.color_type);
    Ok(encoder.write_header()?.write_image_data(&small)?)
}
