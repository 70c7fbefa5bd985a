//! Plain scalar searches, which define what the kernels count.

#![forbid(unsafe_code)]

use crate::counts::Counts;
use crate::error::{Error, checked};
use crate::inner::{Row, State};

/// Solutions on a board of `n` x `n`, without symmetry and without a border. Needs minutes from `n` = 17 on.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn total(n: u32) -> Result<u128, Error> {
    let outside = u32::MAX.checked_shl(checked(n)?).unwrap_or(0);
    let row = Row {
        row: 0,
        shift: 1,
        blocked: outside,
    };
    let rows = vec![row; n as usize];
    Ok(count(&rows, 0, State::default()).solutions)
}

/// Solutions below a state that meets row `depth` of `rows`.
pub(crate) fn count(rows: &[Row], depth: usize, state: State) -> Counts {
    let mut found = Counts::default();
    search(rows, depth, state, &mut found);
    found
}

fn search(rows: &[Row], at: usize, state: State, found: &mut Counts) {
    let Some(&row) = rows.get(at) else {
        found.solutions += 1;
        return;
    };
    let mut free = state.free(row);
    let next = rows.get(at + 1);
    if next.is_none() {
        found.solutions += u128::from(free.count_ones());
        return;
    }
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        found.nodes += 1;
        search(
            rows,
            at + 1,
            state.placed(bit, next.map_or(0, |row| row.shift)),
            found,
        );
    }
}
