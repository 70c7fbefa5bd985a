//! Encodes y4m of 8 bits 4:2:0 with rusty_h264 as Constrained Baseline, at a constant quantisation parameter and on one
//! thread: `rusty-encode IN.y4m OUT.264 QP fast|balanced|quality`.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use rusty_h264::{Encoder, EncoderConfig, Preset, YuvFrame};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, qp, preset] = &arguments[..] else {
        return Err("usage: rusty-encode IN.y4m OUT.264 QP fast|balanced|quality".into());
    };
    let mut input = BufReader::with_capacity(1 << 20, File::open(input)?);
    let mut output = BufWriter::new(File::create(output)?);
    let mut line = String::new();
    input.read_line(&mut line)?;
    let field = |key: char| {
        line.split_whitespace()
            .skip(1)
            .find_map(|word| word.strip_prefix(key))
    };
    let side = |key| {
        field(key)
            .and_then(|digits| digits.parse::<usize>().ok())
            .ok_or("not y4m")
    };
    let (width, height) = (side('W')?, side('H')?);
    let mut config = EncoderConfig::baseline(width, height);
    config.preset = match preset.as_str() {
        "fast" => Preset::Fast,
        "balanced" => Preset::Balanced,
        "quality" => Preset::Quality,
        other => return Err(format!("no preset {other}").into()),
    };
    config.qp = qp.parse()?;
    config.gop_size = 250;
    // As the other programs here: the same parameter in all macroblocks of P pictures.
    config.aq_strength = 0.0;
    let mut encoder = Encoder::new(config).map_err(|error| format!("{error:?}"))?;
    let (luma, chroma) = (width * height, width.div_ceil(2) * height.div_ceil(2));
    let mut frame = YuvFrame {
        width,
        height,
        y: vec![0; luma],
        u: vec![0; chroma],
        v: vec![0; chroma],
    };
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            break;
        }
        for plane in [&mut frame.y, &mut frame.u, &mut frame.v] {
            input.read_exact(plane)?;
        }
        output.write_all(&encoder.encode(&frame))?;
    }
    output.write_all(&encoder.flush())?;
    output.flush()?;
    Ok(())
}
