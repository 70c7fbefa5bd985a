//! The figures as a table.

use evener_report::Table;

use super::GatewayReport;
use crate::stats::{median_of, paired_ratio};

impl GatewayReport {
    /// One row a contestant.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        let mut last = "";
        for figure in &self.figures {
            let first = figure.contestants.first();
            for (number, contestant) in figure.contestants.iter().enumerate() {
                let shown = |text: &str, is: bool| if is { text.to_owned() } else { String::new() };
                let ratio =
                    first.map_or(0.0, |first| paired_ratio(&first.values, &contestant.values));
                rows.push(vec![
                    shown(figure.row, figure.row != last),
                    shown(&figure.name, number == 0),
                    contestant.name.clone(),
                    number_of(median_of(contestant.values.iter().copied())),
                    figure.unit.into(),
                    shown(&format!("{ratio:.2}"), number > 0),
                    shown(figure.bound, figure.row != last),
                ]);
                last = figure.row;
            }
        }
        Table {
            title: "The gateway",
            about: format!(
                "Medians of {} rounds in which contestants took turns, {} s each. The ratio is the first contestant's figure \
                 divided by this one's, the median over rounds.",
                self.rounds, self.seconds
            ),
            head: vec![
                "",
                "figure",
                "contestant",
                "median",
                "unit",
                "ratio",
                "should be",
            ],
            rows,
        }
    }
}

/// Three digits, or all of a whole number.
fn number_of(value: f64) -> String {
    match value {
        v if v.abs() >= 100.0 || v == v.round() => format!("{v:.0}"),
        v if v.abs() >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 5.0, 0.123, 12.34, 123.4, 5000.0].map(number_of);
        assert_eq!(shown, ["0", "5", "0.12", "12.3", "123", "5000"]);
    }
}
