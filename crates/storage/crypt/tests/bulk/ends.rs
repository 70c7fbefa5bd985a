//! Where the units of a file come from and go to.

use std::fs;

use evener_crypt::bulk::{Bulk, BulkSink, BulkSource, Failure, Open};
use evener_crypt::chunked::{CHUNK, ChunkError, HEADER, Sizes};
use evener_files::{InputFile, OutputFile, SourceFile};
use evener_runtime::Runtime;
use evener_testing::Folder;
use proptest::prelude::*;

use crate::service::{MIB, file_key, file_with, pipe_with, sealed};
use crate::vectors::bytes;

/// Opens some chunks and writes a part of their text; gives the file that appeared.
fn part(
    source: BulkSource,
    skip: u64,
    take: Option<u64>,
) -> (Option<Vec<u8>>, Result<(), Option<Failure>>) {
    let folder = Folder::new();
    let out = folder.path("out");
    let sink = BulkSink::part(
        OutputFile::create(&out, &SourceFile::default()).unwrap(),
        skip,
        take,
    );
    let service = Bulk::new(Open(file_key()));
    let first_error = service.first_error();
    let runtime = Runtime::builder().workers(2).memory(false).build().unwrap();
    let done = runtime.stream(source).through(service).into(sink);
    let written = fs::read(&out).ok();
    (written, done.map(drop).map_err(|_| first_error.take()))
}

/// The chunks that a range needs, from a file or a pipe that holds just them.
fn needed(
    file: &[u8],
    from: u64,
    to: u64,
    input: impl Fn(&[u8]) -> InputFile,
) -> (BulkSource, u64, Option<u64>) {
    let sizes = Sizes::of_sealed((HEADER + file.len()) as u64).unwrap();
    let needed = sizes.needed(from, to).unwrap();
    let place = needed.sealed.start as usize - HEADER..needed.sealed.end as usize - HEADER;
    let limit = (place.len() as u64, needed.last);
    let input = input(&file[place]);
    let source = BulkSource::limited::<Open>(input, 0, needed.chunks.start, limit);
    (source, needed.skip as u64, Some(needed.take))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn ranges_are_slices(length in 0..3 * MIB, a: prop::sample::Index, b: prop::sample::Index, piped: bool) {
        let text = bytes(length, 5);
        let (a, b) = (a.index(length + 1), b.index(length + 1));
        let (from, to) = (a.min(b), a.max(b));
        let input = |all: &[u8]| if piped { pipe_with(all, &[9999]) } else { file_with(all) };
        let (source, skip, take) = needed(&sealed(&text), from as u64, to as u64, input);
        let (written, result) = part(source, skip, take);
        prop_assert_eq!(result, Ok(()));
        prop_assert!(written.as_deref() == Some(&text[from..to]));
    }
}

#[test]
fn a_file_that_became_shorter_meanwhile_is_refused() {
    let text = bytes(3 * MIB, 6);
    let file = sealed(&text);
    for (from, to) in [(0, 3 * MIB), (0, 2 * MIB), (MIB + 5, 2 * MIB + 7)] {
        let short = |all: &[u8]| file_with(&all[..all.len() - 1]);
        let (source, skip, take) = needed(&file, from as u64, to as u64, short);
        let (written, result) = part(source, skip, take);
        assert_eq!(written, None, "{from}-{to}");
        assert!(matches!(result, Err(Some(Failure::Chunk(_)))), "{result:?}");
    }
}

#[test]
fn a_range_that_is_not_all_there_is_no_file() {
    let text = bytes(2 * CHUNK + 100, 7);
    let file = sealed(&text);
    let length = text.len() as u64;
    for (skip, take) in [
        (0, Some(length + 1)),
        (length, Some(1)),
        // Nothing wanted, and the rest wanted, of what lies beyond the end.
        (length + 1, Some(0)),
        (length + 1, None),
    ] {
        let source = BulkSource::to_end::<Open>(file_with(&file), 0, 0);
        assert_eq!(
            part(source, skip, take),
            (None, Err(None)),
            "{skip} {take:?}"
        );
    }
    for (skip, take) in [
        (0, None),
        (length, Some(0)),
        (length, None),
        (5, Some(length - 5)),
    ] {
        let source = BulkSource::to_end::<Open>(file_with(&file), 0, 0);
        let end = take.map_or(length, |take| skip + take);
        let wanted = text[skip as usize..end as usize].to_vec();
        assert_eq!(
            part(source, skip, take),
            (Some(wanted), Ok(())),
            "{skip} {take:?}"
        );
    }
}

#[test]
fn nothing_where_chunks_should_be_is_a_cut_file() {
    let source = BulkSource::to_end::<Open>(file_with(b""), 0, 3);
    let cut = Failure::Chunk(ChunkError::Truncated { chunk: 3 });
    assert_eq!(part(source, 0, None), (None, Err(Some(cut))));
}
