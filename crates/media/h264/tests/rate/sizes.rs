//! Bit rates on average.

use evener_h264::config::{Config, Preset, Rate, Settings, Vbv};
use evener_h264::encoder::RATE_DELAY;

use crate::clips::{FOREMAN, clip, moving};
use crate::encode::{decodes, encode, encode_behind};

fn config(bitrate: u64) -> Config {
    let mut config = Config::new(&Settings {
        preset: Preset::Superfast,
        rate: Rate::Bitrate(bitrate),
        ..Settings::default()
    })
    .unwrap();
    config.tools.partitions = true;
    config
}

#[test]
fn streams_have_the_rate_that_is_asked_for() {
    let Some(foreman) = clip(FOREMAN, 300) else {
        return;
    };
    for bitrate in [100_000, 400_000, 1_000_000, 4_000_000] {
        let encoded = encode(&config(bitrate), &foreman);
        for (pictures, percent) in [
            (50, 15.0),
            (100, 5.0),
            (150, 5.0),
            (200, 5.0),
            (249, 5.0),
            (300, 2.0),
        ] {
            let bytes = encoded.pictures[..pictures].iter();
            let bits: usize = bytes.map(|picture| 8 * picture.bytes.len()).sum();
            let asked = bitrate as f64 * pictures as f64 / 25.0;
            let off = 100.0 * (bits as f64 / asked - 1.0);
            eprintln!("{bitrate} bit/s: {off:+.2} % after {pictures} pictures");
            assert!(off.abs() < percent, "{bitrate} bit/s: {off} %");
        }
        // Parameters change little from picture to picture.
        let p: Vec<_> = encoded.pictures.iter().filter(|p| !p.key).collect();
        for pair in p.windows(2) {
            assert!(pair[0].qp.abs_diff(pair[1].qp) <= 4);
        }
        assert_eq!(encoded.summary.bits, encoded.bits());
        assert_eq!(encoded.summary.notes(), [""; 0]);
        decodes(&encoded);
    }
}

#[test]
fn a_rate_that_cannot_be_met_is_said() {
    let encoded = encode(&config(1000), &moving(3, 160, 96, 30));
    assert!(encoded.summary.coarsest > 0);
    let notes = encoded.summary.notes();
    assert!(notes.len() == 1 && notes[0].contains("not 1:"), "{notes:?}");
}

#[test]
fn sizes_that_are_known_early_change_nothing() {
    let clip = moving(1, 160, 96, 15).then(moving(2, 160, 96, 15));
    let mut limited = config(200_000);
    limited.vbv = Some(Vbv {
        maxrate: 200_000,
        bufsize: 100_000,
    });
    for config in [config(200_000), limited] {
        let early = encode(&config, &clip);
        for behind in 1..RATE_DELAY {
            assert!(encode_behind(&config, &clip, behind).stream() == early.stream());
        }
    }
}
