//! The service on the runtime: any plan, plans that change in mid-stream, any size and any split of reads give the
//! bytes of one call over the whole.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use evener_crypt::bulk::{Bulk, BulkSource, Counter, Failure, Open, Operation, Seal, UnitOut};
use evener_crypt::chunked::{CHUNK, ChunkError, FileKey, SALT, SEALED_CHUNK, Scheme, sealed_len};
use evener_crypt::ctr::Ctr;
use evener_files::InputFile;
use evener_runtime::stream::Schedule;
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{Dispatch, Plan, Runtime, Simd, Sink, Structure};
use evener_testing::Folder;
use proptest::prelude::*;

use crate::vectors::bytes;

pub const MIB: usize = 1 << 20;
/// Where chunks and units end.
const EDGES: [usize; 6] = [0, CHUNK, 7 * CHUNK, MIB, 2 * MIB, 3 * MIB];

pub fn file_key() -> FileKey {
    let simd = Simd::detect();
    let (key, _) =
        FileKey::create(Scheme::Cobblestone256, &[1; 32], b"", &[2; SALT], simd).unwrap();
    key
}

fn counter() -> Counter {
    Counter {
        ctr: Ctr::new(&[3; 32], &[0xff; 16], Simd::detect()).unwrap(),
        at: (5 << 30) + 7,
    }
}

pub fn sealed(text: &[u8]) -> Vec<u8> {
    let mut all = vec![0; sealed_len(text.len(), true)];
    file_key().seal(0, text, true, &mut all).unwrap();
    all
}

fn counted(text: &[u8]) -> Vec<u8> {
    let mut all = text.to_vec();
    let Counter { ctr, at } = counter();
    ctr.apply(at, &mut all);
    all
}

/// A file with `content` that has no name any more.
pub fn file_with(content: &[u8]) -> InputFile {
    let folder = Folder::new();
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(folder.path("file"))
        .unwrap();
    file.write_all(content).unwrap();
    file.rewind().unwrap();
    InputFile::from_file(file, "file").unwrap()
}

/// A pipe that delivers `content` in pieces of these sizes, again and again.
pub fn pipe_with(content: &[u8], pieces: &[usize]) -> InputFile {
    let (read, mut write) = io::pipe().unwrap();
    let (content, pieces) = (content.to_vec(), pieces.to_vec());
    thread::spawn(move || {
        let mut rest = &content[..];
        for &piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            // The reader may have closed its end.
            if now.is_empty() || write.write_all(now).is_err() {
                return;
            }
            rest = later;
        }
    });
    InputFile::from_file(File::from(OwnedFd::from(read)), "pipe").unwrap()
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Collect {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Arc<Mutex<bool>>,
}

impl<O: Operation + 'static> Sink<Bulk<O>> for Collect {
    type Error = io::Error;

    fn write(&mut self, unit: &UnitOut) -> io::Result<()> {
        let mut bytes = self.bytes.lock().unwrap();
        assert!(!*self.ended.lock().unwrap(), "written after the last unit");
        bytes.extend_from_slice(&unit.bytes()[..unit.len()]);
        *self.ended.lock().unwrap() = unit.is_last();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Plans one after the other, round and round.
struct Script {
    plans: Vec<(Plan, u32)>,
    number: u64,
}

impl Schedule for Script {
    fn next(&mut self) -> Epoch {
        let (plan, units) = self.plans[self.number as usize % self.plans.len()];
        Epoch {
            number: self.number + 1,
            plan,
            units,
            cutoff: None,
            fallback: plan,
            pin_workers: false,
            purpose: Purpose::Fixed,
        }
    }

    fn buffers(&mut self, _: Duration, _: u32) {}

    fn prepared(&mut self, _: Duration) {}

    fn record(&mut self, _: Measured<'_>) {
        self.number += 1;
    }
}

/// What comes out of an operation under a schedule of plans, and why it ended if it failed.
fn run<O: Operation + 'static>(
    operation: O,
    input: InputFile,
    plans: &[(Plan, u32)],
) -> (Vec<u8>, Result<(), Failure>) {
    let service = Bulk::new(operation);
    let (first_error, collect) = (service.first_error(), Collect::default());
    let runtime = Runtime::builder().workers(3).memory(false).build().unwrap();
    let script = Script {
        plans: plans.to_vec(),
        number: 0,
    };
    let done = runtime
        .stream(BulkSource::to_end::<O>(input, 0, 0))
        .through(service)
        .scheduled_by(script)
        .into(collect.clone());
    let result = match (done, first_error.take()) {
        (Ok(_), None) => Ok(()),
        (Err(_), Some(failure)) => Err(failure),
        (done, first_error) => panic!("{:?} but {first_error:?}", done.err()),
    };
    assert_eq!(*collect.ended.lock().unwrap(), result.is_ok());
    let bytes = std::mem::take(&mut *collect.bytes.lock().unwrap());
    (bytes, result)
}

/// Seals, opens and counts under the same plans, and compares with one call. Both inputs come from `input`.
fn check(text: &[u8], plans: &[(Plan, u32)], input: impl Fn(&[u8]) -> InputFile) {
    let (sealed, counted) = (sealed(text), counted(text));
    let what = format!("{} bytes, {plans:?}", text.len());
    let sealing = run(Seal(file_key()), input(text), plans);
    assert!(sealing == (sealed.clone(), Ok(())), "seal {what}");
    let opening = run(Open(file_key()), input(&sealed), plans);
    assert!(opening == (text.to_vec(), Ok(())), "open {what}");
    let counting = run(counter(), input(text), plans);
    assert!(counting == (counted, Ok(())), "ctr {what}");
}

fn plan(structure: &'static Structure, dispatch: Dispatch, grain: u32, workers: u32) -> Plan {
    Plan {
        structure,
        dispatch,
        grain,
        workers,
        devices: 0,
    }
}

fn every_plan() -> Vec<Plan> {
    let mut plans = Vec::new();
    for dispatch in Dispatch::ALL {
        for workers in 1..=3 {
            let sequential = |grain| plan(&SEQUENTIAL, dispatch, grain, workers);
            plans.extend([1, 3, 8, 63, 64].map(sequential));
            plans.push(plan(&FARM, dispatch, 1, workers));
        }
    }
    plans
}

#[test]
fn every_plan_gives_the_bytes_of_one_call() {
    let text = bytes(2 * MIB + 5 * CHUNK + 4321, 1);
    for plan in every_plan() {
        check(&text, &[(plan, 1)], file_with);
    }
}

#[test]
fn every_size_gives_the_bytes_of_one_call() {
    let all = bytes(3 * MIB + 1, 2);
    for edge in EDGES {
        for length in [edge.saturating_sub(1), edge, edge + 1] {
            for plan in [
                plan(&SEQUENTIAL, Dispatch::Steal, 5, 3),
                plan(&FARM, Dispatch::Fifo, 1, 3),
            ] {
                check(&all[..length], &[(plan, 4)], file_with);
                let pieces = [1, CHUNK, 40_000, 3];
                check(&all[..length], &[(plan, 4)], |all| pipe_with(all, &pieces));
            }
        }
    }
}

fn any_length() -> impl Strategy<Value = usize> {
    let at_edges = (prop::sample::select(EDGES.to_vec()), 0..40usize)
        .prop_map(|(edge, near)| (edge + near).saturating_sub(20));
    prop_oneof![at_edges, 0..4 * MIB]
}

fn any_plans() -> impl Strategy<Value = Vec<(Plan, u32)>> {
    let plan = prop::sample::select(every_plan());
    prop::collection::vec((plan, 1..3u32), 1..6)
}

/// Pieces of which not all are tiny: a system call for each few of millions of bytes takes too long.
fn any_pieces() -> impl Strategy<Value = Vec<usize>> {
    let some = prop::collection::vec(1..3 * CHUNK, 1..6);
    (some, CHUNK..100_000).prop_map(|(mut some, large)| {
        some.push(large);
        some
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn plans_that_change_and_reads_that_are_split(
        length in any_length(),
        plans in any_plans(),
        pieces in prop::option::of(any_pieces()),
    ) {
        let text = bytes(length, 3);
        check(&text, &plans, |all| match &pieces {
            Some(pieces) => pipe_with(all, pieces),
            None => file_with(all),
        });
    }

    #[test]
    fn what_is_damaged_ends_at_the_unit_before(
        chunks in 1..200usize,
        hit: prop::sample::Index,
        cut: bool,
        plans in any_plans(),
    ) {
        let text = bytes(chunks * CHUNK + 99, 4);
        let mut file = sealed(&text);
        let at = hit.index(file.len());
        let chunk = at / SEALED_CHUNK;
        match cut {
            true => file.truncate(at),
            false => file[at] ^= 0x10,
        }
        let (got, result) = run(Open(file_key()), file_with(&file), &plans);
        let Err(Failure::Chunk(error)) = result else { panic!("{result:?}") };
        let refused = match error {
            ChunkError::Altered { chunk } => chunk,
            ChunkError::Truncated { chunk } if cut => chunk,
            _ => panic!("{error}"),
        };
        prop_assert_eq!(refused, chunk as u64);
        // All units before the damage, and nothing of its own.
        let verified = chunk / 64 * MIB;
        prop_assert!(got == text[..verified], "{} bytes instead of {}", got.len(), verified);
    }
}
