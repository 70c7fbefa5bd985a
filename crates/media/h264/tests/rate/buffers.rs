//! Buffers of decoders: each stream is put through a leaky bucket of its own.

use evener_h264::config::{Config, Preset, Rate, Settings};

use crate::clips::{Clip, FOREMAN, STREET, clip, moving, noise};
use crate::encode::{Encoded, decodes, encode, encode_behind, trace};

fn config(rate: Rate, maxrate: u64, bufsize: u64) -> Config {
    let mut config = Config::new(&Settings {
        preset: Preset::Superfast,
        rate,
        maxrate: Some(maxrate),
        bufsize: Some(bufsize),
        ..Settings::default()
    })
    .unwrap();
    config.tools.partitions = true;
    config
}

/// Pictures that are not whole in a buffer when they are taken out, at 25 a second; the least that was left in it, as a
/// part of its size.
fn late(encoded: &Encoded, maxrate: u64, bufsize: u64) -> (u64, f64) {
    // In 25ths of a bit, of the rate and size that the stream can say.
    let (maxrate, size) = (maxrate & !63, 25 * (bufsize & !15));
    let mut fullness = size * 9 / 10;
    let (mut late, mut least) = (0, 1.0f64);
    for picture in &encoded.pictures {
        let bits = 25 * 8 * picture.bytes.len() as u64;
        late += u64::from(bits > fullness);
        fullness = fullness.saturating_sub(bits);
        least = least.min(fullness as f64 / size as f64);
        fullness = (fullness + maxrate).min(size);
    }
    (late, least)
}

fn holds(name: &str, clip: &Clip, rate: Rate, maxrate: u64, bufsize: u64) {
    let encoded = encode(&config(rate, maxrate, bufsize), clip);
    let (late, least) = late(&encoded, maxrate, bufsize);
    let kbits = encoded.summary.bit_rate() / 1e3;
    eprintln!(
        "{name} {rate:?} {maxrate} {bufsize}: {late} late, {least:.2} left, {kbits:.0} kbit/s, {:.2} dB",
        encoded.psnr(clip)
    );
    assert_eq!(encoded.summary.late, late);
    assert_eq!(late, 0, "{name} {rate:?} {maxrate} {bufsize}");
    assert_eq!(encoded.summary.notes(), [""; 0]);
}

/// Rates, and buffers in tenths of a second, for a clip that takes about `usual` bits a second.
fn rates(name: &str, clip: &Clip, usual: u64) {
    type Ask = fn(u64) -> Rate;
    let cases: [(u64, u64, Ask); 4] = [
        (4, 10, |_| Rate::Crf(20.0)),
        (2, 20, Rate::Bitrate),
        (2, 5, |_| Rate::Crf(20.0)),
        (1, 10, |maxrate| Rate::Bitrate(maxrate * 9 / 10)),
    ];
    for (part, tenths, rate) in cases {
        let maxrate = usual / part;
        let bufsize = maxrate * tenths / 10;
        holds(name, clip, rate(maxrate), maxrate, bufsize);
    }
}

#[test]
fn synthetic_scenes_keep_to_buffers() {
    let scene = |seed| moving(seed, 160, 96, 25);
    let clip = scene(1).then(scene(2)).then(scene(3));
    rates("scenes", &clip, 600_000);
}

#[test]
fn foreman_keeps_to_buffers() {
    if let Some(clip) = clip(FOREMAN, 300) {
        rates("foreman", &clip, 1_000_000);
    }
}

#[test]
fn clips_one_after_the_other_keep_to_buffers() {
    let (Some(foreman), Some(street)) = (clip(FOREMAN, 300), clip(STREET, 54)) else {
        return;
    };
    let joined = street.clone().then(foreman.part(180..260)).then(street);
    rates("joined", &joined, 1_600_000);
}

#[test]
fn a_buffer_that_is_too_small_is_said() {
    let encoded = encode(
        &config(Rate::Crf(20.0), 10_000, 1_000),
        &moving(3, 160, 96, 20),
    );
    assert!(encoded.summary.late > 0);
    assert_eq!(encoded.summary.late, late(&encoded, 10_000, 1_000).0);
    let notes = encoded.summary.notes();
    assert!(
        notes.len() == 1 && notes[0].contains("too late"),
        "{notes:?}"
    );
}

#[test]
fn pictures_that_are_dearer_than_expected_are_kept_small() {
    // What is learnt from a soft scene does not hold for noise.
    let clip = moving(1, 160, 96, 20)
        .then(noise(160, 96, 1))
        .then(moving(2, 160, 96, 5));
    for (maxrate, bufsize) in [(200_000, 60_000), (400_000, 80_000)] {
        holds("noise", &clip, Rate::Crf(20.0), maxrate, bufsize);
        let config = config(Rate::Crf(20.0), maxrate, bufsize);
        let [early, late] = [0, 2].map(|behind| encode_behind(&config, &clip, behind).stream());
        assert!(early == late);
    }
}

/// Numbers that a trace of headers gives for a name.
fn numbers(trace: &str, name: &str) -> Vec<f64> {
    let lines = trace
        .lines()
        .filter(|line| line.contains(&format!(" {name}")));
    let number = |line: &str| line.rsplit("= ").next()?.trim().parse().ok();
    lines.filter_map(number).collect()
}

#[test]
fn streams_say_when_pictures_leave_the_buffer() {
    let scene = |seed| moving(seed, 160, 96, 20);
    let clip = scene(1).then(scene(2)).then(scene(3));
    let (maxrate, bufsize) = (100_000, 50_000);
    let encoded = encode(&config(Rate::Crf(20.0), maxrate, bufsize), &clip);
    decodes(&encoded);
    let Some(trace) = trace(&encoded) else { return };
    let delays = numbers(&trace, "initial_cpb_removal_delay[");
    let offsets = numbers(&trace, "initial_cpb_removal_delay_offset[");
    let removals = numbers(&trace, "cpb_removal_delay ");
    let keys = encoded.keys();
    assert_eq!((delays.len(), offsets.len()), (keys.len(), keys.len()));
    assert_eq!(removals.len(), clip.frames.len());
    // Clause C.1.2: when bits arrive and are taken out, in seconds from the arrival of the first one on.
    let rate = (maxrate & !63) as f64;
    let (mut arrived, mut base, mut period) = (0.0f64, 0.0, 0);
    for (n, picture) in encoded.pictures.iter().enumerate() {
        if n == 0 {
            base = delays[0] / 90_000.0;
        }
        let removed = base + removals[n] / 50.0;
        if picture.key && n > 0 {
            (base, period) = (removed, period + 1);
        }
        let early = delays[period] + if picture.key { 0.0 } else { offsets[period] };
        let earliest = removed - early / 90_000.0;
        if picture.key && n > 0 {
            // What the delay promises is not before the last bit that came.
            assert!(delays[period] / 90_000.0 <= removed - arrived + 1e-9);
        }
        let begun = arrived.max(earliest);
        arrived = begun + 8.0 * picture.bytes.len() as f64 / rate;
        assert!(arrived <= removed + 1e-4, "{n}: {arrived} > {removed}");
    }
}
