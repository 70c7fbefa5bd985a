//! Operations as Espeland et al. print them in Table III: those of frames of 16:9, though they do not say so.

use evener_image::structures::{BACKWARD, BACKWARD_CACHED, SEQUENTIAL};

use crate::filters::OpsRow;

/// Pipeline, stage, then sequential, backward and backward-cached.
const PRINTED: &[(&str, &str, [f64; 3])] = &[
    ("A", "blur", [9.0, 162.0, 9.03]),
    ("A", "sobel_x", [9.0, 9.0, 9.0]),
    ("A", "sobel_y", [9.0, 9.0, 9.0]),
    ("A", "magnitude", [2.0, 2.0, 2.0]),
    ("A", "threshold", [1.0, 1.0, 1.0]),
    ("B", "undistort", [4.0, 10.24, 2.57]),
    ("B", "rotate", [3.78, 2.56, 2.56]),
    ("B", "crop", [1.0, 1.0, 1.0]),
    ("C", "undistort", [4.0, 8.15, 2.04]),
    ("C", "rotate", [2.59, 2.04, 2.04]),
    ("C", "crop", [1.0, 1.0, 1.0]),
    ("D", "posterize", [1.0, 1.0, 1.0]),
    ("D", "threshold", [1.0, 1.0, 1.0]),
    ("D", "binary", [1.0, 1.0, 1.0]),
    ("E", "threshold", [1.0, 3.19, 0.80]),
    ("E", "binary", [1.0, 3.19, 0.80]),
    ("E", "rotate", [3.19, 3.19, 3.19]),
    ("F", "threshold", [1.0, 3.19, 0.80]),
    ("F", "rotate", [3.19, 3.19, 3.19]),
    ("F", "binary", [1.0, 1.0, 1.0]),
    ("G", "rotate", [3.19, 3.19, 3.19]),
    ("G", "threshold", [1.0, 1.0, 1.0]),
    ("G", "binary", [1.0, 1.0, 1.0]),
];

/// The printed figure for a row of ours, where there is one.
pub fn printed(row: &OpsRow) -> Option<f64> {
    let columns = [&SEQUENTIAL, &BACKWARD, &BACKWARD_CACHED];
    let column = columns.iter().position(|s| *s == row.structure)?;
    let (.., values) = PRINTED
        .iter()
        .find(|(graph, stage, _)| graph.eq_ignore_ascii_case(&row.graph) && *stage == row.stage)?;
    Some(values[column])
}
