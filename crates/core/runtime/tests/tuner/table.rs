//! What streams come to, held against a table.
//!
//! A row of `table.txt` has a scenario, a figure, what it was under the tuner that was here before, and what it is: all
//! higher is better. `TUNER_TABLE=1 cargo test -p evener-runtime --test tuner -- --nocapture | grep '^row'` prints the
//! scenarios, figures and means as they are now.

const TABLE: &str = include_str!("table.txt");
/// A mean of other seeds differs by less.
const TOLERANCE: f64 = 0.01;

/// Holds a mean against the table. A scenario that has no row fails.
pub fn check(scenario: &str, figure: &str, mean: f64) {
    if std::env::var_os("TUNER_TABLE").is_some() {
        println!("row {scenario} | {figure} | {mean:.3}");
        return;
    }
    let row = format!("{scenario} | {figure} | ");
    let values = TABLE.lines().find_map(|line| line.strip_prefix(&row));
    let now = values.and_then(|values| values.split(" | ").nth(1)?.parse::<f64>().ok());
    let now = now.unwrap_or_else(|| panic!("table.txt has no row '{row}'"));
    assert!(
        mean >= now - TOLERANCE,
        "{row}{now} is expected, not {mean:.3}"
    );
}
