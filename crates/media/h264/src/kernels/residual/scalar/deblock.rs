//! Filtering of edges (clause 8.7.2).

use super::super::bounds::{check_horizontal, check_vertical};

/// The samples across an edge at one place: those of the right or lower side from `at` on, the others before it.
struct Across<'a> {
    samples: &'a mut [u8],
    at: usize,
    step: usize,
}

impl Across<'_> {
    fn p(&self, i: usize) -> i32 {
        self.samples[self.at - (i + 1) * self.step].into()
    }

    fn q(&self, i: usize) -> i32 {
        self.samples[self.at + i * self.step].into()
    }

    fn set_p(&mut self, i: usize, value: i32) {
        self.samples[self.at - (i + 1) * self.step] = value.clamp(0, 255) as u8;
    }

    fn set_q(&mut self, i: usize, value: i32) {
        self.samples[self.at + i * self.step] = value.clamp(0, 255) as u8;
    }

    /// Whether the samples look like an artefact (equation 8-463, but for the boundary strength).
    fn filtered(&self, alpha: u8, beta: u8) -> bool {
        let (alpha, beta) = (i32::from(alpha), i32::from(beta));
        (self.p(0) - self.q(0)).abs() < alpha
            && (self.p(1) - self.p(0)).abs() < beta
            && (self.q(1) - self.q(0)).abs() < beta
    }

    /// Clause 8.7.2.3.
    fn filter(&mut self, alpha: u8, beta: u8, tc0: i8, luma: bool) {
        if tc0 < 0 || !self.filtered(alpha, beta) {
            return;
        }
        let tc0 = i32::from(tc0);
        let (p0, p1, q0, q1) = (self.p(0), self.p(1), self.q(0), self.q(1));
        let mut tc = tc0 + 1;
        if luma {
            let (p2, q2) = (self.p(2), self.q(2));
            let mean = (p0 + q0 + 1) >> 1;
            tc = tc0;
            if (p2 - p0).abs() < beta.into() {
                tc += 1;
                self.set_p(1, p1 + ((p2 + mean - 2 * p1) >> 1).clamp(-tc0, tc0));
            }
            if (q2 - q0).abs() < beta.into() {
                tc += 1;
                self.set_q(1, q1 + ((q2 + mean - 2 * q1) >> 1).clamp(-tc0, tc0));
            }
        }
        let delta = ((((q0 - p0) << 2) + (p1 - q1) + 4) >> 3).clamp(-tc, tc);
        self.set_p(0, p0 + delta);
        self.set_q(0, q0 - delta);
    }

    /// Clause 8.7.2.4.
    fn filter_strong(&mut self, alpha: u8, beta: u8, luma: bool) {
        if !self.filtered(alpha, beta) {
            return;
        }
        let (p0, p1, q0, q1) = (self.p(0), self.p(1), self.q(0), self.q(1));
        let near = luma && (p0 - q0).abs() < (i32::from(alpha) >> 2) + 2;
        if near && (self.p(2) - p0).abs() < beta.into() {
            let (p2, p3) = (self.p(2), self.p(3));
            self.set_p(0, (p2 + 2 * p1 + 2 * p0 + 2 * q0 + q1 + 4) >> 3);
            self.set_p(1, (p2 + p1 + p0 + q0 + 2) >> 2);
            self.set_p(2, (2 * p3 + 3 * p2 + p1 + p0 + q0 + 4) >> 3);
        } else {
            self.set_p(0, (2 * p1 + p0 + q1 + 2) >> 2);
        }
        if near && (self.q(2) - q0).abs() < beta.into() {
            let (q2, q3) = (self.q(2), self.q(3));
            self.set_q(0, (p1 + 2 * p0 + 2 * q0 + 2 * q1 + q2 + 4) >> 3);
            self.set_q(1, (p0 + q0 + q1 + q2 + 2) >> 2);
            self.set_q(2, (2 * q3 + 3 * q2 + q1 + q0 + p0 + 4) >> 3);
        } else {
            self.set_q(0, (2 * q1 + q0 + p1 + 2) >> 2);
        }
    }
}

/// Calls `each` with the samples across 16 places of an edge, from `at` on at a distance of `along`, and their quarter.
fn each(
    samples: &mut [u8],
    at: impl Fn(usize) -> usize,
    step: usize,
    mut each: impl FnMut(Across, usize),
) {
    for i in 0..16 {
        let at = at(i);
        each(Across { samples, at, step }, i / 4);
    }
}

pub fn luma_vertical_edge(
    samples: &mut [u8],
    at: usize,
    stride: usize,
    alpha: u8,
    beta: u8,
    tc0: &[i8; 4],
) {
    check_vertical(samples, at, stride, 4, 16);
    each(
        samples,
        |i| at + i * stride,
        1,
        |mut across, quarter| across.filter(alpha, beta, tc0[quarter], true),
    );
}

pub fn luma_horizontal_edge(
    samples: &mut [u8],
    at: usize,
    stride: usize,
    alpha: u8,
    beta: u8,
    tc0: &[i8; 4],
) {
    check_horizontal(samples, at, stride, 4, 16);
    each(
        samples,
        |i| at + i,
        stride,
        |mut across, quarter| across.filter(alpha, beta, tc0[quarter], true),
    );
}

pub fn luma_vertical_strong(samples: &mut [u8], at: usize, stride: usize, alpha: u8, beta: u8) {
    check_vertical(samples, at, stride, 4, 16);
    each(
        samples,
        |i| at + i * stride,
        1,
        |mut across, _| across.filter_strong(alpha, beta, true),
    );
}

pub fn luma_horizontal_strong(samples: &mut [u8], at: usize, stride: usize, alpha: u8, beta: u8) {
    check_horizontal(samples, at, stride, 4, 16);
    each(
        samples,
        |i| at + i,
        stride,
        |mut across, _| across.filter_strong(alpha, beta, true),
    );
}

pub fn chroma_vertical_edge(
    samples: &mut [u8],
    at: usize,
    stride: usize,
    alpha: u8,
    beta: u8,
    tc0: &[i8; 4],
) {
    check_vertical(samples, at, stride, 4, 8);
    each(
        samples,
        |i| at + i / 2 * stride + i % 2,
        2,
        |mut across, quarter| across.filter(alpha, beta, tc0[quarter], false),
    );
}

pub fn chroma_horizontal_edge(
    samples: &mut [u8],
    at: usize,
    stride: usize,
    alpha: u8,
    beta: u8,
    tc0: &[i8; 4],
) {
    check_horizontal(samples, at, stride, 2, 16);
    each(
        samples,
        |i| at + i,
        stride,
        |mut across, quarter| across.filter(alpha, beta, tc0[quarter], false),
    );
}

pub fn chroma_vertical_strong(samples: &mut [u8], at: usize, stride: usize, alpha: u8, beta: u8) {
    check_vertical(samples, at, stride, 4, 8);
    each(
        samples,
        |i| at + i / 2 * stride + i % 2,
        2,
        |mut across, _| across.filter_strong(alpha, beta, false),
    );
}

pub fn chroma_horizontal_strong(samples: &mut [u8], at: usize, stride: usize, alpha: u8, beta: u8) {
    check_horizontal(samples, at, stride, 2, 16);
    each(
        samples,
        |i| at + i,
        stride,
        |mut across, _| across.filter_strong(alpha, beta, false),
    );
}
