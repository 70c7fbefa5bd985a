//! The figures as a table.

use evener_report::Table;

use super::NetReport;
use crate::stats::{median_of, paired_ratio};

impl NetReport {
    /// One row a contestant.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        for figure in &self.figures {
            let first = &figure.contestants[0].values;
            for (number, contestant) in figure.contestants.iter().enumerate() {
                let ratio = paired_ratio(first, &contestant.values);
                rows.push(vec![
                    if number == 0 {
                        figure.name.into()
                    } else {
                        String::new()
                    },
                    contestant.name.into(),
                    format!("{:.2}", median_of(contestant.values.iter().copied())),
                    figure.unit.into(),
                    if number == 0 {
                        String::new()
                    } else {
                        format!("{ratio:.2}")
                    },
                ]);
            }
        }
        Table {
            title: "The network stack",
            about: format!(
                "Medians of {} rounds in which contestants took turns, {} s each. The last column is the first contestant's figure \
                 divided by this one's, the median over rounds.",
                self.rounds, self.seconds
            ),
            head: vec!["", "contestant", "median", "unit", "ratio"],
            rows,
        }
    }
}
