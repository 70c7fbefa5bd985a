//! Logging to the standard error, in lines like those of errors.

use std::fmt;
use std::io::{self, Write};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::progress;
use crate::stderr::{is_quiet, print_err};

const VARIABLE: &str = "EVENER_LOG";

/// Starts logging at the level of `verbose`, the number of `-v` flags, or else of the environment.
pub fn start(verbose: u8) -> Result<(), Failure> {
    let level = match (verbose, std::env::var(VARIABLE)) {
        (0, Ok(text)) if !text.is_empty() => text.parse().map_err(|_| {
            let known = "off, error, warn, info, debug, trace";
            Failure::request(format!(
                "{VARIABLE}: unknown level '{text}'; one of: {known}"
            ))
        })?,
        (0, _) => LevelFilter::WARN,
        (1, _) => LevelFilter::INFO,
        (2, _) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let level = match is_quiet() {
        true => level.min(LevelFilter::WARN),
        false => level,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| Lines)
        .event_format(Plain)
        .finish();
    // Fails only if there is a logger already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// `evener: warning: …`
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let label = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        write!(writer, "evener: {label}: ")?;
        context
            .field_format()
            .format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes each event without disturbing the progress bar.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        progress::without_bar(|| print_err(text.trim_end()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
