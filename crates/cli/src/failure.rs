//! What ends a command early, and with which exit status.

use std::fmt;

/// How a command ended: an exit status, or why it failed.
pub type Ended = Result<u8, Failure>;

/// The exit status of a command that did what was asked.
pub const DONE: u8 = 0;

/// One line for the user and an exit status.
#[derive(Debug)]
pub struct Failure {
    message: String,
    /// The exit status.
    pub status: u8,
}

impl Failure {
    /// A command line that cannot work.
    pub fn request(message: impl fmt::Display) -> Failure {
        Failure {
            message: message.to_string(),
            status: 2,
        }
    }

    /// Something went wrong on the way.
    pub fn running(message: impl fmt::Display) -> Failure {
        Failure {
            message: message.to_string(),
            status: 1,
        }
    }

    /// Adds to the message.
    pub fn and(mut self, more: impl fmt::Display) -> Failure {
        self.message.push_str(&format!("; {more}"));
        self
    }

    /// Ends with another status.
    pub fn with_status(self, status: u8) -> Failure {
        Failure { status, ..self }
    }
}

impl fmt::Display for Failure {
    /// On one line, whatever went into the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.lines().map(str::trim);
        f.write_str(lines.next().unwrap_or_default())?;
        lines
            .filter(|line| !line.is_empty())
            .try_for_each(|line| write!(f, "; {line}"))
    }
}

impl From<clap::Error> for Failure {
    /// What clap says in several lines, without its repetition of the usage.
    fn from(error: clap::Error) -> Failure {
        let text = error.render().to_string();
        let said = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
            .filter(|line| !line.is_empty());
        let message = said.fold(String::new(), |all, line| match all.as_str() {
            "" => line.trim_start_matches("error: ").to_owned(),
            list if list.ends_with(':') || line.starts_with('[') => all + " " + line,
            _ => all + "; " + line.trim_start_matches("tip: "),
        });
        Failure::request(message).and("see --help")
    }
}

/// Errors of sessions, which say whether it was the command line that was wrong.
macro_rules! of_sessions {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                if error.is_request() {
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
    evener_image::session::Error,
    evener_queens::SessionError,
);

impl From<evener_image::io::Error> for Failure {
    fn from(error: evener_image::io::Error) -> Failure {
        Failure::running(error)
    }
}

impl From<evener_files::Error> for Failure {
    fn from(error: evener_files::Error) -> Failure {
        Failure::running(error)
    }
}

impl From<evener_runtime::Error> for Failure {
    fn from(error: evener_runtime::Error) -> Failure {
        Failure::running(error)
    }
}
