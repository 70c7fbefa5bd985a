//! Failures of commands, and their exit status.

use std::fmt;

use signal_hook::consts::SIGPIPE;

pub use crate::exit::{DONE, Status};

/// The status of a command, or why it failed.
pub type Ended = Result<Status, Failure>;

/// A line for the user and the exit status.
#[derive(Debug)]
pub struct Failure {
    /// Empty if nothing is printed.
    message: String,
    /// The exit status.
    pub status: Status,
}

impl Failure {
    /// A command line that cannot work.
    pub fn request(message: impl fmt::Display) -> Failure {
        Failure {
            message: message.to_string(),
            status: Status::Exit(2),
        }
    }

    /// A run that failed.
    pub fn running(message: impl fmt::Display) -> Failure {
        Failure {
            message: message.to_string(),
            status: Status::Exit(1),
        }
    }

    /// The reader of the output closed the pipe, as `head` does. As for other programs: no message, and SIGPIPE.
    pub fn closed_pipe() -> Failure {
        Failure {
            message: String::new(),
            status: Status::Signal(SIGPIPE),
        }
    }

    /// Whether there is a message.
    pub fn has_message(&self) -> bool {
        !self.message.is_empty()
    }

    /// Adds to the message.
    pub fn and(mut self, more: impl fmt::Display) -> Failure {
        if self.has_message() {
            self.message.push_str(&format!("; {more}"));
        }
        self
    }

    /// Ends with another status.
    pub fn with_status(self, status: Status) -> Failure {
        Failure { status, ..self }
    }
}

impl fmt::Display for Failure {
    /// One line, even if the message has several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.lines().map(str::trim);
        f.write_str(lines.next().unwrap_or_default())?;
        lines
            .filter(|line| !line.is_empty())
            .try_for_each(|line| write!(f, "; {line}"))
    }
}

/// Errors of sessions, which tell a wrong command line and a closed pipe from other failures.
macro_rules! of_sessions {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                if error.is_closed_pipe() {
                    Failure::closed_pipe()
                } else if error.is_request() {
                    Failure::request(error)
                } else {
                    Failure::running(error)
                }
            }
        }
    )+};
}

of_sessions!(
    evener_block::session::SessionError,
    evener_crypt::product::session::Error,
    evener_crypt::session::Error,
    evener_h264::session::Error,
    evener_image::session::Error,
);

impl From<evener_queens::SessionError> for Failure {
    fn from(error: evener_queens::SessionError) -> Failure {
        if error.is_request() {
            Failure::request(error)
        } else {
            Failure::running(error)
        }
    }
}

impl From<evener_net::session::SessionError> for Failure {
    fn from(error: evener_net::session::SessionError) -> Failure {
        if error.is_request() {
            Failure::request(error)
        } else {
            Failure::running(error)
        }
    }
}

impl From<evener_gateway::session::config::ConfigError> for Failure {
    fn from(error: evener_gateway::session::config::ConfigError) -> Failure {
        Failure::request(error.to_string())
    }
}

impl From<evener_gateway::session::SessionError> for Failure {
    fn from(error: evener_gateway::session::SessionError) -> Failure {
        if error.is_request() {
            Failure::request(error)
        } else {
            Failure::running(error)
        }
    }
}

impl From<evener_image::io::Error> for Failure {
    fn from(error: evener_image::io::Error) -> Failure {
        Failure::running(error)
    }
}

impl From<evener_net::link::Error> for Failure {
    fn from(error: evener_net::link::Error) -> Failure {
        match error.is_request() {
            true => Failure::request(error),
            false => Failure::running(error),
        }
    }
}

impl From<evener_planning::Error> for Failure {
    fn from(error: evener_planning::Error) -> Failure {
        Failure::running(error)
    }
}

impl From<evener_files::Error> for Failure {
    fn from(error: evener_files::Error) -> Failure {
        match error.is_closed_pipe() {
            true => Failure::closed_pipe(),
            false => Failure::running(error),
        }
    }
}

impl From<evener_runtime::Error> for Failure {
    fn from(error: evener_runtime::Error) -> Failure {
        Failure::running(error)
    }
}
