//! What a core makes of a case: the kernels of `probe.c` in Rust.

use evener_runtime::device::Arithmetic;

/// The primitives of one kernel.
pub struct Group {
    pub kernel: &'static str,
    /// What messages call them.
    pub about: &'static str,
    /// Where it is noted whether they are exact.
    pub of: fn(&mut Arithmetic) -> &mut bool,
    /// Names of the results, in the order in which the kernel writes them.
    pub results: &'static [&'static str],
    /// How many of them, the first ones, are of type `float`.
    pub floats: usize,
    /// The results of a case.
    pub expected: fn([u32; 3], &mut [u32; MOST]),
}

/// The most results that a kernel has.
pub const MOST: usize = 12;

pub const GROUPS: &[Group] = &[
    Group {
        kernel: "probe_integer",
        about: "arithmetic with whole numbers",
        of: |exact| &mut exact.integer,
        results: &[
            "a sum",
            "a shift",
            "a quotient",
            "a shift of an int",
            "a product of 64 bits",
            "the upper half of a product",
            "a shift of 64 bits",
            "a quotient of 64 bits",
            "a number of bits",
        ],
        floats: 0,
        expected: integer,
    },
    Group {
        kernel: "probe_float",
        about: "arithmetic with float",
        of: |exact| &mut exact.float,
        results: &[
            "x + y",
            "x - y",
            "x * y",
            "(x + y) - x",
            "x * y + z",
            "x * y - z * x",
            "(x + y) + z",
            "x < y ? z : 1 - z",
            "a comparison",
        ],
        floats: 8,
        expected: float,
    },
    Group {
        kernel: "probe_fma",
        about: "fused multiply-add",
        of: |exact| &mut exact.fma,
        results: &["fma(x, y, z)", "fma(-x, y, z)", "fma(z, z, x) * y"],
        floats: 3,
        expected: fma,
    },
    Group {
        kernel: "probe_divide",
        about: "division",
        of: |exact| &mut exact.divide,
        results: &["x / y", "1 / x", "z / 255"],
        floats: 3,
        expected: divide,
    },
    Group {
        kernel: "probe_sqrt",
        about: "square roots",
        of: |exact| &mut exact.sqrt,
        results: &["sqrt(x)", "sqrt(y)", "sqrt(z)"],
        floats: 3,
        expected: sqrt,
    },
    Group {
        kernel: "probe_convert",
        about: "conversions",
        of: |exact| &mut exact.convert,
        results: &[
            "floor(x)",
            "rint(x)",
            "floor of a small number",
            "rint of a small number",
            "uint to float",
            "int to float",
            "uchar to float",
            "ushort to float",
            "float to int",
            "float to uint",
            "float to ushort",
            "float to uchar",
        ],
        floats: 8,
        expected: convert,
    },
];

fn integer([x, y, z]: [u32; 3], out: &mut [u32; MOST]) {
    let wide = u64::from(x) << 32 | u64::from(y);
    let product = wide
        .wrapping_mul(wide ^ u64::from(z))
        .wrapping_add(x.into());
    let shifted = (wide >> (z & 63)) ^ (wide << (x & 63));
    let quotient = wide / (u64::from(z) << 7 | 1);
    out[0] = x.wrapping_add(y.wrapping_mul(z));
    out[1] = (x << (y & 31)) ^ (z >> (x & 31));
    out[2] = (x / (y | 1)) ^ (z % (y | 1));
    out[3] = (x as i32 >> (y & 31)) as u32 ^ u32::from((x as i32) < y as i32);
    out[4] = product as u32;
    out[5] = (product >> 32) as u32;
    out[6] = shifted as u32 ^ (shifted >> 32) as u32;
    out[7] = quotient as u32 ^ (quotient >> 32) as u32;
    out[8] = (x & !y).count_ones() + u32::from(wide < product);
}

#[allow(clippy::float_cmp)]
fn float(case: [u32; 3], out: &mut [u32; MOST]) {
    let [x, y, z] = case.map(f32::from_bits);
    out[0] = (x + y).to_bits();
    out[1] = (x - y).to_bits();
    out[2] = (x * y).to_bits();
    out[3] = ((x + y) - x).to_bits();
    out[4] = (x * y + z).to_bits();
    out[5] = (x * y - z * x).to_bits();
    out[6] = ((x + y) + z).to_bits();
    out[7] = (if x < y { z } else { 1.0 - z }).to_bits();
    let said = [x < y, x <= y, x == y, x != y];
    out[8] = (0..)
        .zip(said)
        .map(|(bit, said)| u32::from(said) << bit)
        .sum();
}

fn fma(case: [u32; 3], out: &mut [u32; MOST]) {
    let [x, y, z] = case.map(f32::from_bits);
    out[0] = x.mul_add(y, z).to_bits();
    out[1] = (-x).mul_add(y, z).to_bits();
    out[2] = (z.mul_add(z, x) * y).to_bits();
}

fn divide(case: [u32; 3], out: &mut [u32; MOST]) {
    let [x, y, z] = case.map(f32::from_bits);
    out[0] = (x / y).to_bits();
    out[1] = (1.0 / x).to_bits();
    out[2] = (z / 255.0).to_bits();
}

fn sqrt(case: [u32; 3], out: &mut [u32; MOST]) {
    for (out, x) in out.iter_mut().zip(case) {
        *out = f32::from_bits(x).sqrt().to_bits();
    }
}

fn convert([x, y, _]: [u32; 3], out: &mut [u32; MOST]) {
    let float = f32::from_bits(x);
    let wide = (y >> 8) as f32 / 256.0;
    let byte = wide / 256.0;
    out[0] = float.floor().to_bits();
    out[1] = float.round_ties_even().to_bits();
    out[2] = (wide - 32768.0).floor().to_bits();
    out[3] = (wide - 32768.0).round_ties_even().to_bits();
    out[4] = (x as f32).to_bits();
    out[5] = (x as i32 as f32).to_bits();
    out[6] = f32::from(x as u8).to_bits();
    out[7] = f32::from(x as u16).to_bits();
    out[8] = (wide - 32768.0) as i32 as u32;
    out[9] = wide as u32;
    out[10] = u32::from(wide as u16);
    out[11] = u32::from(byte.min(255.0).round_ties_even() as u8);
}
