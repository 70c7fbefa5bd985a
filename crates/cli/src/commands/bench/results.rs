//! Output of the results of a measurement.

use std::ffi::{OsStr, OsString};

use serde::Serialize;

use crate::failure::{DONE, Ended, Failure};
use crate::output::{SideOutput, can_print, check_distinct, print};
use crate::signals::Signals;

/// Rounds of a measurement, and the file for its figures.
#[derive(clap::Args)]
pub struct Measured {
    /// Rounds of measurement
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Write the figures as JSON; - prints them instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<OsString>,
}

/// The files for the results, created before anything is measured.
pub struct Results {
    json: Option<SideOutput>,
    page: Option<SideOutput>,
    /// A signal leaves no unfinished file.
    _signals: Signals,
}

impl Results {
    /// Takes the names that `--json` and `--report` give.
    pub fn create(json: Option<&OsStr>, page: Option<&OsStr>) -> Result<Results, Failure> {
        check_distinct(None, None, &[("--json", json), ("--report", page)])?;
        let signals = Signals::take()?;
        let results = Results {
            json: json.map(SideOutput::create).transpose()?,
            page: page.map(SideOutput::create).transpose()?,
            _signals: signals,
        };
        if results.prints_table() {
            can_print()?;
        }
        Ok(results)
    }

    /// Whether neither of the files is the standard output.
    fn prints_table(&self) -> bool {
        let mut sides = [&self.json, &self.page].into_iter().flatten();
        !sides.any(SideOutput::is_stdout)
    }

    /// Prints `table` unless the standard output is taken, and writes the files.
    pub fn write(
        self,
        table: &str,
        report: &impl Serialize,
        page: impl FnOnce() -> String,
    ) -> Ended {
        if self.prints_table() {
            print(table.trim_end())?;
        }
        if let Some(json) = self.json {
            json.write_json(report)?;
        }
        if let Some(file) = self.page {
            file.write(|out| out.write_all(page().as_bytes()))?;
        }
        Ok(DONE)
    }
}
