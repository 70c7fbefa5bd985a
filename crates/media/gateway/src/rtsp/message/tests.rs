use proptest::prelude::*;

use super::*;

fn all(decoder: &mut Decoder) -> Result<Vec<Message>, MessageError> {
    std::iter::from_fn(|| decoder.next_message().transpose()).collect()
}

fn decoded(bytes: &[u8]) -> Result<Vec<Message>, MessageError> {
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    all(&mut decoder)
}

const CONNECTION: &[u8] = b"RTSP/1.0 200 OK\r\nCSeq: 2\r\ncontent-length: 4\r\n\r\nv=0\n\r\n\
    $\x01\x00\x03abcGET_PARAMETER rtsp://h/ RTSP/1.0\r\nCSeq: 7\r\nSession: 1\r\nsession: 2\r\n\r\n\
    RTSP/1.0 454 Session Not Found\nCSeq: 3\n\n$\x00\x00\x00";

#[test]
fn requests_responses_and_frames_are_read() {
    let messages = decoded(CONNECTION).unwrap();
    let [
        Message::Response(described),
        Message::Frame {
            channel: 1,
            payload,
        },
        Message::Request(request),
        Message::Response(missing),
        Message::Frame {
            channel: 0,
            payload: empty,
        },
    ] = messages.as_slice()
    else {
        panic!("{messages:?}")
    };
    assert_eq!((described.status, described.reason.as_str()), (200, "OK"));
    assert_eq!(described.headers.cseq(), Some(2));
    assert_eq!(described.body, "v=0\n");
    assert_eq!(payload, "abc");
    assert_eq!(request.method, "GET_PARAMETER");
    assert_eq!(request.target, "rtsp://h/");
    assert!(request.headers.all("Session").eq(["1", "2"]));
    assert_eq!(
        (missing.status, missing.reason.as_str()),
        (454, "Session Not Found")
    );
    assert!(empty.is_empty());
}

#[test]
fn bytes_one_at_a_time_are_the_same() {
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    for byte in CONNECTION {
        decoder.push(&[*byte]);
        messages.extend(all(&mut decoder).unwrap());
    }
    assert_eq!(messages, decoded(CONNECTION).unwrap());
    assert_eq!(decoder.waiting(), 0);
}

#[test]
fn what_is_not_rtsp_is_refused() {
    for (text, error) in [
        ("HTTP/1.1 200 OK\r\n\r\n", MessageError::StartLine),
        ("RTSP/2.0 200 OK\r\n\r\n", MessageError::StartLine),
        ("RTSP/1.0 20 OK\r\n\r\n", MessageError::StartLine),
        ("RTSP/1.0 +20 OK\r\n\r\n", MessageError::StartLine),
        ("OPTIONS * HTTP/1.1\r\n\r\n", MessageError::StartLine),
        ("OPTIONS  RTSP/1.0\r\n\r\n", MessageError::StartLine),
        ("RTSP/1.0 200 OK\r\nno colon\r\n\r\n", MessageError::Header),
        (
            "RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n",
            MessageError::Header,
        ),
        (
            "RTSP/1.0 200 OK\r\nContent-Length: 131073\r\n\r\n",
            MessageError::BodyTooLarge(131_073),
        ),
    ] {
        assert_eq!(decoded(text.as_bytes()), Err(error), "{text:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let line = "A: b\r\n".repeat(MAX_HEADERS + 1);
    let many = format!("RTSP/1.0 200 OK\r\n{line}\r\n");
    assert_eq!(decoded(many.as_bytes()), Err(MessageError::HeadTooLarge));

    let mut decoder = Decoder::default();
    for _ in 0..MAX_HEAD - 1 {
        decoder.push(b"A");
        assert_eq!(decoder.next_message(), Ok(None));
    }
    decoder.push(b"A");
    assert_eq!(decoder.next_message(), Err(MessageError::HeadTooLarge));
}

#[test]
fn what_is_written_is_read() {
    let mut out = BytesMut::new();
    write_request(&mut out, "SETUP", "rtsp://h/1", &[("CSeq", "1")]);
    write_frame(&mut out, 3, b"rtcp");
    write_frame(&mut out, 3, &vec![0; 65_536]);
    write_response(&mut out, 501, "Not Implemented", &[("CSeq", "9")]);
    let messages = decoded(&out).unwrap();
    let [
        Message::Request(request),
        Message::Frame {
            channel: 3,
            payload,
        },
        Message::Response(response),
    ] = messages.as_slice()
    else {
        panic!("{messages:?}")
    };
    assert_eq!(
        (request.method.as_str(), request.headers.cseq()),
        ("SETUP", Some(1))
    );
    assert_eq!(payload, "rtcp");
    assert_eq!((response.status, response.headers.cseq()), (501, Some(9)));
}

proptest! {
    #[test]
    fn no_bytes_panic_or_grow(pieces in proptest::collection::vec(
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            Just(b"RTSP/1.0 200 OK\r\n".to_vec()),
            Just(b"Content-Length: 70000\r\n".to_vec()),
            Just(b"\r\n\r\n".to_vec()),
            Just(b"$\x00\xff\xff".to_vec()),
            Just(vec![b'a'; 9000]),
        ],
        0..40,
    )) {
        let mut decoder = Decoder::default();
        for piece in pieces {
            decoder.push(&piece);
            if all(&mut decoder).is_err() {
                break;
            }
            prop_assert!(decoder.waiting() <= MAX_HEAD + MAX_BODY + piece.len());
        }
    }

    #[test]
    fn cuts_change_nothing(cuts in proptest::collection::vec(0..CONNECTION.len(), 0..6)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        cuts.push(CONNECTION.len());
        let mut decoder = Decoder::default();
        let (mut at, mut messages) = (0, Vec::new());
        for cut in cuts {
            decoder.push(&CONNECTION[at..cut]);
            at = cut;
            messages.extend(all(&mut decoder).unwrap());
        }
        prop_assert_eq!(messages, decoded(CONNECTION).unwrap());
    }
}

#[test]
fn a_value_begins_no_line() {
    let mut out = BytesMut::new();
    let headers = [("Session", "a\r\nTEARDOWN: b\n")];
    write_request(&mut out, "OPTIONS", "rtsp://h/\r\nA: b", &headers);
    let expected = "OPTIONS rtsp://h/A: b RTSP/1.0\r\nSession: aTEARDOWN: b\r\n\r\n";
    assert_eq!(out, expected.as_bytes());
}
