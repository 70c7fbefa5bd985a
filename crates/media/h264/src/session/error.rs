//! Why an encode could not begin or did not run to its end.

use evener_image::graph::GraphError;
use evener_image::{Format, io, session};
use evener_runtime::stream::StreamError;

use crate::syntax::{Limit, SyntaxError};

/// A session that could not be opened or did not run to its end. Every message is one line that says what, where and what
/// to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// As in every session over frames.
    #[error(transparent)]
    Frames(#[from] session::Error),
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
}

impl Error {
    /// The filters cannot be, or do not fit the frames of the input.
    pub fn of_filters(reason: GraphError) -> Error {
        let given = "--filter";
        Error::Frames(session::Error::Graph { given, reason })
    }

    /// There is no room for so many bytes of pictures.
    pub(super) fn of_memory(format: Format, bytes: usize) -> Error {
        let frames = "pictures in work";
        Error::Frames(session::Error::Memory {
            format,
            frames,
            bytes,
        })
    }

    /// The run failed.
    pub(super) fn of_run(reason: StreamError) -> Error {
        let work = "encoding";
        Error::Frames(session::Error::Stream { work, reason })
    }

    /// Whether the request can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Frames(error) => error.is_request(),
            Error::SmallBuffer { .. } => true,
            Error::Syntax { .. } => false,
        }
    }

    /// Whether the only failure is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Frames(error) if error.is_closed_pipe())
    }

    /// Frames the output accepted before.
    pub fn written(&self) -> u64 {
        match self {
            Error::Frames(error) => error.written(),
            Error::Syntax { .. } | Error::SmallBuffer { .. } => 0,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Frames(error.into())
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
    fn messages_name_the_option_and_the_work() {
        let graph = Error::of_filters(GraphError::Empty);
        assert!(graph.is_request() && graph.to_string().starts_with("--filter: "));
        let failed = Error::of_run(StreamError::Unit {
            unit: 7,
            written: 6,
            message: "panicked: oh".into(),
        });
        assert_eq!(
            failed.to_string(),
            "frame 7: encoding failed, which is a fault of evener: panicked: oh"
        );
        assert_eq!(failed.written(), 6);
    }
}
