//! Streams that cannot be opened.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use evener_c::*;

/// What opening a stream under this plan gives, and the reason.
fn open(plan: &str) -> (Status, String) {
    let plan = CString::new(plan).unwrap();
    let format = Format {
        width: 64,
        height: 48,
        chroma: 0,
        depth: 0,
        full_range: 1,
    };
    let options = Options {
        plan: plan.as_ptr(),
        workers: 2,
    };
    let (mut graph, mut stream) = (null_mut(), null_mut());
    // SAFETY: strings end with a zero, places are for pointers, and what is made is freed once.
    unsafe {
        assert_eq!(evener_graph_new(c"blur".as_ptr(), &mut graph), Status::Ok);
        let status = evener_stream_open(graph, &format, &options, &mut stream);
        let why = CStr::from_ptr(evener_last_error()).to_str().unwrap();
        let why = why.to_owned();
        if status == Status::Ok {
            let freed = evener_stream_free(stream);
            let why = CStr::from_ptr(evener_last_error());
            assert_eq!(freed, Status::Ok, "{why:?}");
        }
        evener_graph_free(graph);
        (status, why)
    }
}

#[test]
fn plans_that_no_filter_has_are_refused() {
    assert_eq!(open("farm").0, Status::Ok);
    for plan in ["foo", "", "batched"] {
        let (status, why) = open(plan);
        assert_eq!(status, Status::Invalid, "{plan}: {why}");
        assert!(why.contains(&format!("'{plan}'")), "{plan}: {why}");
    }
}
