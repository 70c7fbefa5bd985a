//! Overlays on a simulated disk, which records what is written and loses power at any moment.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use proptest::prelude::*;

use super::header::{Layout, PAGE};
use super::storage::Storage;
use super::*;

const SIZE: u64 = 10 * GRANULE + 1000;
const SECTOR: u64 = 512;

/// A command to the disk.
#[derive(Clone, Debug)]
enum Command {
    Write(u64, Vec<u8>),
    Sync,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// Its content at the beginning, and the commands since.
    first: Vec<u8>,
    commands: Vec<Command>,
    /// Pages that it still has space for, beside those that were written.
    room: Option<usize>,
    pages: BTreeSet<u64>,
    /// No sync succeeds.
    broken: bool,
    no_holes: bool,
}

#[derive(Clone, Default)]
struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn of(bytes: Vec<u8>) -> Disk {
        let first = bytes.clone();
        Disk(Arc::new(Mutex::new(State {
            bytes,
            first,
            ..State::default()
        })))
    }

    fn empty(size: u64) -> Disk {
        Disk::of(vec![0; Layout::of(size).unwrap().len() as usize])
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// A disk with the same content and no recorded commands.
    fn again(&self) -> Disk {
        Disk::of(self.state().bytes.clone())
    }

    fn commands(&self) -> usize {
        self.state().commands.len()
    }

    /// The disk after the process was killed after this number of commands.
    fn killed(&self, commands: usize) -> Disk {
        let state = self.state();
        let mut bytes = state.first.clone();
        state.commands[..commands]
            .iter()
            .for_each(|command| apply(&mut bytes, command));
        Disk::of(bytes)
    }

    /// The disk after a power cut then. `keeps` decides for each sector that was written since the last sync whether it
    /// reached the disk.
    fn cut(&self, commands: usize, mut keeps: impl FnMut() -> bool) -> Disk {
        let state = self.state();
        let mut bytes = state.first.clone();
        let commands = &state.commands[..commands];
        let synced = commands
            .iter()
            .rposition(|command| matches!(command, Command::Sync));
        let (safe, rest) = commands.split_at(synced.unwrap_or(0));
        safe.iter().for_each(|command| apply(&mut bytes, command));
        for command in rest {
            if let Command::Write(at, data) = command {
                let mut from = *at;
                let end = at + data.len() as u64;
                while from < end {
                    let to = ((from / SECTOR + 1) * SECTOR).min(end);
                    if keeps() {
                        let part = &data[(from - at) as usize..(to - at) as usize];
                        bytes[from as usize..to as usize].copy_from_slice(part);
                    }
                    from = to;
                }
            }
        }
        Disk::of(bytes)
    }
}

fn apply(bytes: &mut [u8], command: &Command) {
    if let Command::Write(at, data) = command {
        bytes[*at as usize..][..data.len()].copy_from_slice(data);
    }
}

impl Storage for Disk {
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        room.copy_from_slice(&self.state().bytes[at as usize..][..room.len()]);
        Ok(())
    }

    fn write(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        let data: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
        let mut state = self.state();
        let pages = at / PAGE..(at + data.len() as u64).div_ceil(PAGE);
        let more = pages
            .clone()
            .filter(|page| !state.pages.contains(page))
            .count();
        if let Some(room) = &mut state.room {
            *room = room.checked_sub(more).ok_or(io::ErrorKind::StorageFull)?;
        }
        state.pages.extend(pages);
        let command = Command::Write(at, data);
        apply(&mut state.bytes, &command);
        state.commands.push(command);
        Ok(())
    }

    fn punch(&self, at: u64, len: u64) -> io::Result<()> {
        if self.state().no_holes {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.write(at, &mut [IoSlice::new(&vec![0; len as usize])])
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.broken {
            return Err(io::Error::from_raw_os_error(5));
        }
        state.commands.push(Command::Sync);
        Ok(())
    }

    fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        let state = self.state();
        let hole = |at: u64| {
            state.bytes[at as usize..][..(end - at).min(PAGE) as usize]
                .iter()
                .all(|b| *b == 0)
        };
        let is = hole(at);
        let mut to = at;
        while to < end && hole(to) == is {
            to = (to / PAGE + 1) * PAGE;
        }
        (is, to.min(end))
    }
}

fn open(disk: &Disk, size: u64, boot: u8) -> Overlay {
    let layout = Layout::of(size).unwrap();
    Overlay::on(
        Box::new(disk.clone()),
        "o".to_owned(),
        layout,
        Some([boot; 16]),
        true,
    )
    .unwrap()
}

/// The image below.
fn base(at: u64) -> u8 {
    (at % 199) as u8 + 1
}

fn rest(at: u64, room: &mut [u8]) -> Result<(), WriteError> {
    for (byte, at) in room.iter_mut().zip(at..) {
        *byte = base(at);
    }
    Ok(())
}

/// All of the image as it is read.
fn image(overlay: &Overlay) -> Vec<u8> {
    let size = overlay.layout.size;
    let mut all = vec![0; size as usize];
    let mut at = 0;
    while at < size {
        let (over, to) = overlay.run(at, size);
        let room = &mut all[at as usize..to as usize];
        match over {
            true => overlay.read(at, room).unwrap(),
            false => rest(at, room).unwrap(),
        }
        at = to;
    }
    all
}

#[derive(Clone, Debug)]
enum Op {
    Write(u64, u64, u8),
    Zero(u64, u64, bool),
    Trim(u64, u64),
    Flush,
}

impl Op {
    fn run(&self, overlay: &Overlay) {
        let end = |at: u64, len: u64| (at + len).min(SIZE);
        match *self {
            Op::Write(at, len, byte) => {
                let bytes = vec![byte; (end(at, len) - at) as usize];
                overlay.write(at, &bytes, &mut rest).unwrap();
            }
            Op::Zero(at, len, room) => {
                overlay
                    .zero(at..end(at, len), room, false, &mut rest)
                    .unwrap();
            }
            Op::Trim(at, len) => overlay.trim(&(at..end(at, len))).unwrap(),
            Op::Flush => overlay.flush().unwrap(),
        }
    }

    /// What the image is afterwards.
    fn expect(&self, image: &mut [u8]) {
        let end = |at: u64, len: u64| (at + len).min(SIZE) as usize;
        match *self {
            Op::Write(at, len, byte) => image[at as usize..end(at, len)].fill(byte),
            Op::Zero(at, len, _) => image[at as usize..end(at, len)].fill(0),
            Op::Trim(at, len) => {
                let end = end(at, len);
                let first = at.next_multiple_of(GRANULE) as usize;
                let last = if end as u64 == SIZE {
                    end
                } else {
                    end / GRANULE as usize * GRANULE as usize
                };
                if first < last {
                    image[first..last].fill(0);
                }
            }
            Op::Flush => {}
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    let at = prop_oneof![(0..11u64).prop_map(|g| g * GRANULE), 0..SIZE];
    let len = prop_oneof![Just(GRANULE), 1..3 * GRANULE, 1..700u64];
    (0..10, at, len, 200u8..=255).prop_map(|(kind, at, len, byte)| match kind {
        0 => Op::Zero(at, len, true),
        1 => Op::Zero(at, len, false),
        2 => Op::Trim(at, len),
        3 | 4 => Op::Flush,
        _ => Op::Write(at, len, byte),
    })
}

/// What each byte may be after a crash.
struct Allowed(Vec<BTreeSet<u8>>);

impl Allowed {
    fn only(image: &[u8]) -> Allowed {
        Allowed(image.iter().map(|byte| BTreeSet::from([*byte])).collect())
    }

    fn or(&mut self, image: &[u8]) {
        for (allowed, byte) in self.0.iter_mut().zip(image) {
            allowed.insert(*byte);
        }
    }

    #[track_caller]
    fn check(&self, image: &[u8], what: &str) {
        for (at, (allowed, byte)) in self.0.iter().zip(image).enumerate() {
            assert!(
                allowed.contains(byte),
                "{what}: byte {at} is {byte} and not of {allowed:?}"
            );
        }
    }
}

/// Runs operations on a disk that shows `image`, is cut off after some of its commands, and shows what it may.
fn crash(
    disk: &Disk,
    boot: u8,
    ops: &[Op],
    when: u16,
    power: bool,
    mut bits: u64,
) -> (Disk, Vec<u8>) {
    let overlay = open(disk, SIZE, boot);
    let mut now = image(&overlay);
    // After opening, since what a crash while opening leaves is looked at below.
    let mut steps = vec![(disk.commands(), now.clone(), true)];
    for op in ops {
        op.run(&overlay);
        op.expect(&mut now);
        assert_eq!(image(&overlay), now, "after {op:?}");
        steps.push((disk.commands(), now.clone(), matches!(op, Op::Flush)));
    }
    let commands = when as usize % (disk.commands() + 1);
    let mut allowed = Allowed::only(&steps[0].1);
    for pair in steps.windows(2) {
        let [(begun, ..), (done, image, flushed)] = pair else {
            unreachable!()
        };
        if *begun >= commands && begun != done {
            break;
        }
        match *done <= commands && (!power || *flushed) {
            true => allowed = Allowed::only(image),
            false => allowed.or(image),
        }
    }
    let (disk, boot) = match power {
        false => (disk.killed(commands), boot),
        true => {
            let keeps = || {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bits >> 62 & 1 == 1
            };
            (disk.cut(commands, keeps), boot + 1)
        }
    };
    let after = image(&open(&disk, SIZE, boot));
    allowed.check(&after, &format!("{commands} commands, power {power}"));
    (disk, after)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_answered_survives_a_kill_and_what_was_flushed_a_power_cut(
        rounds in prop::collection::vec((prop::collection::vec(op(), 0..12), any::<u16>(), any::<bool>(), any::<u64>()), 1..4)
    ) {
        let mut disk = Disk::empty(SIZE);
        let mut boot = 1;
        for (ops, when, power, bits) in rounds {
            let (after, shown) = crash(&disk, boot, &ops, when, power, bits);
            boot += u8::from(power);
            // Opened once more it is the same, whether it was clean or not.
            disk = after.again();
            assert_eq!(image(&open(&disk, SIZE, boot)), shown);
            disk = disk.again();
            boot += 1;
            let flushed = open(&disk, SIZE, boot);
            flushed.flush().unwrap();
            disk = disk.again();
            assert_eq!(image(&open(&disk, SIZE, boot + 1)), image(&flushed));
            boot += 2;
        }
    }
}

#[test]
fn a_granule_counts_as_durable_only_after_its_bytes() {
    let disk = Disk::empty(SIZE);
    let overlay = open(&disk, SIZE, 1);
    overlay
        .write(GRANULE, &[7; GRANULE as usize], &mut rest)
        .unwrap();
    let written = disk.commands();
    overlay.flush().unwrap();
    let commands: Vec<_> = disk.state().commands[written..].to_vec();
    let durable = overlay.layout.durable;
    let [Command::Sync, Command::Write(at, page), Command::Sync] = &commands[..] else {
        panic!("{commands:?}");
    };
    assert_eq!((*at, page[0]), (durable, 2));
    // Not once more.
    overlay.flush().unwrap();
    assert!(matches!(
        disk.state().commands[written + 3..],
        [Command::Sync]
    ));
    // A map whose page reached the disk before the bytes did is not trusted by another boot.
    let lost = disk.killed(0);
    let page = overlay.layout.written;
    lost.write(page, &mut [IoSlice::new(&[2])]).unwrap();
    lost.write(BOOT_AT, &mut [IoSlice::new(&[1; 16])]).unwrap();
    assert!(open(&lost, SIZE, 1).run(GRANULE, SIZE).0);
    let lost = disk.cut(written, || true);
    assert!(!open(&lost, SIZE, 2).run(GRANULE, SIZE).0);
    assert_eq!(lost.state().bytes[page as usize], 0);
}

#[test]
fn an_overlay_with_any_byte_changed_has_another_version() {
    let disk = Disk::empty(SIZE);
    let first = open(&disk, SIZE, 1);
    first.write(0, &[7; GRANULE as usize], &mut rest).unwrap();
    first.flush().unwrap();
    let disk = disk.again();
    let second = open(&disk, SIZE, 1);
    let (version, data) = (second.version, second.layout.data as usize);
    assert_ne!(version, Version::default());
    second.write(0, &[8; GRANULE as usize], &mut rest).unwrap();
    second.trim(&(0..SIZE)).unwrap();
    let mut changed = 0;
    for (commands, bits) in
        (0..=disk.commands()).flat_map(|at| (0..=255u8).map(move |bits| (at, bits)))
    {
        let mut sector = 0;
        let cut = disk.cut(commands, || {
            sector += 1;
            bits >> (sector % 8) & 1 == 1
        });
        if cut.state().bytes[data..][..GRANULE as usize] != [7; GRANULE as usize] {
            changed += 1;
            assert_ne!(open(&cut, SIZE, 2).version, version, "{commands} {bits}");
        }
    }
    assert!(changed > 0);
}

#[test]
fn what_a_later_server_flushed_is_there_after_it_writes_on() {
    let disk = Disk::empty(SIZE);
    // Killed before any flush.
    let first = open(&disk, SIZE, 1);
    first.write(0, &[7; GRANULE as usize], &mut rest).unwrap();
    let second = open(&disk, SIZE, 1);
    second.flush().unwrap();
    let flushed = image(&second);
    let (page, data) = (GRANULE, [8; GRANULE as usize]);
    second.write(page, &data, &mut rest).unwrap();
    for kept in [true, false] {
        let cut = disk.cut(disk.commands(), || kept);
        let after = image(&open(&cut, SIZE, 2));
        assert!(after[..page as usize] == flushed[..page as usize], "{kept}");
    }
}

#[test]
fn a_full_disk_harms_nothing_that_was_there() {
    let disk = Disk::empty(SIZE);
    let overlay = open(&disk, SIZE, 1);
    overlay.write(0, &[7; 5000], &mut rest).unwrap();
    let before = image(&overlay);
    for room in 0..3 {
        disk.state().room = Some(room);
        // Of what is there any bytes could be written; of what is not, none is.
        let fault = overlay.write(3 * GRANULE, &[9; 3 * GRANULE as usize], &mut rest);
        assert!(fault.unwrap_err().is_full());
        assert_eq!(image(&overlay), before, "with room for {room} pages");
        disk.state().room = None;
        assert_eq!(image(&open(&disk, SIZE, 1)), before);
    }
    overlay
        .write(3 * GRANULE, &[9; 3 * GRANULE as usize], &mut rest)
        .unwrap();
    // The map has room for what follows a first write: no flush can find the disk full.
    disk.state().room = Some(0);
    overlay.flush().unwrap();
}

#[test]
fn what_the_image_does_not_give_is_not_written() {
    let disk = Disk::empty(SIZE);
    let overlay = open(&disk, SIZE, 1);
    let mut bad = |at: u64, _: &mut [u8]| Err(WriteError::Base { at });
    let fault = overlay.write(100, &[7; 100], &mut bad).unwrap_err();
    assert!(matches!(fault, WriteError::Base { at: 0 }), "{fault:?}");
    assert!(!overlay.run(0, SIZE).0);
    // A whole granule needs nothing of it, nor does the last, to the end.
    overlay
        .write(GRANULE, &[7; GRANULE as usize], &mut bad)
        .unwrap();
    overlay.write(10 * GRANULE, &[7; 1000], &mut bad).unwrap();
    assert!(overlay.needs_base(&(100..200)) && !overlay.needs_base(&(GRANULE..SIZE)));
}

#[test]
fn after_an_error_of_the_disk_no_flush_succeeds() {
    let disk = Disk::empty(SIZE);
    let overlay = open(&disk, SIZE, 1);
    overlay.write(0, &[7; 5000], &mut rest).unwrap();
    disk.state().broken = true;
    overlay.flush().unwrap_err();
    disk.state().broken = false;
    overlay.flush().unwrap_err();
    assert!(overlay.run(0, SIZE).0);
    // What the system has may be nowhere else, and is gone when it needs the memory.
    let again = open(&disk, SIZE, 1);
    assert!(!again.run(0, SIZE).0);
    again.write(GRANULE, &[8; 5000], &mut rest).unwrap();
    again.flush().unwrap();
    let after = image(&again);
    assert_eq!(image(&open(&disk, SIZE, 2)), after);
}

#[test]
fn without_holes_zeros_are_written_unless_they_have_to_be_fast() {
    let disk = Disk::empty(SIZE);
    disk.state().no_holes = true;
    let overlay = open(&disk, SIZE, 1);
    let fault = overlay.zero(0..SIZE, false, true, &mut rest).unwrap_err();
    assert!(matches!(fault, WriteError::Slow));
    overlay.trim(&(0..SIZE)).unwrap();
    assert_eq!(overlay.bytes(), 0);
    overlay
        .zero(10..SIZE - 10, false, false, &mut rest)
        .unwrap();
    let all = image(&overlay);
    assert!(all[10..SIZE as usize - 10].iter().all(|byte| *byte == 0));
    assert!(
        (0..10)
            .chain(SIZE - 10..SIZE)
            .all(|at| all[at as usize] == base(at))
    );
}

#[test]
fn maps_of_many_pages() {
    let size = 40 * PAGE * 8 * GRANULE + 5;
    let layout = Layout::of(size).unwrap();
    // The data are far behind the maps and not needed here.
    let disk = Disk::of(vec![0; layout.data as usize]);
    let granules = layout.granules();
    let per = 8 * PAGE;
    let map = Map::load(&disk, layout, TrustedMap::Written).unwrap();
    assert_eq!(map.run(0, granules), (false, granules));
    let runs = [
        0..1,
        3..64,
        per - 1..per + 1,
        5 * per..7 * per + 3,
        granules - 1..granules,
    ];
    for run in &runs {
        map.mark(&disk, run.clone()).unwrap();
        map.mark(&disk, run.clone()).unwrap();
    }
    let pages = map.take_dirty();
    map.write_durable(&disk, &pages[..1]).unwrap();
    for written in [true, false] {
        let mut bytes = disk.again();
        if written {
            map.write_durable(&bytes, &pages).unwrap();
            bytes = bytes.again();
        }
        let read = Map::load(&bytes, layout, TrustedMap::Written).unwrap();
        assert_eq!(
            read.take_dirty().len(),
            if written { 0 } else { pages.len() - 1 }
        );
        let mut at = 0;
        for run in &runs {
            if run.start > at {
                assert_eq!(read.run(at, granules), (false, run.start));
            }
            assert_eq!(read.run(run.start, granules), (true, run.end));
            assert_eq!(read.run(run.start, run.end), (true, run.end));
            at = run.end;
        }
        let count = runs.iter().map(|run| run.end - run.start).sum::<u64>();
        assert_eq!(read.count(), count);
        assert_eq!(Map::count_in(&bytes, layout, true).unwrap(), count);
    }
}

#[test]
fn writers_into_the_same_granules_lose_nothing() {
    let disk = Disk::empty(SIZE);
    let overlay = open(&disk, SIZE, 1);
    // Each has every fourth run of 100 bytes.
    thread::scope(|scope| {
        for number in 0..4u64 {
            let overlay = &overlay;
            scope.spawn(move || {
                let mut slow = |at: u64, room: &mut [u8]| {
                    thread::yield_now();
                    rest(at, room)
                };
                for at in (number * 100..SIZE).step_by(400) {
                    let len = 100.min(SIZE - at) as usize;
                    overlay
                        .write(at, &vec![250 + number as u8; len], &mut slow)
                        .unwrap();
                    if at % 3 == 0 {
                        overlay.flush().unwrap();
                    }
                }
            });
        }
    });
    for (at, byte) in image(&overlay).iter().enumerate() {
        assert_eq!(u64::from(*byte), 250 + at as u64 / 100 % 4, "byte {at}");
    }
}
