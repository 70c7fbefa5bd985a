//! Tables of the standard.

#![allow(clippy::needless_range_loop)] // Tables are compared by the indices of the equations.

use evener_h264::kernels::residual::decimation::COST_4X4;
use evener_h264::kernels::residual::filter_tables::{ALPHA, BETA, CHROMA_QP, TC0};
use evener_h264::kernels::residual::quantiser::{
    NORM_4X4, NORM_8X8, Quantiser, Quantiser8x8, class_8x8, multiplier_4x4, multiplier_8x8,
};
use evener_h264::kernels::residual::scan::{ZIGZAG_4X4, ZIGZAG_8X8};

/// A zigzag of `n` by `n` as it is drawn: along diagonals, up and down by turns.
fn drawn(n: i32) -> Vec<u8> {
    let mut order = Vec::new();
    for diagonal in 0..2 * n - 1 {
        let mut cells: Vec<i32> = (0..n)
            .filter(|y| (0..n).contains(&(diagonal - y)))
            .map(|y| y * n + diagonal - y)
            .collect();
        if diagonal % 2 == 0 {
            cells.reverse();
        }
        order.extend(cells.into_iter().map(|cell| cell as u8));
    }
    order
}

#[test]
fn zigzags_run_along_diagonals() {
    assert_eq!(ZIGZAG_4X4.to_vec(), drawn(4));
    assert_eq!(ZIGZAG_8X8.to_vec(), drawn(8));
}

/// Published with the reference encoder, where they are found by hand.
#[test]
fn multipliers_are_those_published() {
    let luma_4x4 = [
        [13107, 5243, 8066],
        [11916, 4660, 7490],
        [10082, 4194, 6554],
        [9362, 3647, 5825],
        [8192, 3355, 5243],
        [7282, 2893, 4559],
    ];
    let luma_8x8 = [
        [13107, 11428, 20972, 12222, 16777, 15481],
        [11916, 10826, 19174, 11058, 14980, 14290],
        [10082, 8943, 15978, 9675, 12710, 11985],
        [9362, 8228, 14913, 8931, 11984, 11259],
        [8192, 7346, 13159, 7740, 10486, 9777],
        [7282, 6428, 11570, 6830, 9118, 8640],
    ];
    for qp in 0..6 {
        for class in 0..3 {
            let published = luma_4x4[usize::from(qp)][class];
            assert_eq!(multiplier_4x4(qp, class), published, "4x4 {qp} {class}");
        }
        for class in 0..6 {
            let published = luma_8x8[usize::from(qp)][class];
            assert_eq!(multiplier_8x8(qp, class), published, "8x8 {qp} {class}");
        }
    }
}

/// A step of quantisation doubles with six, and grows by about an eighth with one.
#[test]
fn norms_grow_with_the_parameter() {
    for qp in 0..6 {
        let ratio = |a: u8, b: u8| f64::from(b) / f64::from(a);
        let twice = if qp == 5 { 2.0 } else { 1.0 };
        for class in 0..3 {
            let r = twice * ratio(NORM_4X4[qp][class], NORM_4X4[(qp + 1) % 6][class]);
            assert!((1.05..1.22).contains(&r), "4x4 {qp} {class}: {r}");
        }
        for class in 0..6 {
            let r = twice * ratio(NORM_8X8[qp][class], NORM_8X8[(qp + 1) % 6][class]);
            assert!((1.05..1.22).contains(&r), "8x8 {qp} {class}: {r}");
        }
    }
}

/// The conditions of equation 8-318, in the order in which they are written there.
#[test]
fn classes_of_8x8_are_those_of_the_clause() {
    for position in 0..64 {
        let (i, j) = (position / 8, position % 8);
        let expected = if i % 4 == 0 && j % 4 == 0 {
            0
        } else if i % 2 == 1 && j % 2 == 1 {
            1
        } else if i % 4 == 2 && j % 4 == 2 {
            2
        } else if (i % 4 == 0 && j % 2 == 1) || (i % 2 == 1 && j % 4 == 0) {
            3
        } else if (i % 4 == 0 && j % 4 == 2) || (i % 4 == 2 && j % 4 == 0) {
            4
        } else {
            5
        };
        assert_eq!(class_8x8(position), expected, "{i} {j}");
    }
}

#[test]
fn tables_of_quantisers_have_each_parameter() {
    static LUMA: [Quantiser; 52] = Quantiser::table(21);
    let wide = Quantiser8x8::table(11);
    for qp in 0..52 {
        assert_eq!(LUMA[qp].qp, qp as u8);
        assert_eq!(LUMA[qp].multiplier, Quantiser::new(qp as u8, 21).multiplier);
        assert_eq!(wide[qp].qp, qp as u8);
        assert_eq!(wide[qp].bias, Quantiser8x8::new(qp as u8, 11).bias);
    }
}

/// α is zero up to 15, then doubles in six; β grows by a half, but for a jump at 26.
#[test]
fn thresholds_of_deblocking_grow() {
    assert_eq!((&ALPHA[..16], &BETA[..16]), (&[0; 16][..], &[0; 16][..]));
    for i in 16..52 {
        let formula = (0.8 * ((i as f64 / 6.0).exp2() - 1.0)).min(255.0);
        let error = (f64::from(ALPHA[i]) - formula).abs();
        assert!(error < 1.0 + 0.015 * formula, "{i}: {formula}");
        assert!(ALPHA[i] >= ALPHA[i - 1], "{i}");
    }
    assert_eq!(BETA[16..26], [2, 2, 2, 3, 3, 3, 3, 4, 4, 4]);
    for i in 26..52 {
        assert_eq!(usize::from(BETA[i]), 6 + (i - 26) / 2, "{i}");
    }
}

/// The rows of table 8-17, each by the indices at which it takes a new value.
#[test]
fn clipping_of_deblocking_is_that_of_the_table() {
    let rows: [&[(usize, i8)]; 3] = [
        &[
            (0, 0),
            (23, 1),
            (33, 2),
            (37, 3),
            (40, 4),
            (43, 5),
            (44, 6),
            (46, 7),
            (47, 8),
            (48, 9),
            (49, 10),
            (50, 11),
            (51, 13),
        ],
        &[
            (0, 0),
            (21, 1),
            (31, 2),
            (35, 3),
            (38, 4),
            (40, 5),
            (42, 6),
            (43, 7),
            (44, 8),
            (46, 10),
            (47, 11),
            (48, 12),
            (49, 13),
            (50, 15),
            (51, 17),
        ],
        &[
            (0, 0),
            (17, 1),
            (27, 2),
            (31, 3),
            (34, 4),
            (37, 5),
            (38, 6),
            (40, 7),
            (41, 8),
            (42, 9),
            (43, 10),
            (44, 11),
            (45, 13),
            (46, 14),
            (47, 16),
            (48, 18),
            (49, 20),
            (50, 23),
            (51, 25),
        ],
    ];
    for (strength, row) in rows.into_iter().enumerate() {
        for (i, tc0) in TC0.iter().enumerate() {
            let expected = row.iter().rev().find(|(from, _)| *from <= i);
            assert_eq!(
                tc0[strength],
                expected.unwrap().1,
                "{i}, strength {}",
                strength + 1
            );
        }
    }
}

#[test]
fn chroma_follows_luma_up_to_29() {
    for (qp, &chroma) in CHROMA_QP.iter().enumerate().take(30) {
        assert_eq!(usize::from(chroma), qp);
    }
    let published = [
        29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38,
    ];
    assert_eq!(CHROMA_QP[30..48], published);
    assert_eq!(CHROMA_QP[48..], [39; 4]);
}

#[test]
fn costs_fall_with_the_run() {
    assert!(COST_4X4.is_sorted_by(|a, b| a >= b));
    let counted = |value| COST_4X4.iter().filter(|&&cost| cost == value).count();
    assert_eq!([3, 2, 1].map(counted), [1, 2, 3]);
}
