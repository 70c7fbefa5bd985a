//! Kernels that are chosen by measurement.

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use evener_runtime::kernels::{Memory, Reason, Selection, Table};
use evener_runtime::{Kernels, Simd};
use evener_testing::Folder;

/// Levels that every made-up processor here has.
const LEVELS: [Simd; 3] = [Simd::Scalar, Simd::Avx2, Simd::Avx512];

/// Names a level by itself.
fn each(level: Simd) -> &'static str {
    level.name()
}

/// A kernel whose variants sleep so many microseconds at each level.
macro_rules! sleeping {
    ($name:literal, $scalar:literal, $avx2:literal, $avx512:literal) => {
        Kernels::new($name, "a nap", each, |level| {
            let micros = match level {
                Simd::Avx2 => $avx2,
                Simd::Avx512 => $avx512,
                _ => $scalar,
            };
            Box::new(move || thread::sleep(Duration::from_micros(micros)))
        })
    };
}

fn memory(folder: &Folder) -> Memory {
    Memory::at(folder.path("kernels.json"))
}

fn select(kernels: &Kernels, folder: &Folder) -> Selection {
    kernels.select(&LEVELS, false, Some(&memory(folder)))
}

#[test]
fn a_wide_variant_that_is_slower_is_not_taken() {
    let kernels = sleeping!("wide loses", 3000, 300, 2000);
    let selection = kernels.select(&LEVELS, false, None);
    assert_eq!(selection.level, Simd::Avx2);
    assert_eq!(
        (selection.taken, selection.reason),
        ("avx2", Reason::Measured)
    );
    let times: Vec<f64> = selection
        .variants
        .iter()
        .filter_map(|v| v.seconds)
        .collect();
    assert!(
        times.len() == 3 && times[0] > times[1] && times[2] > times[1],
        "{times:?}"
    );
}

#[test]
fn a_wide_variant_that_is_faster_is_taken() {
    let kernels = sleeping!("wide wins", 3000, 2000, 300);
    assert_eq!(kernels.select(&LEVELS, false, None).level, Simd::Avx512);
}

#[test]
fn what_was_measured_is_remembered() {
    static TRIALS: Mutex<u32> = Mutex::new(0);
    let kernels = Kernels::new("counted", "nothing", each, |level| {
        *TRIALS.lock().unwrap() += 1;
        let micros = if level == Simd::Avx2 { 100 } else { 1000 };
        Box::new(move || thread::sleep(Duration::from_micros(micros)))
    });
    let folder = Folder::new();
    let first = select(&kernels, &folder);
    assert_eq!((first.level, first.reason), (Simd::Avx2, Reason::Measured));
    let again = select(&kernels, &folder);
    assert_eq!(
        (again.level, again.reason),
        (Simd::Avx2, Reason::Remembered)
    );
    assert_eq!(again.variants, first.variants);
    assert_eq!(*TRIALS.lock().unwrap(), 3, "measured once");
    // On a processor that has less, what is known does.
    let fewer = kernels.select(&LEVELS[..2], false, Some(&memory(&folder)));
    assert_eq!(fewer.reason, Reason::Remembered);
}

#[test]
fn kernels_do_not_take_the_times_of_others() {
    let folder = Folder::new();
    select(&sleeping!("one", 1000, 100, 1000), &folder);
    let other = select(&sleeping!("other", 1000, 1000, 100), &folder);
    assert_eq!(
        (other.level, other.reason),
        (Simd::Avx512, Reason::Measured)
    );
}

#[test]
fn a_damaged_file_is_measured_anew_and_replaced() {
    let kernels = sleeping!("damaged", 1000, 100, 1000);
    for content in [
        "",
        "{",
        "[]",
        r#"{"version": 1}"#,
        r#"{"version": 9, "kernels": {}}"#,
        r#"{"version": 1, "kernels": {"k": {"seconds": {"avx2": "fast"}, "written": 0}}}"#,
    ] {
        let folder = Folder::new();
        folder.file("kernels.json", content);
        assert_eq!(
            select(&kernels, &folder).reason,
            Reason::Measured,
            "{content}"
        );
        assert_eq!(
            select(&kernels, &folder).reason,
            Reason::Remembered,
            "{content}"
        );
    }
}

#[test]
fn times_that_cannot_be_are_measured_anew() {
    let kernels = sleeping!("impossible", 1000, 100, 1000);
    let folder = Folder::new();
    select(&kernels, &folder);
    let text = fs::read_to_string(folder.path("kernels.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    for entry in file["kernels"].as_object_mut().unwrap().values_mut() {
        entry["seconds"]["avx512"] = 0.0.into();
    }
    folder.file("kernels.json", file.to_string());
    let selection = select(&kernels, &folder);
    assert_eq!(
        (selection.level, selection.reason),
        (Simd::Avx2, Reason::Measured)
    );
}

#[test]
fn a_pinned_level_is_taken_untimed() {
    let kernels = Kernels::new("pinned", "nothing", each, |_| panic!("nothing is timed"));
    let selection = kernels.select(&LEVELS, true, None);
    assert_eq!(
        (selection.level, selection.reason),
        (Simd::Avx512, Reason::Pinned)
    );
}

#[test]
fn levels_that_run_the_same_code_are_one_variant() {
    let kernels = Kernels::new(
        "alone",
        "nothing",
        |_| "baseline",
        |_| panic!("nothing is timed"),
    );
    let selection = kernels.select(&LEVELS, false, None);
    assert_eq!(
        (selection.level, selection.reason),
        (Simd::Scalar, Reason::Only)
    );
    assert_eq!(selection.variants.len(), 1);
}

#[test]
fn a_tie_goes_to_the_lower_level() {
    let kernels = Kernels::new("even", "a loop", each, |_| {
        let mut data = vec![1u64; 4096];
        Box::new(move || {
            for value in &mut data {
                *value = value.wrapping_mul(6364136223846793005).rotate_left(7);
            }
            std::hint::black_box(&data);
        })
    });
    let selection = kernels.select(&LEVELS, false, None);
    let times: Vec<f64> = selection
        .variants
        .iter()
        .filter_map(|v| v.seconds)
        .collect();
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let lowest = times.iter().position(|&t| t <= 1.03 * best).unwrap();
    assert_eq!(selection.level, LEVELS[lowest], "{times:?}");
}

#[test]
fn a_table_has_a_line_for_each_variant() {
    let folder = Folder::new();
    let selections = [select(&sleeping!("napping", 1000, 100, 1000), &folder)];
    let text = Table(&selections).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[1].starts_with("napping") && !lines[1].ends_with("measured"),
        "{text}"
    );
    assert!(
        lines[2].contains("avx2") && lines[2].ends_with("measured"),
        "{text}"
    );
}
