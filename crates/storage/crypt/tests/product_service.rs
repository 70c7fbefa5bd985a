//! The product cipher as a service: whatever the plan, the same bytes.

use std::fs::{self, File};
use std::time::Duration;

use evener_crypt::bulk::BulkSink;
use evener_crypt::product::PIPELINE;
use evener_crypt::product::session::{Error, decrypt, encrypt};
use evener_crypt::product::{
    Block, BlockSource, Chain, Codebook, Direction, MAX_STREAMS, PASSES, Product, ProductService,
};
use evener_crypt::session::Options;
use evener_files::{InputFile, OutputFile, SourceFile};
use evener_runtime::stream::Schedule;
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{Choice, Dispatch, Plan, Runtime, Service, Simd, Structure};
use evener_testing::Folder;
use proptest::prelude::*;

const KEY: [u8; 16] = *b"0123456789abcdef";
const UNIT: usize = 2048;

fn text(blocks: usize) -> Vec<u8> {
    let block = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (1..=blocks as u64).flat_map(block).collect()
}

/// What it should be: a block at a time, as the documentation of [`Chain`] says it.
fn expected(key: &[u8; 16], text: &[u8], streams: Option<usize>) -> Vec<u8> {
    let product = Product::new(key);
    let all = |blocks: &mut [Block]| product.encrypt(Simd::detect(), 0..PASSES, blocks);
    let mut blocks = text.as_chunks::<8>().0.to_vec();
    let Some(streams) = streams else {
        all(&mut blocks);
        return blocks.concat();
    };
    let mut before: Vec<Block> = (0..streams as u64).map(u64::to_be_bytes).collect();
    all(&mut before);
    for row in blocks.chunks_mut(streams) {
        for (block, before) in row.iter_mut().zip(&before) {
            for (byte, other) in block.iter_mut().zip(before) {
                *byte ^= other;
            }
        }
        all(row);
        before[..row.len()].copy_from_slice(row);
    }
    blocks.concat()
}

/// Plans one after the other, a few units each.
struct Script(Vec<(Plan, u32)>, u64);

impl Schedule for Script {
    fn next(&mut self) -> Epoch {
        let (plan, units) = self.0[self.1 as usize % self.0.len()];
        Epoch {
            number: self.1 + 1,
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
        self.1 += 1;
    }
}

fn runs(service: ProductService, folder: &Folder, plans: &[(Plan, u32)], text: &[u8]) -> Vec<u8> {
    let (input, output) = (folder.path("in"), folder.path("out"));
    fs::write(&input, text).unwrap();
    let file = InputFile::from_file(File::open(&input).unwrap(), "in").unwrap();
    let sink = BulkSink::new(
        OutputFile::create(&output, &SourceFile::default()).unwrap(),
        Vec::new(),
    );
    let runtime = Runtime::builder().workers(3).build().unwrap();
    let source = service.source(file);
    let stream = runtime.stream(source).through(service);
    let report = stream.scheduled_by(Script(plans.to_vec(), 0)).into(sink);
    assert_eq!(
        report.unwrap().units,
        text.len() as u64 / (8 * UNIT as u64) + 1
    );
    fs::read(&output).unwrap()
}

fn plan(structure: &'static Structure) -> impl Strategy<Value = (Plan, u32)> {
    let dispatch = prop::sample::select(Dispatch::ALL.to_vec());
    (dispatch, 1..70u32, 1..=3u32, 1..6u32).prop_map(move |(dispatch, grain, workers, units)| {
        let plan = Plan {
            structure,
            dispatch,
            grain,
            workers,
            devices: 0,
        };
        (plan, units)
    })
}

fn plans() -> impl Strategy<Value = Vec<(Plan, u32)>> {
    let any = prop_oneof![
        plan(&SEQUENTIAL),
        plan(&PIPELINE),
        plan(&PIPELINE),
        plan(&FARM)
    ];
    prop::collection::vec(any, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_plan_gives_the_same_bytes(
        key: [u8; 16],
        plans in plans(),
        chained in prop::collection::vec(plan(&SEQUENTIAL), 1..4),
        blocks in prop_oneof![0..3 * UNIT, (0..12usize).prop_map(|units| units * UNIT)],
        streams in prop::option::of((0..=11u32).prop_map(|n| 1usize << n)),
    ) {
        let folder = Folder::new();
        let simd = Simd::detect();
        let text = text(blocks);
        let wanted = expected(&key, &text, streams);
        let chain = streams.map(|streams| Chain::new(streams).unwrap());
        let service = |direction| ProductService::new(Codebook::new(&key, direction, simd), chain);
        // Encrypting chains leaves one structure.
        let own = if chain.is_some() { &chained } else { &plans };
        let got = runs(service(Direction::Encrypt), &folder, own, &text);
        prop_assert!(got == wanted, "{own:?}");
        let back = runs(service(Direction::Decrypt), &folder, &plans, &wanted);
        prop_assert!(back == text, "{plans:?}");
    }
}

#[test]
fn shapes_are_those_that_chains_allow() {
    let shapes = |direction, streams: Option<usize>| -> Vec<(&'static Structure, u32)> {
        let chain = streams.map(|streams| Chain::new(streams).unwrap());
        let codebook = Codebook::new(&KEY, direction, Simd::Scalar);
        let shapes = ProductService::new(codebook, chain).shapes(1 << 20);
        shapes.iter().map(|s| (s.structure, s.passes[0])).collect()
    };
    let all = [(&SEQUENTIAL, 64), (&PIPELINE, 64), (&FARM, 64)];
    assert_eq!(shapes(Direction::Encrypt, None), all);
    assert_eq!(shapes(Direction::Decrypt, None), all);
    assert_eq!(shapes(Direction::Decrypt, Some(1)), all);
    // One stream cannot be divided; many are, by streams.
    for (streams, items) in [(1, 1), (32, 1), (64, 2), (2048, 64)] {
        let left = [(&SEQUENTIAL, items)];
        assert_eq!(shapes(Direction::Encrypt, Some(streams)), left);
    }
    for bad in [0, 3, 4096, usize::MAX] {
        let said = Chain::new(bad).unwrap_err().to_string();
        assert!(said.contains(&MAX_STREAMS.to_string()), "{said}");
    }
}

#[test]
fn auto_gives_the_same_bytes() {
    let (folder, runtime) = (
        Folder::new(),
        Runtime::builder().workers(2).build().unwrap(),
    );
    let text = text(150 * UNIT + 77);
    let [input, output, back] = ["in", "out", "back"].map(|name| folder.path(name));
    fs::write(&input, &text).unwrap();
    for streams in [None, Some(256)] {
        let session = encrypt(input.as_os_str(), output.as_os_str(), &KEY, streams).unwrap();
        assert!(session.to_string().contains("product cipher"), "{session}");
        session.run(&runtime, Options::default()).unwrap();
        assert!(fs::read(&output).unwrap() == expected(&KEY, &text, streams));
        let session = decrypt(output.as_os_str(), back.as_os_str(), &KEY, streams).unwrap();
        let plan: Choice = "pipeline".parse().unwrap();
        let options = Options {
            plan,
            ..Options::default()
        };
        let report = session.run(&runtime, options).unwrap();
        assert_eq!(report.plan.unwrap().structure, &PIPELINE);
        assert!(fs::read(&back).unwrap() == text);
    }
}

#[test]
fn half_a_block_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    let open = |key: &[u8], streams| encrypt(input.as_os_str(), output.as_os_str(), key, streams);
    for bytes in [1, 7, 9, 8 * UNIT + 4] {
        fs::write(&input, vec![0; bytes]).unwrap();
        let Err(error) = open(&KEY, None) else {
            panic!("{bytes} bytes")
        };
        assert!(matches!(error, Error::Length(_)), "{error}");
        let said = error.to_string();
        assert!(said.contains(&format!("{bytes} bytes")) && said.contains("multiple of 8"));
    }
    assert!(matches!(open(&KEY[..15], None), Err(Error::Key(15))));
    assert!(matches!(open(&KEY, Some(12)), Err(Error::Chain(_))));
    assert!(!output.exists());

    // A file that grows after it was opened, as a pipe does: found at its end.
    fs::write(&input, vec![0; 8 * UNIT]).unwrap();
    let session = open(&KEY, None).unwrap();
    fs::write(&input, vec![0; 8 * UNIT + 4]).unwrap();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let error = session.run(&runtime, Options::default()).unwrap_err();
    assert!(matches!(error, Error::Length(_)), "{error}");
    assert!(!output.exists());
    assert_eq!(folder.names().len(), 1);
}

/// The stream's report names what ran; nothing waits for ever on an empty input.
#[test]
fn an_empty_input_is_an_empty_output() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    fs::write(&input, b"").unwrap();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for plan in ["auto", "farm", "pipeline", "sequential"] {
        let options = Options {
            plan: plan.parse().unwrap(),
            ..Options::default()
        };
        let session = encrypt(input.as_os_str(), output.as_os_str(), &KEY, None).unwrap();
        let report = session.run(&runtime, options).unwrap();
        // The unit that is the last one.
        assert_eq!(report.units, 1, "{plan}");
        assert_eq!(fs::read(&output).unwrap(), b"", "{plan}");
        fs::remove_file(&output).unwrap();
    }
}

#[test]
fn blocks_that_were_not_read_for_chains_are_refused() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let codebook = Codebook::new(&KEY, direction, Simd::detect());
        let service = ProductService::new(codebook, Some(Chain::new(64).unwrap()));
        let blocks = text(3 * UNIT).as_chunks().0.to_vec();
        let source = BlockSource::new(blocks.into(), UNIT);
        let output =
            OutputFile::create(&Folder::new().path("out"), &SourceFile::default()).unwrap();
        let stream = runtime.stream(source).through(service);
        let error = stream.into(BulkSink::new(output, Vec::new())).unwrap_err();
        assert!(
            error.to_string().contains("not read for these chains"),
            "{error}"
        );
    }
}
