//! Processes that a measurement starts.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A process that is killed on drop.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts it. What it says is kept.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(command: &mut Command) -> io::Result<Process> {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Process(command.spawn()?))
    }

    /// Waits for its first line.
    ///
    /// # Errors
    /// It has ended without one: what it said about errors.
    pub fn line(mut self) -> io::Result<Process> {
        let mut line = String::new();
        if let Some(output) = self.0.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.is_empty() {
            true => Err(io::Error::other(self.end())),
            false => Ok(self),
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it, and returns what it said about errors.
    pub fn end(mut self) -> String {
        let _ = self.0.kill();
        let mut said = String::new();
        if let Some(mut errors) = self.0.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        said.trim_end().into()
    }
}
