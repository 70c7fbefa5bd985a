//! Key pictures where scenes begin.

use evener_h264::config::{Config, Preset, Rate, Settings};

use crate::clips::{FOREMAN, STREET, clip, moving};
use crate::encode::encode;

fn config() -> Config {
    Config::new(&Settings {
        preset: Preset::Superfast,
        rate: Rate::Qp(30),
        ..Settings::default()
    })
    .unwrap()
}

#[test]
fn synthetic_scenes_are_cut() {
    let scene = |seed, frames| moving(seed, 160, 96, frames);
    let clip = scene(1, 7).then(scene(2, 5)).then(scene(3, 4));
    assert_eq!(encode(&config(), &clip).keys(), [0, 7, 12]);
    let mut uncut = config();
    uncut.tools.scene_cut = false;
    assert_eq!(encode(&uncut, &clip).keys(), [0]);
}

#[test]
fn cuts_between_clips_are_found_and_no_others() {
    let (Some(foreman), Some(street)) = (clip(FOREMAN, 300), clip(STREET, 54)) else {
        return;
    };
    // Fast pans, from picture 190 and from picture 41 on, are no cuts.
    assert_eq!(encode(&config(), &foreman).keys(), [0, 250]);
    assert_eq!(encode(&config(), &street).keys(), [0]);
    let joined = foreman
        .part(0..20)
        .then(street.part(0..12))
        .then(foreman.part(195..215))
        .then(street.part(20..30));
    assert_eq!(encode(&config(), &joined).keys(), [0, 20, 32, 52]);
}

#[test]
fn pictures_that_have_to_be_key_pictures_are() {
    let clip = moving(1, 160, 96, 12);
    let mut config = config();
    config.keys = vec![3, 8, 100];
    let whole = encode(&config, &clip);
    assert_eq!(whole.keys(), [0, 3, 8]);
    // At a constant quantiser the pictures after a key picture do not depend on those before it.
    let part = encode(&self::config(), &clip.part(3..8));
    let frame = 160 * 96 * 3 / 2;
    assert!(part.reconstruction == whole.reconstruction[3 * frame..8 * frame]);
}
