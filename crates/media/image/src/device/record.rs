//! The words by which `filters.c` knows a launch.

use super::chain::{Chain, Pass};
use super::stage::Operation;
use crate::format::{Codes, Depth, Size};
use crate::kernels::convert::Scale;

/// Threads of a group: a row of them is as long as what a GPU loads at once.
pub(super) const THREADS: [u32; 2] = [32, 8];

/// How a plane lies in memory.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub codes: Codes,
    pub size: Size,
}

impl Stored {
    /// A plane of floats between two launches.
    fn between(size: Size) -> Stored {
        let codes = Codes {
            depth: Depth::F32,
            range: crate::ColourRange::Full,
            chroma: false,
        };
        Stored { codes, size }
    }
}

/// Appends the record of each pass of a chain to `words`, and returns where they begin.
pub(super) fn write(chain: &Chain, input: Codes, output: Codes, words: &mut Vec<u32>) -> Vec<u32> {
    let last = chain.passes.len() - 1;
    let mut from = Stored {
        codes: input,
        size: chain.source,
    };
    let mut places = Vec::new();
    for (i, pass) in chain.passes.iter().enumerate() {
        let to = match i == last {
            true => Stored {
                codes: output,
                size: pass.size,
            },
            false => Stored::between(pass.size),
        };
        let before = list(&pass.before.operations, words);
        let after = list(&pass.after.operations, words);
        places.push(words.len() as u32);
        words.extend(head(pass, from, to, before, after).map(|(_, word)| word));
        words.extend(&pass.kernel.parameters);
        from = to;
    }
    places
}

/// Appends operations. Returns where they begin.
fn list(operations: &[Operation], words: &mut Vec<u32>) -> u32 {
    let at = words.len() as u32;
    words.push(operations.len() as u32);
    words.extend(operations.iter().flat_map(|operation| operation.words()));
    at
}

fn format(depth: Depth) -> u32 {
    match depth {
        Depth::U8 => 0,
        Depth::U10 | Depth::U12 | Depth::U16 => 1,
        Depth::F32 => 2,
    }
}

/// Rows of groups for the outputs of a unit.
pub(super) fn group_rows(pass: &Pass) -> u32 {
    (pass.computed.height() as u32).div_ceil(THREADS[1])
}

/// The words that every kernel reads, in the order of the names in `filters.c`.
fn head(
    pass: &Pass,
    from: Stored,
    to: Stored,
    before: u32,
    after: u32,
) -> [(&'static str, u32); 27] {
    let stride = from.size.w as i32;
    let (seen, given) = (pass.before.view, pass.after.view);
    let (inverse, rest) = Scale::new(from.codes).inverse();
    let bits = f32::to_bits;
    let computed = pass.computed;
    [
        ("FORMAT", format(from.codes.depth)),
        ("BASE", (seen.y.0 * stride + seen.x.0) as u32),
        ("STEP_X", seen.x.1 as u32),
        ("STEP_Y", (seen.y.1 * stride) as u32),
        ("RIGHT", pass.input.w - 1),
        ("BOTTOM", pass.input.h - 1),
        ("UNIT", from.size.area() as u32),
        ("ZERO", bits(from.codes.zero())),
        ("INVERSE", bits(inverse)),
        ("REST", bits(rest)),
        ("BEFORE", before),
        ("OUT_FORMAT", format(to.codes.depth)),
        ("OUT_WIDTH", to.size.w),
        ("OUT_UNIT", to.size.area() as u32),
        ("OUT_ZERO", bits(to.codes.zero())),
        ("OUT_SPAN", bits(to.codes.span())),
        (
            "OUT_MAXIMUM",
            bits(to.codes.depth.maximum().unwrap_or(0) as f32),
        ),
        ("AFTER", after),
        ("X0", computed.x0 as u32),
        ("Y0", computed.y0 as u32),
        ("X1", computed.x1 as u32),
        ("Y1", computed.y1 as u32),
        ("GROUPS", group_rows(pass)),
        ("VIEW_X", given.x.0 as u32),
        ("VIEW_STEP_X", given.x.1 as u32),
        ("VIEW_Y", given.y.0 as u32),
        ("VIEW_STEP_Y", given.y.1 as u32),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Chroma, ColourRange, Format};
    use crate::graph::{Graph, Planes};

    /// The number that `filters.c` defines as `FILTERS_` and a name.
    fn defined(name: &str) -> usize {
        let line = format!("#define FILTERS_{name} ");
        let number = super::super::SOURCE
            .lines()
            .find_map(|text| text.strip_prefix(&line));
        number.and_then(|n| n.parse().ok()).unwrap_or(usize::MAX)
    }

    #[test]
    fn words_are_where_kernels_look_for_them() {
        let format = Format {
            width: 8,
            height: 6,
            chroma: Chroma::Mono,
            depth: Depth::U8,
            range: ColourRange::Limited,
        };
        let graph = Graph::parse("blur").unwrap();
        let bound = graph.bind(&format, Planes::Auto).unwrap();
        let chain = Chain::new(&bound.planes[0]).unwrap();
        let plane = Stored {
            codes: format.codes(0),
            size: format.plane_size(0),
        };
        let head = head(&chain.passes[0], plane, plane, 0, 0);
        for (i, (name, _)) in head.iter().enumerate() {
            assert_eq!(defined(name), i, "{name}");
        }
        assert_eq!(defined("OWN"), head.len());
    }
}
