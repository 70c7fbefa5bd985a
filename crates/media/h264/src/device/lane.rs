//! A lane that searches pictures.

use std::time::Duration;

use evener_files::unpoisoned;
use evener_runtime::device::{
    Arg, Buffer, Command, DeviceError, HostMemory, Lane, Launch, UnitLane,
};

use super::words::{FOUND, Sizes, WORD, unpack, unpack_intra};
use super::{PROGRAM, host};
use crate::encoder::Encoder;
use crate::estimate::Estimate;
use crate::picture::Picture;
use crate::search;
use crate::unit::{Coded, InputFrame};

/// Threads of a group, in the first direction.
const THREADS: usize = 64;

/// A lane with the pictures that the next ones are searched in.
pub(super) struct SearchLane<'a> {
    encoder: &'a Encoder,
    sizes: Sizes,
    lane: Box<dyn Lane>,
    /// Picture `n` has the place `n` modulo their number.
    pictures: Vec<Kept>,
    /// The costs of vectors at a quarter of the size, and the best of them.
    costs: Buffer,
    best: Buffer,
    /// What is found in each reference, and what macroblocks cost by themselves.
    out: Buffer,
    words: Vec<u8>,
}

/// Memory for a picture, and which one lies there.
#[derive(Clone, Copy)]
struct Kept {
    buffer: Buffer,
    number: Option<u64>,
}

/// A kernel and how it is launched.
struct Prepared {
    kernel: &'static str,
    args: Vec<Arg>,
    groups: [usize; 2],
    threads: usize,
    host: Box<dyn Fn(&HostMemory)>,
}

impl<'a> SearchLane<'a> {
    /// Makes the memory.
    pub fn new(encoder: &'a Encoder, mut lane: Box<dyn Lane>) -> Result<Self, DeviceError> {
        let sizes = Sizes::new(*encoder.geometry());
        let [.., bytes] = sizes.places();
        let references = encoder.references() as usize;
        let mut pictures = Vec::new();
        for _ in 0..=references {
            let buffer = lane.buffer(bytes)?;
            pictures.push(Kept {
                buffer,
                number: None,
            });
        }
        let cells = sizes.macroblocks() / 4;
        let words = (references * FOUND + 1) * sizes.macroblocks();
        Ok(SearchLane {
            encoder,
            pictures,
            costs: lane.buffer(cells * 8 * eights(&sizes) * size_of::<u16>())?,
            best: lane.buffer(cells * 6 * WORD)?,
            out: lane.buffer(words * WORD)?,
            words: vec![0; words * WORD],
            sizes,
            lane,
        })
    }

    fn place(&self, number: u64) -> usize {
        (number % self.pictures.len() as u64) as usize
    }

    /// Searches a picture. What is found goes where a core would put it.
    pub fn search(&mut self, number: u64, limit: Duration) -> Result<(), DeviceError> {
        let references = self.encoder.references().min(number);
        let estimates = self.encoder.estimates();
        if references == 0 && !estimates {
            return Ok(());
        }
        let numbers = number - references..=number;
        let missing = numbers.filter(|&n| self.pictures[self.place(n)].number != Some(n));
        let missing: Vec<u64> = missing.collect();
        let pictures: Vec<_> = missing.iter().map(|&n| self.encoder.picture(n)).collect();
        let places = self.sizes.places();
        let uploads = missing.iter().zip(&pictures).flat_map(|(&n, picture)| {
            let to = self.pictures[self.place(n)].buffer;
            let planes = picture.source.pyramid();
            let planes = [planes.full, planes.half, planes.quarter];
            planes.into_iter().zip(places).map(move |(plane, at)| {
                let from = plane.samples;
                Command::Upload { to, at, from }
            })
        });
        let mut commands: Vec<Command<'_>> = uploads.collect();
        let prepared = self.prepare(number, references, estimates);
        let last = prepared.len() - 1;
        for (i, launch) in prepared.iter().enumerate() {
            commands.push(Command::Launch(Launch {
                kernel: launch.kernel,
                args: &launch.args,
                groups: launch.groups.map(|groups| groups as u32),
                threads: [launch.threads as u32, 1],
                units: u32::from(i == last),
                host: &*launch.host,
            }));
        }
        let intra_at = self.intra_at();
        let used = references as usize * self.sizes.macroblocks() * FOUND * WORD;
        let (found, intra) = self.words.split_at_mut(intra_at);
        let parts = [
            (0, &mut found[..used]),
            (intra_at, if estimates { intra } else { &mut [] }),
        ];
        let from = self.out;
        let parts = parts.into_iter().filter(|(_, to)| !to.is_empty());
        commands.extend(parts.map(|(at, to)| Command::Download { from, at, to }));
        self.lane.run(&mut commands, limit)?;
        for n in missing {
            let place = self.place(n);
            self.pictures[place].number = Some(n);
        }
        let picture = self.encoder.picture(number);
        let kept = self.keep(&picture, references as usize, estimates);
        kept.ok_or(DeviceError::Impossible {
            program: PROGRAM.name,
            unit: number,
        })
    }

    /// Where costs of macroblocks by themselves begin in the output.
    fn intra_at(&self) -> usize {
        self.words.len() - self.sizes.macroblocks() * WORD
    }

    fn prepare(&self, number: u64, references: u64, estimates: bool) -> Vec<Prepared> {
        let (sizes, kernels) = (self.sizes, self.encoder.kernels());
        let starts = self.encoder.search_starts();
        let geometry = sizes.geometry;
        let int = |value: usize| Arg::I32(value as i32);
        let (columns, rows) = (int(geometry.columns), int(geometry.rows));
        let below = Arg::I32(geometry.below);
        let range = Arg::I32(search::range(&geometry));
        let [full, half, quarter] = sizes.planes.map(|plane| int(plane.stride));
        let [_, half_at, quarter_at, _] = sizes.places();
        let cells = (sizes.macroblocks() / 4).div_ceil(THREADS);
        let wide = THREADS / 2;
        let macroblocks = [geometry.columns.div_ceil(wide), geometry.rows];
        let source = self.pictures[self.place(number)].buffer;
        let (costs, best, out) = (self.costs, self.best, self.out);
        let mut prepared = Vec::new();
        for back in 1..=references {
            let reference = self.pictures[self.place(number - back)].buffer;
            let at = (back as usize - 1) * sizes.macroblocks() * FOUND;
            let pictures = [Arg::Buffer(source), Arg::Buffer(reference)];
            let mut args = pictures.to_vec();
            args.extend([Arg::Buffer(costs), columns, rows, below]);
            args.extend([quarter, int(quarter_at), range]);
            prepared.push(Prepared {
                kernel: "search_quarter",
                args,
                groups: [cells, eights(&sizes)],
                threads: THREADS,
                host: Box::new(|_| {}),
            });
            let args = [Arg::Buffer(costs), Arg::Buffer(best), columns, rows, range];
            prepared.push(Prepared {
                kernel: "search_cell",
                args: args.to_vec(),
                groups: [cells, 1],
                threads: THREADS,
                host: Box::new(|_| {}),
            });
            let mut args = pictures.to_vec();
            args.extend([Arg::Buffer(best), Arg::Buffer(out), Arg::U32(at as u32)]);
            args.extend([columns, rows, below, full, half, int(half_at)]);
            args.push(int(starts.into()));
            prepared.push(Prepared {
                kernel: "search_macroblock",
                args,
                groups: macroblocks,
                threads: wide,
                host: Box::new(move |memory| {
                    let buffers = [source, reference, out];
                    host::search(&sizes, (kernels, starts), memory, buffers, at * WORD);
                }),
            });
        }
        if estimates {
            let at = self.intra_at();
            let word = Arg::U32((at / WORD) as u32);
            let mut args = vec![Arg::Buffer(source), Arg::Buffer(out), word];
            args.extend([columns, rows, half, int(half_at)]);
            prepared.push(Prepared {
                kernel: "search_intra",
                args,
                groups: macroblocks,
                threads: wide,
                host: Box::new(move |memory| {
                    host::intra(&sizes, kernels, memory, [source, out], at);
                }),
            });
        }
        prepared
    }

    /// Puts what came down into the picture. `None` if a part of it is what no search finds.
    fn keep(&self, picture: &Picture, references: usize, estimates: bool) -> Option<()> {
        let sizes = &self.sizes;
        let (across, down) = sizes.cells();
        let macroblocks = sizes.macroblocks();
        let (intra, _) = self.words[self.intra_at()..].as_chunks::<WORD>();
        let mut found: Vec<_> = picture
            .found
            .iter()
            .map(|l| unpoisoned(l.write()))
            .collect();
        let costs = picture.estimates.iter();
        let mut costs: Vec<_> = costs.map(|line| unpoisoned(line.write())).collect();
        debug_assert_eq!((found.len(), costs.len()), (down, down));
        for ((x, y), i, place) in sizes.inside() {
            let at = (2 * x + i % 2, 2 * y + i / 2);
            for reference in 0..references {
                let from = (reference * macroblocks + place) * FOUND * WORD;
                let words = &self.words[from..][..FOUND * WORD];
                found[y][reference * across + x][i] = unpack(words, &sizes.geometry, at)?;
            }
            if estimates {
                let before = (references > 0).then_some(&found[y][x][i]);
                costs[y][x][i] = Estimate::new(unpack_intra(intra[place])?, before);
            }
        }
        Some(())
    }
}

/// Groups of eight vectors that are tried for a cell.
fn eights(sizes: &Sizes) -> usize {
    let range = search::range(&sizes.geometry) as usize;
    range / 4 * (2 * range + 1)
}

impl UnitLane<InputFrame, Coded> for SearchLane<'_> {
    fn run(
        &mut self,
        inputs: &[&InputFrame],
        _: &[&Coded],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let mut inputs = inputs.iter();
        inputs.try_for_each(|input| self.search(input.number, limit))
    }
}
