//! Errors of parsing and binding graphs.

use super::args::ArgError;

/// Why a graph cannot be parsed or bound. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// No filter at all.
    #[error("the graph is empty; name at least one filter, e.g. `blur`")]
    Empty,
    /// Nothing between two commas, or before the first, or after the last.
    #[error("column {column}: there is no filter here; name one, or remove the comma or semicolon")]
    NoFilter {
        /// Where it is missing.
        column: usize,
    },
    /// A quote that does not end.
    #[error(
        "column {column}: this quote `'` does not end; end it, or write `\\'` for one that is meant"
    )]
    OpenQuote {
        /// Where it stands.
        column: usize,
    },
    /// Labels that do not fit together.
    #[error("column {column}: {problem}")]
    Label {
        /// Where it stands.
        column: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A filter of several frames or streams, where frames are filtered one by one.
    #[error(
        "{filter}, column {column}: it needs a whole stream or its times, and frames are filtered one by one here"
    )]
    NeedsStream {
        /// The filter by the name that was given.
        filter: &'static str,
        /// Where it stands.
        column: usize,
    },
    /// More filters than a graph may have.
    #[error("the graph has more than {limit} filters; divide it into several runs")]
    TooLong {
        /// The most there may be.
        limit: usize,
    },
    /// An unknown filter.
    #[error("column {column}: unknown filter `{name}`; {hint}")]
    UnknownFilter {
        /// As given, shortened.
        name: String,
        /// Where it stands.
        column: usize,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// An argument that its filter refuses.
    #[error("{filter}, {error}")]
    Argument {
        /// The filter by the name that was given.
        filter: &'static str,
        /// What is wrong, and where.
        error: ArgError,
    },
    /// A filter that does not fit the size of its input.
    #[error("{filter}, column {column}: {why}")]
    Impossible {
        /// The filter by the name that was given.
        filter: &'static str,
        /// Where it stands.
        column: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// Luma alone was asked for of frames that have none.
    #[error("frames of red, green and blue have no luma; ask for each plane, or give YUV or gray")]
    NoLuma,
    /// The input has no samples.
    #[error(
        "a frame of {width}x{height} has no samples to filter; give an input with both sides above 0"
    )]
    NoSamples {
        /// Luma samples in a row.
        width: u32,
        /// Luma rows.
        height: u32,
    },
}
