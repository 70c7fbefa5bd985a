//! Streams of any pictures for readers of any pace: what these get is always a valid transport stream.

use std::collections::HashMap;

use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::ts::Classify;
use crate::ts::marker::pcr_field;
use crate::ts::packet::{LEN, NULL, SYNC, View};
use crate::ts::tables::{PAT_PID, Pat, Pmt, Stream, kind};

const LAG: Duration = Duration::from_secs(2);
const PMT_PID: u16 = 4096;
const VIDEO: u16 = 256;
const SOUND: u16 = 257;

/// A number without bytes that could be of a start code.
fn digits(number: u32) -> [u8; 4] {
    [21, 14, 7, 0].map(|shift| 0x80 | (number >> shift) as u8)
}

/// Makes a transport stream.
#[derive(Default)]
struct Origin {
    counters: HashMap<u16, u8>,
    bytes: BytesMut,
}

impl Origin {
    /// A unit over as many packets as it takes. Its first has a clock if there is one.
    fn unit(&mut self, pid: u16, mut bytes: &[u8], mut clock: Option<u64>) {
        let mut begins = true;
        while !bytes.is_empty() {
            let field = if clock.is_some() { 8 } else { 0 };
            let len = bytes.len().min(LEN - 4 - field);
            let stuffing = LEN - 4 - len;
            let counter = self.counters.entry(pid).or_insert(0);
            let [high, low] = pid.to_be_bytes();
            let control = if stuffing > 0 { 0x30 } else { 0x10 };
            let mut packet = vec![SYNC, u8::from(begins) << 6 | high, low, control | *counter];
            *counter = (*counter + 1) & 0xf;
            if stuffing > 0 {
                let mut adaptation = vec![0xff; stuffing];
                adaptation[0] = (stuffing - 1) as u8;
                if stuffing > 1 {
                    adaptation[1] = 0;
                }
                if let Some(pcr) = clock.take() {
                    adaptation[1] = 0x10;
                    adaptation[2..8].copy_from_slice(&pcr_field(pcr));
                }
                packet.extend(adaptation);
            }
            packet.extend(&bytes[..len]);
            self.bytes.extend_from_slice(&packet);
            bytes = &bytes[len..];
            begins = false;
        }
    }

    fn tables(&mut self) {
        let stream = |kind, pid| Stream {
            kind,
            pid,
            descriptors: Vec::new(),
        };
        let pmt = Pmt {
            program: 1,
            pcr_pid: VIDEO,
            streams: vec![stream(kind::H264, VIDEO), stream(kind::AAC, SOUND)],
        };
        let pat = Pat {
            id: 1,
            programs: vec![(1, PMT_PID)],
        };
        self.unit(PAT_PID, &[&[0], &pat.section()[..]].concat(), None);
        self.unit(PMT_PID, &[&[0], &pmt.section()[..]].concat(), None);
    }

    /// A picture: the header of its first NAL unit says what others refer to it.
    fn picture(&mut self, number: u32, header: u8, len: usize) {
        let mut bytes = vec![0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1];
        bytes.extend([0, 0, 1, header, 0x9a]);
        bytes.extend(digits(number));
        bytes.resize(bytes.len() + len, number as u8 | 1);
        self.unit(VIDEO, &bytes, Some(u64::from(number) * 40 * 27_000));
    }

    fn sound(&mut self, number: u32, len: usize) {
        let mut bytes = vec![0, 0, 1, 0xc0, 0, 0, 0x80, 0, 0];
        bytes.extend(digits(number));
        bytes.resize(bytes.len() + len, 0x55);
        self.unit(SOUND, &bytes, None);
    }
}

/// What is in a transport stream: the units by stream, but the last of each, and the clock.
fn units(bytes: &[u8]) -> (HashMap<u16, Vec<Vec<u8>>>, Vec<u64>) {
    let (mut all, mut clocks) = (HashMap::<u16, Vec<Vec<u8>>>::new(), Vec::new());
    let mut counters = HashMap::new();
    assert_eq!(bytes.len() % LEN, 0);
    for packet in bytes.as_chunks().0 {
        let view = View::new(packet).expect("a sync byte");
        let pid = view.pid();
        if pid == NULL {
            continue;
        }
        clocks.extend(view.pcr());
        let counter = counters.insert(pid, view.continuity());
        let expected = counter.map(|counter| (counter + u8::from(view.has_payload())) & 0xf);
        let follows = expected.is_none_or(|expected| expected == view.continuity());
        assert!(
            follows || view.is_discontinuous(),
            "{pid}: {expected:?}, {}",
            view.continuity()
        );
        let units = all.entry(pid).or_default();
        if view.begins_unit() {
            units.push(Vec::new());
        }
        if view.has_payload() {
            let unit = units.last_mut().expect("a unit begins first");
            unit.extend_from_slice(view.payload());
        }
    }
    for units in all.values_mut() {
        units.pop();
    }
    (all, clocks)
}

/// A client that takes as many bytes at a time as it is told.
struct Reader(Vec<u8>, usize);

impl std::io::Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let len = bytes.len().min(self.1);
        self.1 -= len;
        self.0.extend_from_slice(&bytes[..len]);
        match len {
            0 => Err(std::io::ErrorKind::WouldBlock.into()),
            len => Ok(len),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A picture's class by what is drawn, its bytes, and how many bytes the reader takes after it.
type Step = (u8, usize, usize);

fn asked(since: Instant) -> Asked {
    Asked {
        source: 0,
        format: Format::Ts,
        is_11: false,
        since,
        ready: None,
    }
}

struct Played {
    sent: Vec<u8>,
    got: Vec<u8>,
    watching: Watching,
    /// The most bytes that waited.
    waited: usize,
}

/// Plays pictures, 25 a second, of which each `gop`th is a key picture, to a reader that joins after one of them,
/// or before all.
fn play(steps: &[Step], gop: usize, joins: Option<usize>) -> Played {
    let begun = Instant::now();
    let (mut origin, mut classify) = (Origin::default(), Classify::new());
    let mut recent = Recent::new(LAG);
    let mut reader = Reader(Vec::new(), 0);
    let mut outgoing = Outgoing::default();
    let mut watching = match joins {
        Some(_) => None,
        None => Some(Watching::new(
            asked(begun),
            &recent,
            recent.start(),
            &[],
            Allowance::new(begun),
        )),
    };
    let (mut sent, mut waited) = (Vec::new(), 0);
    for (number, &(drawn, len, taken)) in steps.iter().enumerate() {
        let now = begun + Duration::from_millis(40) * number as u32;
        if number % gop == 0 {
            origin.tables();
        }
        let header = match drawn {
            _ if number % gop == 0 => 0x65,
            0..100 => 0x01,
            _ => 0x41,
        };
        origin.picture(number as u32, header, len);
        origin.sound(number as u32, usize::from(drawn) * 3);
        let bytes = origin.bytes.split().freeze();
        sent.extend_from_slice(&bytes);
        for at in (0..bytes.len()).step_by(7 * LEN) {
            let datagram = bytes.slice(at..bytes.len().min(at + 7 * LEN));
            classify.push(datagram, |chunk| recent.push(chunk, now));
        }
        if joins == Some(number) {
            let tables = classify.tables();
            watching = Some(Watching::new(
                asked(now),
                &recent,
                recent.start(),
                &tables,
                Allowance::new(now),
            ));
            outgoing.push(tables);
        }
        let Some(watching) = &mut watching else {
            continue;
        };
        if number % 3 == 0 {
            watching.fall_back(&recent, now, LAG, &mut outgoing);
        }
        reader.1 = taken;
        while reader.1 > 0 {
            watching.take(&recent, now, LAG, &mut outgoing);
            if outgoing.is_empty() || outgoing.write_to(&mut reader).unwrap() == 0 {
                break;
            }
        }
        waited = waited.max(outgoing.len());
    }
    reader.1 = usize::MAX;
    outgoing.write_to(&mut reader).unwrap();
    Played {
        sent,
        got: reader.0,
        watching: watching.unwrap(),
        waited,
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pace = prop_oneof![Just(0usize), Just(1000), Just(20_000), Just(usize::MAX)];
    let stretch = (pace, 1..120usize, 100..30_000usize);
    let stretches = prop::collection::vec(stretch, 1..8);
    (stretches, any::<u64>()).prop_map(|(stretches, seed)| {
        let mut state = seed | 1;
        let mut draw = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let stretches = stretches.into_iter();
        stretches
            .flat_map(|(pace, count, len)| {
                let steps = (0..count).map(|_| {
                    let taken = match pace {
                        usize::MAX => pace,
                        0 => 0,
                        pace => draw() as usize % (2 * pace),
                    };
                    (draw() as u8, draw() as usize % len, taken)
                });
                steps.collect::<Vec<_>>()
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn what_any_reader_gets_is_valid(steps in steps(), gop in 1..200usize, joins in proptest::option::of(0..100usize)) {
        let joins = joins.map(|joins| joins.min(steps.len() - 1));
        let played = play(&steps, gop, joins);
        let (sent, _) = units(&played.sent);
        let (got, clocks) = units(&played.got);
        for (pid, got) in got {
            let mut sent = sent.get(&pid).unwrap().iter();
            for unit in &got {
                // In order, and each as it was sent. Tables are alike.
                let found = pid < VIDEO || pid == PMT_PID || sent.any(|other| other == unit);
                prop_assert!(found, "{} {:?}, {} {joins:?} {gop}", pid, &unit[..unit.len().min(40)], unit.len());
            }
        }
        prop_assert!(clocks.is_sorted());
        prop_assert!(played.waited < REST + 100_000, "{}", played.waited);
    }

    #[test]
    fn a_reader_with_room_gets_all(steps in steps(), gop in 1..100usize) {
        let steps: Vec<Step> = steps.iter().map(|&(drawn, len, _)| (drawn, len, usize::MAX)).collect();
        let played = play(&steps, gop, None);
        prop_assert!(played.got == played.sent, "{} {}", played.got.len(), played.sent.len());
        prop_assert_eq!((played.watching.left_out, played.watching.choice.left_out()), (0, 0));
    }
}

/// The numbers of pictures and of sound in what a client got.
fn numbers(bytes: &[u8]) -> [Vec<u32>; 2] {
    let (units, _) = units(bytes);
    [(VIDEO, 19), (SOUND, 9)].map(|(pid, at)| {
        let units = units[&pid].iter();
        let number = |unit: &Vec<u8>| {
            let digits = unit[at..at + 4].iter();
            digits.fold(0, |number, &digit| number << 7 | u32::from(digit & 0x7f))
        };
        units.map(number).collect()
    })
}

#[test]
fn a_reader_with_less_room_gets_fewer_pictures_and_all_sound() {
    // Two of three pictures are disposable and have half of the bytes.
    let even = |taken: usize| -> Vec<Step> {
        let step = |number: usize| match number % 3 {
            0 => (200, 10_000, taken),
            _ => (0, 5_000, taken),
        };
        (0..1000).map(step).collect()
    };
    for (taken, pictures, jumps) in [
        (6_700, 600..900, 0),
        (4_700, 450..650, 0),
        (2_500, 50..300, 1),
    ] {
        let played = play(&even(taken), 50, None);
        let [got, sound] = numbers(&played.got);
        assert!(pictures.contains(&got.len()), "{taken}: {}", got.len());
        // With room for those that others refer to there is no pause.
        let pause = got.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert_eq!(pause > Some(12), jumps > 0, "{taken}: {pause:?}");
        let expected: Vec<u32> = (0..*sound.last().unwrap() + 1).collect();
        assert!(sound == expected, "{taken}: sound is missing");
        assert!(sound.len() > 945, "{taken}: {} of sound", sound.len());
    }
}

#[test]
fn a_reader_that_stops_goes_on_with_what_is_not_late() {
    let mut steps: Vec<Step> = vec![(200, 5_000, usize::MAX); 500];
    steps[100..300].iter_mut().for_each(|step| step.2 = 0);
    let played = play(&steps, 50, None);
    let [pictures, sound] = numbers(&played.got);
    let resumes = |numbers: &[u32]| {
        let gap = numbers.windows(2).find(|pair| pair[1] > pair[0] + 1);
        gap.map(|pair| (pair[0], pair[1]))
    };
    // It has what it took before, and sound of the last two seconds and a half. Pictures begin with the last key picture.
    assert_eq!(resumes(&sound), Some((99, 238)));
    assert_eq!(resumes(&pictures), Some((99, 300)));
    assert_eq!((pictures.len(), sound.len()), (299, 361));
    assert_eq!(played.watching.choice.left_out(), 200);
    // Without a key picture in the last two seconds, with the next.
    let played = play(&steps, 180, None);
    let [pictures, sound] = numbers(&played.got);
    assert_eq!(resumes(&sound), Some((99, 238)));
    assert_eq!(resumes(&pictures), Some((99, 360)));
}

#[test]
fn a_reader_that_joins_begins_with_tables_and_the_last_key_picture_however_old() {
    let steps: Vec<Step> = vec![(200, 5_000, usize::MAX); 300];
    let played = play(&steps, 200, Some(190));
    let first = View::new(played.got.first_chunk().unwrap()).unwrap();
    assert_eq!(first.pid(), PAT_PID);
    let [pictures, sound] = numbers(&played.got);
    assert_eq!((pictures[0], sound[0]), (0, 0));
    assert_eq!((pictures.len(), sound.len()), (299, 299));
}
