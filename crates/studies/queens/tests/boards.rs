//! Solutions one by one, and boards as text and pictures.

use evener_queens::{LARGEST, board};
use proptest::prelude::*;

fn is_solution(columns: &[u8]) -> bool {
    let queens: Vec<(usize, usize)> = columns
        .iter()
        .map(|&column| column.into())
        .enumerate()
        .collect();
    queens.iter().all(|&(row, column)| {
        column < columns.len()
            && queens[..row]
                .iter()
                .all(|&(r, c)| c != column && row - r != column.abs_diff(c))
    })
}

#[test]
fn all_solutions_come_once_in_order() {
    for (n, count) in [
        (0, 1),
        (1, 1),
        (2, 0),
        (3, 0),
        (4, 2),
        (5, 10),
        (6, 4),
        (8, 92),
        (10, 724),
    ] {
        let all: Vec<_> = board::solutions(n).unwrap().collect();
        assert_eq!(all.len(), count, "n {n}");
        assert!(
            all.iter().all(|s| s.len() == n as usize && is_solution(s)),
            "n {n}"
        );
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "n {n}");
    }
}

#[test]
fn the_first_of_eight_queens_is_the_known_one() {
    let first = board::solutions(8).unwrap().next().unwrap();
    assert_eq!(first, [0, 4, 7, 5, 2, 6, 1, 3]);
}

#[test]
fn too_large_boards_are_refused() {
    assert!(board::solutions(LARGEST + 1).is_err());
}

#[test]
fn a_board_as_text() {
    assert_eq!(
        board::text(&[1, 3, 0, 2]),
        "· ♛ · ·\n· · · ♛\n♛ · · ·\n· · ♛ ·\n"
    );
    assert_eq!(board::text(&[]), "");
}

proptest! {
    /// Whatever the placement: as many queens as rows, each where it stands, and every dark square.
    #[test]
    fn a_picture_shows_every_queen_in_its_square(columns in prop::collection::vec(0u8..12, 12)) {
        let picture = board::svg(&columns);
        for (row, &column) in columns.iter().enumerate() {
            let queen = format!("<use href=\"#queen\" x=\"{}\" y=\"{}\"/>", 32 * usize::from(column), 32 * row);
            prop_assert_eq!(picture.matches(&queen).count(), 1);
        }
        prop_assert_eq!(picture.matches("<use ").count(), 12);
        prop_assert_eq!(picture.matches("h32v32h-32z").count(), 72);
        for tag in ["svg", "g", "defs", "title"] {
            prop_assert_eq!(picture.matches(&format!("<{tag}")).count(), picture.matches(&format!("</{tag}>")).count());
        }
    }
}
