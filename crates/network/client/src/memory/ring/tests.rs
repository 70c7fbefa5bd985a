use std::collections::VecDeque;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::Region;
use super::*;

const SIZE: usize = 64;

fn span() -> Span {
    let region = Region::private(ring_len(SIZE)).unwrap();
    Span::new(&region, 0, ring_len(SIZE))
}

fn bytes_of(slices: [Shared<'_>; 2]) -> Vec<u8> {
    let mut bytes = vec![0; slices[0].len() + slices[1].len()];
    let (first, second) = bytes.split_at_mut(slices[0].len());
    slices[0].copy_to(first);
    slices[1].copy_to(second);
    bytes
}

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<u8>),
    Free(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        vec(any::<u8>(), 0..2 * SIZE).prop_map(Step::Write),
        (0..2 * SIZE).prop_map(Step::Free),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_sent(steps in vec(step(), 1..60)) {
        let span = span();
        let (mut writer, mut send) = (Writer::new(&span), SendBuffer::new(&span));
        let (mut model, mut freed) = (VecDeque::<u8>::new(), 0);
        for step in steps {
            match step {
                Step::Write(bytes) => {
                    let n = writer.write(&bytes);
                    prop_assert_eq!(n, bytes.len().min(SIZE - model.len()));
                    model.extend(&bytes[..n]);
                }
                Step::Free(n) => {
                    let n = n.min(model.len());
                    model.drain(..n);
                    freed += n as u64;
                    send.free(freed).unwrap();
                }
            }
            prop_assert_eq!(send.written().unwrap(), freed + model.len() as u64);
            prop_assert_eq!(writer.room(), SIZE - model.len());
            prop_assert_eq!(writer.unsent(), model.len());
            prop_assert_eq!(bytes_of(send.slices(freed, model.len()).unwrap()), model.make_contiguous());
        }
    }

    #[test]
    fn what_is_put_in_any_order_is_read_in_order(
        segments in vec((vec(any::<u8>(), 2..20), any::<bool>(), 0..40usize), 1..60),
    ) {
        let span = span();
        let (mut receive, mut reader) = (ReceiveBuffer::new(&span), Reader::new(&span));
        let (mut model, mut published, mut consumed) = (VecDeque::<u8>::new(), 0, 0);
        for (bytes, later_half_first, read) in segments {
            if bytes.len() + model.len() <= SIZE {
                let (first, second) = bytes.split_at(bytes.len() / 2);
                let halves = [(published, first), (published + first.len() as u64, second)];
                for at in if later_half_first { [1, 0] } else { [0, 1] } {
                    receive.put(halves[at].0, halves[at].1).unwrap();
                }
                prop_assert_eq!(reader.available(), model.len());
                published += bytes.len() as u64;
                receive.publish(published).unwrap();
                model.extend(bytes);
            }
            let mut to = vec![0; read];
            prop_assert_eq!(reader.peek(&mut to), read.min(model.len()));
            let n = reader.read(&mut to);
            prop_assert_eq!(n, read.min(model.len()));
            prop_assert!(to[..n].iter().copied().eq(model.drain(..n)));
            consumed += n as u64;
            prop_assert_eq!(receive.consumed(), Ok(consumed));
        }
    }

    /// Whatever the words say, the engine finds it corrupt or stays within the memory, and the application stays within.
    #[test]
    fn no_index_leads_out_of_the_memory(produced: u64, consumed: u64, near in 0..300u64) {
        let (span, other) = (span(), span());
        let mut send = SendBuffer::new(&span);
        let mut receive = ReceiveBuffer::new(&other);
        receive.publish(SIZE as u64).unwrap();
        for (produced, consumed) in [(produced, consumed), (near, near), (u64::MAX - near, near)] {
            span.word(PRODUCED).store(produced, Ordering::Relaxed);
            match send.written() {
                Ok(written) => {
                    prop_assert!(written <= SIZE as u64);
                    bytes_of(send.slices(0, written as usize).unwrap());
                }
                Err(Corrupt) => prop_assert!(produced > SIZE as u64),
            }
            other.word(CONSUMED).store(consumed, Ordering::Relaxed);
            prop_assert_eq!(receive.consumed().is_ok(), consumed <= SIZE as u64);
        }
        let mut writer = Writer::new(&span);
        span.word(CONSUMED).store(consumed, Ordering::Relaxed);
        prop_assert!(writer.write(&[1; 2 * SIZE]) <= SIZE);
        let reader = Reader::new(&other);
        other.word(PRODUCED).store(produced, Ordering::Relaxed);
        prop_assert!(reader.peek(&mut [0; 2 * SIZE]) <= SIZE);
    }
}

#[test]
fn an_index_that_goes_back_is_corrupt() {
    let span = span();
    let (mut writer, mut send) = (Writer::new(&span), SendBuffer::new(&span));
    writer.write(&[1; 10]);
    assert_eq!(send.written(), Ok(10));
    span.word(PRODUCED).store(9, Ordering::Relaxed);
    assert_eq!(send.written(), Err(Corrupt));

    let span = self::span();
    let mut receive = ReceiveBuffer::new(&span);
    receive.put(0, &[1; 10]).unwrap();
    receive.publish(10).unwrap();
    span.word(CONSUMED).store(5, Ordering::Relaxed);
    assert_eq!(receive.consumed(), Ok(5));
    span.word(CONSUMED).store(4, Ordering::Relaxed);
    assert_eq!(receive.consumed(), Err(Corrupt));
}

#[test]
fn bytes_cross_threads() {
    const ALL: u64 = 200_000;
    let region = Region::private(ring_len(SIZE)).unwrap();
    let span = Span::new(&region, 0, ring_len(SIZE));
    let mut send = SendBuffer::new(&span);
    let mut writer = Writer::new(&span);
    let producer = std::thread::spawn(move || {
        let mut at = 0;
        while at < ALL {
            let bytes: Vec<u8> = (at..ALL.min(at + 13)).map(|at| (at % 251) as u8).collect();
            let n = writer.write(&bytes);
            at += n as u64;
            if n == 0 {
                std::thread::yield_now();
            }
        }
    });
    let mut at = 0;
    while at < ALL {
        let written = send.written().unwrap();
        for byte in bytes_of(send.slices(at, (written - at) as usize).unwrap()) {
            assert_eq!(byte, (at % 251) as u8);
            at += 1;
        }
        send.free(written).unwrap();
        std::thread::yield_now();
    }
    producer.join().unwrap();
    assert_eq!(Arc::strong_count(&region), 3);
}

#[test]
fn a_ring_continues_in_another() {
    let spans = [(); 4].map(|()| span());
    // Both positions are beyond the size, and the bytes go around the end.
    let (mut send, mut receive) = (SendBuffer::new(&spans[0]), ReceiveBuffer::new(&spans[1]));
    let mut writer = Writer::new(&spans[0]);
    let mut reader = Reader::new(&spans[1]);
    let byte = |position: u64| position as u8;
    let bytes = |from: u64, to: u64| (from..to).map(byte).collect::<Vec<u8>>();
    for from in [0, 50] {
        assert_eq!(writer.write(&bytes(from, from + 50)), 50);
        assert_eq!(send.written(), Ok(from + 50));
        receive.put(from, &bytes(from, from + 50)).unwrap();
        receive.publish(from + 50).unwrap();
        if from == 0 {
            send.free(50).unwrap();
            assert_eq!(reader.read(&mut [0; 50]), 50);
            assert_eq!(receive.consumed(), Ok(50));
        }
    }
    // Bytes that came out of order, which are not published.
    receive.put(105, &bytes(105, 110)).unwrap();
    let (mut new_send, mut new_receive) =
        (SendBuffer::new(&spans[2]), ReceiveBuffer::new(&spans[3]));
    new_send.succeed(&mut send).unwrap();
    new_receive.succeed(&mut receive, 110).unwrap();
    assert_eq!(bytes_of(new_send.slices(50, 50).unwrap()), bytes(50, 100));
    assert_eq!(Writer::new(&spans[2]).room(), SIZE - 50);
    let mut reader = Reader::new(&spans[3]);
    assert_eq!(reader.available(), 50);
    new_receive.put(100, &bytes(100, 105)).unwrap();
    new_receive.publish(110).unwrap();
    let mut got = vec![0; 60];
    assert_eq!(reader.read(&mut got), 60);
    assert_eq!(got, bytes(50, 110));
    // Rings of another size do not.
    let region = Region::private(ring_len(32)).unwrap();
    let mut small = SendBuffer::new(&Span::new(&region, 0, ring_len(32)));
    assert_eq!(small.succeed(&mut send), Err(Corrupt));
}

/// An engine that is wrong about a ring ends the connection, on whichever side the fault lies. Nothing is written.
#[test]
fn positions_that_cannot_be_are_refused() {
    let region = Region::private(2 * ring_len(64)).unwrap();
    let spans = [0, ring_len(64)].map(|at| Span::new(&region, at, ring_len(64)));
    let mut send = SendBuffer::new(&spans[0]);
    let mut writer = Writer::new(&spans[0]);
    assert_eq!(writer.write(&[1; 40]), 40);
    assert_eq!(send.written(), Ok(40));
    send.free(10).unwrap();
    assert!(send.slices(10, 30).is_ok());
    for (at, len) in [(9, 1), (10, 31), (41, 0), (u64::MAX, 1)] {
        assert!(send.slices(at, len).is_err(), "{at} {len}");
    }
    assert_eq!((send.free(9), send.free(41)), (Err(Corrupt), Err(Corrupt)));
    assert_eq!(writer.unsent(), 30);
    let mut receive = ReceiveBuffer::new(&spans[1]);
    let reader = Reader::new(&spans[1]);
    receive.put(0, &[1; 64]).unwrap();
    receive.publish(20).unwrap();
    for (at, len) in [(19, 1), (20, 45), (u64::MAX, 1)] {
        let put = receive.put(at, &vec![9; len]);
        assert_eq!(put, Err(Corrupt), "{at} {len}");
    }
    assert_eq!(receive.publish(19), Err(Corrupt));
    assert_eq!(receive.publish(65), Err(Corrupt));
    let mut bytes = [0; 64];
    assert_eq!(reader.peek(&mut bytes), 20);
    assert_eq!(bytes[..20], [1; 20]);
}
