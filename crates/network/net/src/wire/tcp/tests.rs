use etherparse::{TcpHeader, TcpOptionElement};
use proptest::prelude::*;

use super::*;

prop_compose! {
    fn options()(
        mss: Option<u16>,
        window_scale in prop::option::of(0..=14u8),
        sack_permitted: bool,
        timestamps: Option<(u32, u32)>,
        blocks in prop::collection::vec(any::<(u32, u32)>(), 0..=4),
    ) -> Options {
        let mut sack = SackBlocks::new();
        for (left, right) in blocks {
            sack.push(left, right);
        }
        Options { mss, window_scale, sack_permitted, timestamps, sack }
    }
}

prop_compose! {
    fn headers()(
        ports: (u16, u16),
        numbers: (u32, u32),
        flags: u8,
        window: u16,
        options in options(),
    ) -> Header {
        Header {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: numbers.0,
            acknowledgment: numbers.1,
            flags,
            window,
            options,
        }
    }
}

/// The same options, as elements in any order and with padding anywhere.
fn elements(options: &Options) -> Vec<TcpOptionElement> {
    let mut elements = Vec::new();
    elements.extend(
        options
            .timestamps
            .map(|(value, echo)| TcpOptionElement::Timestamp(value, echo)),
    );
    elements.push(TcpOptionElement::Noop);
    elements.extend(options.window_scale.map(TcpOptionElement::WindowScale));
    elements.extend(
        options
            .sack_permitted
            .then_some(TcpOptionElement::SelectiveAcknowledgementPermitted),
    );
    elements.extend(options.mss.map(TcpOptionElement::MaximumSegmentSize));
    let mut blocks = options.sack.iter();
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        elements.push(TcpOptionElement::SelectiveAcknowledgement(first, rest));
    }
    elements
}

fn other(header: &Header) -> TcpHeader {
    let bit = |flag| header.flags & flag != 0;
    let mut other = TcpHeader::new(
        header.source_port,
        header.destination_port,
        header.sequence,
        header.window,
    );
    other.acknowledgment_number = header.acknowledgment;
    (other.fin, other.syn, other.rst, other.psh) = (
        bit(flags::FIN),
        bit(flags::SYN),
        bit(flags::RST),
        bit(flags::PSH),
    );
    (other.ack, other.urg, other.ece, other.cwr) = (
        bit(flags::ACK),
        bit(flags::URG),
        bit(flags::ECE),
        bit(flags::CWR),
    );
    other
}

proptest! {
    #[test]
    fn etherparse_reads_what_is_written(header in headers()) {
        let mut bytes = [0xaa; MAX_LEN];
        let len = write(&header, &mut bytes);
        prop_assert_eq!(len, header.len());
        let (read, rest) = TcpHeader::from_slice(&bytes).expect("a header");
        prop_assert_eq!(rest.len(), MAX_LEN - len);
        let expected = other(&header);
        prop_assert_eq!(TcpHeader { options: expected.options.clone(), ..read.clone() }, expected);

        let mut options = Options::default();
        for element in read.options_iterator() {
            match element.expect("an option") {
                TcpOptionElement::Noop => {}
                TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
                TcpOptionElement::WindowScale(scale) => options.window_scale = Some(scale),
                TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
                TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    for (left, right) in [Some(first)].into_iter().chain(rest).flatten() {
                        options.sack.push(left, right);
                    }
                }
            }
        }
        let mut fitting = SackBlocks::new();
        for (left, right) in header.options.sack.iter().take(header.options.sack_fitting()) {
            fitting.push(left, right);
        }
        let header = Header { options: Options { sack: fitting, ..header.options }, ..header };
        prop_assert_eq!(options, header.options);
        prop_assert_eq!(parse(&bytes), Ok((header, len)));
    }

    #[test]
    fn what_etherparse_writes_is_read(header in headers()) {
        let mut expected = other(&header);
        if expected.set_options(&elements(&header.options)).is_err() {
            // More than 40 bytes.
            return Ok(());
        }
        let bytes = expected.to_bytes();
        prop_assert_eq!(parse(&bytes), Ok((header, bytes.len())));
    }

    #[test]
    fn any_options_are_read_as_etherparse_reads_them(raw in prop::collection::vec(prop_oneof![0..12u8, any::<u8>()], 0..40)) {
        let mut expected = TcpHeader::new(1, 2, 3, 4);
        expected.set_options_raw(&raw).expect("40 bytes at most");
        let (header, _) = parse(&expected.to_bytes()).expect("a header");
        let mut known = Options::default();
        for element in expected.options_iterator() {
            match element {
                Ok(TcpOptionElement::MaximumSegmentSize(mss)) => known.mss = Some(mss),
                Ok(TcpOptionElement::WindowScale(scale)) => known.window_scale = Some(scale.min(14)),
                Ok(TcpOptionElement::SelectiveAcknowledgementPermitted) => known.sack_permitted = true,
                Ok(TcpOptionElement::Timestamp(value, echo)) => known.timestamps = Some((value, echo)),
                Ok(_) => {}
                // etherparse stops at an option it does not know.
                Err(_) => return Ok(()),
            }
        }
        prop_assert_eq!(Options { sack: SackBlocks::new(), ..header.options }, known);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
        match parse(&bytes) {
            Ok((_, len)) => prop_assert!((MIN_LEN..=bytes.len()).contains(&len)),
            Err(_) => prop_assert!(bytes.len() < MAX_LEN || bytes[12] >> 4 < 5),
        }
    }
}

fn options_of(header: &Header) -> Vec<u8> {
    let mut bytes = [0; MAX_LEN];
    let len = write(header, &mut bytes);
    bytes[MIN_LEN..len].to_vec()
}

#[test]
fn options_are_laid_out_as_linux_does() {
    let syn = Header {
        flags: flags::SYN,
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((0x01020304, 0)),
            sack: SackBlocks::new(),
        },
        ..Header::default()
    };
    let expected = [
        2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    assert_eq!(options_of(&syn), expected);

    let mut sack = SackBlocks::new();
    for n in 0..5 {
        sack.push(n, n + 1);
    }
    assert_eq!(sack.len(), 4);
    let timestamps = Some((1, 2));
    let data = |timestamps, sack| Header {
        options: Options {
            timestamps,
            sack,
            ..Options::default()
        },
        ..Header::default()
    };
    let with_both = options_of(&data(timestamps, sack));
    assert_eq!(with_both.len(), 40);
    assert_eq!(with_both[..12], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(with_both[12..18], [1, 1, 5, 26, 0, 0]);
    assert_eq!(options_of(&data(None, sack))[..4], [1, 1, 5, 34]);
    assert_eq!(
        options_of(&data(timestamps, SackBlocks::new())).len(),
        TIMESTAMPS_LEN
    );
}

#[test]
fn options_that_cannot_be_end_the_options() {
    let read = |raw: &[u8]| {
        let mut header = TcpHeader::new(1, 2, 3, 4);
        header.set_options_raw(raw).expect("40 bytes at most");
        parse(&header.to_bytes()).expect("a header").0.options
    };
    let mss = Options {
        mss: Some(0x0101),
        ..Options::default()
    };
    // A length of 0 and of 1, one beyond the end, and the end of options.
    assert_eq!(read(&[2, 4, 1, 1, 99, 0, 4, 2]), mss);
    assert_eq!(read(&[2, 4, 1, 1, 99, 1, 4, 2]), mss);
    assert_eq!(read(&[2, 4, 1, 1, 99, 5, 4, 2]), mss);
    assert_eq!(read(&[2, 4, 1, 1, 0, 0, 4, 2]), mss);
    // An option that is not known, and one of a length that is not its own, are skipped.
    assert_eq!(read(&[99, 3, 7, 3, 4, 1, 1, 1, 2, 4, 1, 1]), mss);
    // RFC 7323 section 2.3.
    assert_eq!(read(&[3, 3, 15, 1]).window_scale, Some(14));
}

#[test]
fn the_checksum_is_where_it_belongs() {
    let mut bytes = [0; MIN_LEN];
    set_checksum(&mut bytes, 0x1234);
    assert_eq!(
        TcpHeader::from_slice(&[&bytes[..12], &[0x50], &bytes[13..]].concat())
            .expect("a header")
            .0
            .checksum,
        0x1234
    );
    assert_eq!(checksum(&bytes), Ok(0x1234));
}
