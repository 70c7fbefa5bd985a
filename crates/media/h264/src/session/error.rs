//! Why an encode could not begin or did not run to its end.

use evener_files::Error as FileError;
use evener_image::Format;
use evener_image::graph::GraphError;
use evener_image::io;
use evener_runtime::stream::{BoxError, StreamError};

use crate::syntax::{Limit, SyntaxError};

/// A session that could not be opened or did not run to its end. Every message is one line that says what, where and what
/// to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The output cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The filters do not fit the frames of the input.
    #[error("--filter: {0}")]
    Graph(#[from] GraphError),
    /// No stream of H.264 can be so.
    #[error("{name}: {cause}; {}", to_fit(cause))]
    Syntax {
        /// The input.
        name: String,
        /// What exceeds what.
        cause: SyntaxError,
    },
    /// The decoder's buffer does not hold one picture at the highest rate.
    #[error(
        "--bufsize of {bufsize} bits is less than one frame at --maxrate {maxrate} bits per second and {rate:.3} fps; make \
         it at least {}k", .least.div_ceil(1000)
    )]
    SmallBuffer {
        /// Bits that the buffer holds.
        bufsize: u64,
        /// The highest rate.
        maxrate: u64,
        /// Frames a second.
        rate: f64,
        /// Bits of a frame at that rate.
        least: u64,
    },
    /// There is no room for the frames.
    #[error(
        "{format}: pictures in work need {} MiB of memory, which cannot be had; make them smaller", .bytes >> 20
    )]
    Memory {
        /// Of the pictures.
        format: Format,
        /// Bytes for all that are in work, their references, and frames on their way.
        bytes: usize,
    },
    /// The run failed.
    #[error("{}", of_stream(.0))]
    Stream(#[from] StreamError),
}

impl Error {
    /// Whether the request can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Io(error) => matches!(error, io::Error::TestSource { .. }),
            Error::Graph(_) | Error::SmallBuffer { .. } => true,
            Error::File(_) | Error::Syntax { .. } | Error::Memory { .. } => false,
            Error::Stream(error) => error.is_request(),
        }
    }

    /// Whether the only failure is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Error::Io(io::Error::ClosedPipe { .. }) => true,
            Error::Io(io::Error::File(error)) | Error::File(error) => error.is_closed_pipe(),
            Error::Stream(error) => error.cause::<Error>().is_some_and(Error::is_closed_pipe),
            _ => false,
        }
    }

    /// Frames the output accepted before.
    pub fn written(&self) -> u64 {
        match self {
            Error::Stream(error) => error.written(),
            _ => 0,
        }
    }
}

/// What to do about a stream that cannot be.
fn to_fit(cause: &SyntaxError) -> String {
    let less = match cause {
        SyntaxError::Level {
            limit: Limit::BitRate,
            ..
        } => "lower --maxrate",
        SyntaxError::Level {
            limit: Limit::Buffer,
            ..
        } => "lower --bufsize",
        SyntaxError::Level {
            limit: Limit::Pictures,
            ..
        } => "give it fewer frames a second",
        _ => "make the picture smaller (--filter resize=W:H)",
    };
    match cause {
        SyntaxError::Level {
            enough: Some(level),
            ..
        } => format!("name --level {level} or none, or {less}"),
        _ => less.to_owned(),
    }
}

fn of_stream(error: &StreamError) -> String {
    // Errors of files name the file already.
    let named =
        |what: String, cause: &BoxError| match cause.is::<io::Error>() || cause.is::<Error>() {
            true => cause.to_string(),
            false => format!("{what} failed: {cause}"),
        };
    match error {
        StreamError::Source { unit, cause, .. } => named(format!("reading frame {unit}"), cause),
        StreamError::Sink {
            unit: Some(unit),
            cause,
            ..
        } => named(format!("writing frame {unit}"), cause),
        StreamError::Sink {
            unit: None, cause, ..
        } => named("writing the output".to_owned(), cause),
        StreamError::Unit { unit, message, .. } => {
            format!("frame {unit}: encoding failed, which is a fault of evener: {message}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_a_level_comes_with_what_to_do() {
        let says = |limit, enough| {
            let cause = SyntaxError::Level {
                limit,
                asked: 8160,
                allowed: 3600,
                level: "3.1",
                enough,
            };
            let name = "in.y4m".to_owned();
            Error::Syntax { name, cause }.to_string()
        };
        assert_eq!(
            says(Limit::Picture, Some("4")),
            "in.y4m: level 3.1 allows pictures of 3600 macroblocks (16x16 samples), and these have 8160; name --level 4 or \
             none, or make the picture smaller (--filter resize=W:H)"
        );
        assert!(says(Limit::BitRate, None).ends_with("not 8160; lower --maxrate"));
        assert!(says(Limit::Buffer, Some("4")).ends_with("or none, or lower --bufsize"));
    }

    #[test]
    fn a_closed_pipe_is_known_through_all_that_wraps_it() {
        let closed = || FileError::ClosedPipe {
            name: "standard output".into(),
            bytes: 7,
        };
        let through = |cause: BoxError| {
            Error::Stream(StreamError::Sink {
                unit: Some(3),
                written: 3,
                cause,
            })
        };
        let wrapped = through(Error::from(closed()).into());
        assert!(wrapped.is_closed_pipe() && !wrapped.is_request());
        assert_eq!(wrapped.written(), 3);
        assert_eq!(wrapped.to_string(), closed().to_string());
        assert!(Error::from(io::Error::from(closed())).is_closed_pipe());
        let other = through("it broke".into());
        assert!(!other.is_closed_pipe());
        assert_eq!(other.to_string(), "writing frame 3 failed: it broke");
    }
}
