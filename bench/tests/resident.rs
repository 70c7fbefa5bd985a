//! What a process sees of its own memory. The only test of this program: memory that another thread of the process
//! gives back meanwhile would be missed.

#![cfg(target_os = "linux")]

use evener_bench::tuner::memory::resident;
use evener_image::Size;

#[test]
fn frames_that_are_computed_are_seen() {
    let size = Size { w: 1920, h: 1080 };
    let told = resident("flip=h", size, 8).unwrap();
    let grown = told.during.saturating_sub(told.before);
    let frame = (size.w * size.h * 3 / 2) as u64;
    assert_eq!(told.frames, 8);
    assert!(grown > 2 * frame, "an input and an output: {told:?}");
    assert!(told.beyond().abs() < 64 << 20, "{told:?}");
    assert!(told.peak_resident > told.during, "{told:?}");
}
