//! Encodes a y4m of 8 bits 4:2:0 in order, on one thread.
use evener_h264::config::{Config, Preset, Rate, Settings, parse_bits};
use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::rate::Rates;
use evener_h264::syntax::*;
use evener_h264::unit::Coded;
use std::io::{BufRead, Read, Write};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (input, output, qp) = (&args[1], &args[2], args[3].parse::<u8>().unwrap());
    let mut settings = Settings {
        rate: Rate::Qp(qp),
        ..Settings::default()
    };
    let mut list = None;
    let mut frames = usize::MAX;
    let mut tools = Preset::Ultrafast.tools();
    tools.partitions = true;
    tools.small_intra = true;
    tools.subpel = 5;
    let mut cabac = false;
    let mut recon = None;
    for a in &args[4..] {
        let (k, v) = a.split_once('=').unwrap();
        match k {
            "frames" => frames = v.parse().unwrap(),
            "subpel" => tools.subpel = v.parse().unwrap(),
            "parts" => tools.partitions = v == "1",
            "small" => tools.small_intra = v == "1",
            "refs" => tools.references = v.parse().unwrap(),
            "cabac" => cabac = v == "1",
            "deblock" => tools.deblocking = v == "1",
            "t8" => tools.transform_8x8 = v == "1",
            "trellis" => tools.trellis = v == "1",
            "crf" => settings.rate = Rate::Crf(v.parse().unwrap()),
            "bitrate" => settings.rate = Rate::Bitrate(parse_bits(v).unwrap()),
            "maxrate" => settings.maxrate = Some(parse_bits(v).unwrap()),
            "bufsize" => settings.bufsize = Some(parse_bits(v).unwrap()),
            "keyint" => settings.keyint = v.parse().unwrap(),
            "aq" => tools.adaptive_qp = v == "1",
            "cut" => tools.scene_cut = v == "1",
            "list" => list = Some(std::fs::File::create(v).unwrap()),
            "recon" => recon = Some(std::fs::File::create(v).unwrap()),
            _ => panic!("{k}"),
        }
    }
    tools.cabac = cabac;
    let mut file = std::io::BufReader::new(std::fs::File::open(input).unwrap());
    let mut head = String::new();
    file.read_line(&mut head).unwrap();
    let num = |c: char| {
        head.split(' ').find(|f| f.starts_with(c)).unwrap()[1..]
            .trim()
            .parse::<usize>()
            .unwrap()
    };
    let (w, h) = (num('W'), num('H'));
    let level = LEVELS
        .iter()
        .find(|l| l.picture as usize >= w.div_ceil(16) * h.div_ceil(16))
        .unwrap();
    let parameters = Parameters {
        sequence: Sequence {
            profile: if tools.transform_8x8 {
                Profile::High
            } else if cabac {
                Profile::Main
            } else {
                Profile::ConstrainedBaseline
            },
            level,
            width: w as u32,
            height: h as u32,
            references: tools.references,
            frame_num_bits: 8,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy: if cabac {
                Entropy::Cabac
            } else {
                Entropy::Cavlc
            },
            references: tools.references,
            qp,
            transform_8x8: tools.transform_8x8,
            ..Picture::default()
        },
    };
    let encoder = Encoder::new(
        &parameters,
        tools,
        Rates::new(&Config::new(&settings).unwrap(), &parameters),
        Kernels::at(evener_runtime::Topology::detect().simd),
        1,
    );
    let mut out = std::fs::File::create(output).unwrap();
    let mut scratch = Scratch::default();
    let coded = Coded::default();
    let (mut data, mut n, mut bytes) = (vec![0; w * h * 3 / 2], 0u64, 0usize);
    let mut times = [0f64; 7];
    let mut sse = 0f64;
    let mut psnr = 0f64;
    while (n as usize) < frames {
        let mut line = String::new();
        if file.read_line(&mut line).unwrap() == 0 {
            break;
        }
        file.read_exact(&mut data).unwrap();
        let planes = Planes {
            luma: &data[..w * h],
            chroma: [&data[w * h..w * h * 5 / 4], &data[w * h * 5 / 4..]],
        };
        for (p, pass) in Pass::ALL.into_iter().enumerate() {
            let t = Instant::now();
            let (lines, steps) = pass.lines(encoder.geometry());
            for l in 0..lines {
                encoder.run(n, (pass, l, 0..steps), planes, &coded, &mut scratch);
            }
            times[p] += t.elapsed().as_secs_f64();
        }
        if std::env::var_os("BARE").is_some() {
            n += 1;
            continue;
        }
        let r = encoder.reconstruction(n);
        let d: u64 = r[0]
            .iter()
            .zip(&data[..w * h])
            .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2))
            .sum();
        sse += d as f64;
        psnr += 10.0 * (65025.0 * (w * h) as f64 / d.max(1) as f64).log10();
        if let Some(f) = &mut recon {
            for p in &r {
                f.write_all(p).unwrap();
            }
        }
        let picture = coded.picture();
        out.write_all(&picture.bytes).unwrap();
        if let Some(list) = &mut list {
            let (key, size) = (u8::from(picture.key), picture.bytes.len());
            writeln!(list, "{n} {key} {} {size}", picture.qp).unwrap();
        }
        bytes += picture.bytes.len();
        n += 1;
    }
    let mbs = (n as usize * w.div_ceil(16) * h.div_ceil(16)) as f64;
    let us: Vec<String> = times
        .iter()
        .zip(Pass::ALL)
        .map(|(t, p)| format!("{} {:.2}", p.name(), t * 1e6 / mbs))
        .collect();
    println!(
        "{} frames {} bytes psnr {:.3} global {:.3} total {:.3} us/mb [{}]",
        n,
        bytes,
        psnr / n as f64,
        10.0 * (65025.0 * n as f64 * (w * h) as f64 / sse).log10(),
        times.iter().sum::<f64>() * 1e6 / mbs,
        us.join(", ")
    );
}
