use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn ring() -> (Arc<Region>, Producer, Consumer) {
    let region = Region::private(RING_LEN).expect("memory");
    let (producer, consumer) = (Producer::new(&region, 0), Consumer::new(&region, 0));
    (region, producer, consumer)
}

/// A packet of any length, by its number.
fn packet(number: u32, len: usize) -> (Vec<u8>, Offload) {
    let bytes = (0..len)
        .map(|at| (at as u32).wrapping_mul(number | 1) as u8)
        .collect();
    let checksum = [Checksum::Complete, Checksum::Verified, Checksum::Partial];
    let offload = Offload {
        segment: number as u16,
        checksum: checksum[number as usize % 3],
    };
    (bytes, offload)
}

fn push(producer: &mut Producer, (bytes, offload): &(Vec<u8>, Offload)) -> io::Result<bool> {
    let (header, payload) = bytes.split_at(bytes.len() / 3);
    let (first, second) = payload.split_at(payload.len() / 2);
    producer.push(&Outgoing {
        header,
        payload: [first.into(), second.into()],
        offload: *offload,
    })
}

proptest! {
    #[test]
    fn packets_come_out_as_they_went_in(lens in prop::collection::vec(prop_oneof![0..100usize, 1000..70_000usize], 1..200), batch in 1..40usize) {
        let (_region, mut producer, mut consumer) = ring();
        let mut waiting = VecDeque::new();
        let mut buffer = vec![0; LARGEST];
        for (number, len) in lens.into_iter().enumerate() {
            let packet = packet(number as u32, len.min(LARGEST));
            while !push(&mut producer, &packet).expect("a right peer") {
                // Without room there is something to read.
                producer.publish();
                let (len, offload) = consumer.pop(&mut buffer).expect("a right peer").expect("a packet");
                let expected: (Vec<u8>, Offload) = waiting.pop_front().expect("a packet");
                prop_assert_eq!((&buffer[..len], offload), (&expected.0[..], expected.1));
                consumer.release();
            }
            waiting.push_back(packet);
            if number % batch == 0 {
                producer.publish();
            }
        }
        producer.publish();
        while let Some((len, offload)) = consumer.pop(&mut buffer).expect("a right peer") {
            let expected = waiting.pop_front().expect("a packet");
            prop_assert_eq!((&buffer[..len], offload), (&expected.0[..], expected.1));
        }
        prop_assert!(waiting.is_empty());
    }

    /// A peer that writes anything anywhere, at any time: an error or a packet that fits, and no panic.
    #[test]
    fn a_hostile_producer_does_no_harm(writes in prop::collection::vec((prop_oneof![Just(PRODUCED), HEAD..HEAD + 64], prop_oneof![0..200u64, any::<u64>(), Just(SIZE as u64), Just(LARGEST as u64 | 2 << 48)]), 1..60)) {
        let (region, _, mut consumer) = ring();
        let memory = Span::new(&region, 0, RING_LEN);
        let mut buffer = vec![0; LARGEST];
        for (at, value) in writes {
            memory.word(at / 8 * 8).store(value, Ordering::Relaxed);
            match consumer.pop(&mut buffer) {
                Ok(Some((len, _))) => prop_assert!(len <= LARGEST),
                Ok(None) => {}
                Err(error) => {
                    prop_assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                    return Ok(());
                }
            }
            consumer.release();
            let _ = consumer.wait();
        }
    }

    #[test]
    fn a_hostile_consumer_does_no_harm(positions in prop::collection::vec(prop_oneof![0..10_000u64, any::<u64>()], 1..60)) {
        let (region, mut producer, _) = ring();
        let memory = Span::new(&region, 0, RING_LEN);
        for position in positions {
            memory.word(CONSUMED).store(position, Ordering::Relaxed);
            for _ in 0..20 {
                if push(&mut producer, &packet(1, 60_000)).is_err() {
                    return Ok(());
                }
            }
            producer.publish();
            let _ = producer.wait();
        }
    }
}

#[test]
fn what_breaks_the_rules_is_found() {
    let mut buffer = vec![0; LARGEST];
    let largest = LARGEST as u64;
    // What the producer says it has written, and the word before the first packet.
    let cases = [
        (4, 0),
        (SIZE as u64 + 8, 0),
        (!7, 0),
        (8, 1),
        (16, 9),
        (SIZE as u64, largest + 1),
        (16, 3 << 48),
        (16, 1 << 63),
    ];
    for (produced, word) in cases {
        let (region, _, mut consumer) = ring();
        let memory = Span::new(&region, 0, RING_LEN);
        memory.word(PRODUCED).store(produced, Ordering::Relaxed);
        memory.word(HEAD).store(word, Ordering::Relaxed);
        assert!(consumer.pop(&mut buffer).is_err(), "{produced} {word}");
    }
    // A producer that goes back.
    let (region, mut producer, mut consumer) = ring();
    push(&mut producer, &packet(1, 100)).expect("a right peer");
    producer.publish();
    assert!(consumer.pop(&mut buffer).expect("a right peer").is_some());
    let memory = Span::new(&region, 0, RING_LEN);
    memory.word(PRODUCED).store(8, Ordering::Relaxed);
    assert!(consumer.pop(&mut buffer).is_err());
}

#[test]
fn a_sleeping_end_is_woken_once() {
    let (_region, mut producer, mut consumer) = ring();
    let mut buffer = vec![0; LARGEST];
    assert!(!producer.publish(), "the consumer is awake");
    assert!(consumer.wait().expect("a right peer"), "nothing is there");
    push(&mut producer, &packet(1, 100)).expect("a right peer");
    assert!(producer.publish());
    assert!(!producer.publish(), "it has been woken");
    assert!(!consumer.wait().expect("a right peer"), "a packet is there");
    assert!(!producer.publish(), "it did not go to sleep");

    while push(&mut producer, &packet(1, 60_000)).expect("a right peer") {}
    producer.publish();
    assert!(producer.wait().expect("a right peer"), "there is no room");
    while consumer.pop(&mut buffer).expect("a right peer").is_some() {}
    assert!(consumer.release());
    assert!(!consumer.release(), "it has been woken");
}
