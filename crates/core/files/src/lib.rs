//! Files and pipes as the ends of streams: the part that all services share.
//!
//! An output file appears under its name when it is whole ([`OutputFile`], [`Staged`], [`StagedFolder`]); an input is a file, a pipe or
//! the standard input ([`InputFile`]); a [`Watch`] finds out whether a file changed while it was read. Nothing here
//! starts a thread.

mod destination;
mod error;
mod exposed;
mod first_error;
mod folder;
mod input;
mod lock;
mod output;
mod part_file;
mod secrets;
mod source_file;
mod staged;
mod staged_folder;
mod stall;
mod standard;
mod sync;
mod system;
mod watch;

pub use destination::Destination;
pub use error::{Error, error_text, is_full, one_line};
pub use exposed::Exposed;
pub use first_error::FirstError;
pub use folder::OutputFolder;
pub use input::InputFile;
pub use lock::{is_at_path, try_lock, try_lock_shared};
pub use output::{OutputFile, Target, write_whole};
pub use part_file::remove_unfinished;
pub use secrets::without_secrets;
pub use source_file::SourceFile;
pub use staged::Staged;
pub use staged_folder::StagedFolder;
pub use stall::{StallDetector, blocking_call};
pub use sync::{lock, unpoisoned};
pub use system::{FileId, read_ahead, widen_pipe};
pub use watch::{Change, Watch};

/// What messages call the standard input.
pub const STDIN: &str = "standard input";
/// What messages call the standard output.
pub const STDOUT: &str = "standard output";
