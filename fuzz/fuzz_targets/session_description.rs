//! Any text as a session description: no panic, errors of one line, no more media than allowed; what it names is an
//! address or is refused, and each format has a reader or is refused.

#![no_main]
#![forbid(unsafe_code)]

use std::time::Instant;

use evener_gateway::payload::Track;
use evener_gateway::rtsp::Url;
use evener_gateway::sdp::{Description, MAX_MEDIA};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let description = match Description::parse(text, |format| !format.encoding.is_empty()) {
        Ok(description) => description,
        Err(error) => {
            assert!(!error.to_string().contains(['\r', '\n']));
            return;
        }
    };
    assert!((1..=MAX_MEDIA).contains(&description.media.len()));
    let base = Url::parse("rtsp://user:password@h/live").expect("an address");
    for control in description
        .media
        .iter()
        .map(|media| &media.control)
        .chain([&description.control])
        .flatten()
    {
        if let Ok(url) = base.join(control) {
            assert!(!url.to_string().contains(['\r', '\n', ' ']));
        }
    }
    for (number, media) in description.media.iter().enumerate() {
        match Track::new(number, &media.format, Instant::now()) {
            Ok(track) => drop(track.codec()),
            Err(error) => assert!(!error.to_string().contains(['\r', '\n'])),
        }
    }
});
