//! Input and output files and pipes that survive errors. All services share this crate.
//!
//! An output file appears under its name only when it is complete ([`OutputFile`], [`Staged`], [`StagedFolder`]). An
//! input is a file, a pipe or the standard input ([`InputFile`]). A [`Watch`] detects changes of a file while it is
//! read. The crate starts no threads.
//!
//! ```
//! use std::io::Write;
//!
//! use evener_files::{OutputFile, SourceFile, Target};
//!
//! # let folder = evener_testing::Folder::new();
//! let path = folder.path("out.txt");
//! let mut output = OutputFile::create(&path, &SourceFile::default())?;
//! output.write_all(b"all of it")?;
//! assert!(!path.exists());
//! output.commit(9)?;
//! assert_eq!(std::fs::read(&path)?, b"all of it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

/// The name of the standard input in messages.
pub const STDIN: &str = "standard input";
/// The name of the standard output in messages.
pub const STDOUT: &str = "standard output";

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
