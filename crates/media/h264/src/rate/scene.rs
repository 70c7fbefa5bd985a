//! Where a new scene begins.

use super::Complexity;

/// The part of the intra cost that prediction from the picture before may save where a scene begins, in percent: right after
/// a key picture, and at the longest distance from it. A key picture costs little more then, and one will soon be due.
const SAVED: [u64; 2] = [4, 8];
/// Distances from the last key picture, as parts of the longest one, at which the first of [`SAVED`] still holds: a flash
/// would otherwise make two key pictures in a row.
const NEAR: u64 = 10;

/// Whether a picture begins a scene, at a distance from the last key picture, of which `longest` is the longest.
///
/// A picture that the one before predicts hardly better than its own samples do has little to do with it. Cuts between usual
/// clips save less than 4 %.
pub fn begins(costs: &Complexity, distance: u64, longest: u64) -> bool {
    let near = longest / NEAR;
    let [least, most] = SAVED;
    let far = distance.saturating_sub(near);
    let saved = least + (most - least) * far / (longest - near).max(1);
    costs.inter * 100 >= costs.intra * (100 - saved.min(most)) && costs.intra > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_has_to_be_saved_the_nearer_the_next_key_picture_is() {
        let costs = |inter| Complexity {
            intra: 1000,
            inter,
            macroblocks: 10,
        };
        for (inter, distance, expected) in [
            (1000, 1, true),
            (960, 1, true),
            (959, 1, false),
            (959, 25, false),
            (950, 125, true),
            (920, 250, true),
            (919, 250, false),
            (919, 100_000, false),
        ] {
            let found = begins(&costs(inter), distance, 250);
            assert_eq!(found, expected, "{inter} at {distance}");
        }
        // A picture without any detail is no scene.
        assert!(!begins(&Complexity::default(), 100, 250));
    }
}
