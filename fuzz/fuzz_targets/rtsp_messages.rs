//! Any bytes as RTSP on a connection, cut anywhere: no panic, the same messages however they are cut, no memory beyond the
//! limits, and a message that is written can be read.

#![no_main]
#![forbid(unsafe_code)]

use bytes::BytesMut;
use evener_gateway::rtsp::Url;
use evener_gateway::rtsp::auth::{Challenge, Credentials};
use evener_gateway::rtsp::message::{
    Decoder, MAX_BODY, MAX_HEAD, Message, MessageError, write_frame, write_request,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    let cut = read(bytes, usize::from(step).max(1));
    assert_eq!(whole, cut);
    for message in whole.0 {
        again(message);
    }
});

/// All messages of bytes that come so many at a time, and what ended them.
fn read(bytes: &[u8], step: usize) -> (Vec<Message>, Option<MessageError>) {
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    for part in bytes.chunks(step) {
        decoder.push(part);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        assert!(decoder.waiting() <= MAX_HEAD + MAX_BODY + step);
    }
    (messages, None)
}

fn again(message: Message) {
    let mut out = BytesMut::new();
    match message {
        Message::Frame { channel, payload } => {
            write_frame(&mut out, channel, &payload);
            let expected = Message::Frame { channel, payload };
            assert_eq!(read(&out, out.len()).0, [expected]);
        }
        Message::Request(request) => {
            if let Ok(url) = Url::parse(&request.target) {
                let text = url.target();
                assert_eq!(Url::parse(&text).expect("what was written").target(), text);
                write_request(&mut out, &request.method, &text, &[("CSeq", "1")]);
                assert_eq!(read(&out, out.len()).0.len(), 1);
            }
        }
        Message::Response(response) => {
            let challenge = Challenge::strongest(response.headers.all("WWW-Authenticate"));
            if let Some(mut challenge) = challenge {
                let by = Credentials {
                    user: "user".into(),
                    password: "password".into(),
                };
                let answer = challenge.answer(&by, "DESCRIBE", "rtsp://h/", "cnonce");
                assert!(!answer.contains(['\r', '\n']));
            }
        }
    }
}
