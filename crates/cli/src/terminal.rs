//! Questions on the terminal whose answers it does not show.
//!
//! Only the echo is turned off: Ctrl-C, Ctrl-\ and Ctrl-Z are signals as ever. What ends the process calls
//! [`restore`] before; a process that is stopped shows the terminal as it was meanwhile, since it is the shell's then.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use evener_crypt::keys::secret_line;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use zeroize::Zeroizing;

use crate::ignored::is_ignored;

/// Bytes that a terminal takes as a line, at most.
const LINE: usize = 4096;

/// The terminal of this process, which does not show what is typed. It does again when this is dropped.
pub struct Terminal(File);

/// A terminal that does not show what is typed.
struct Hidden {
    terminal: File,
    before: Termios,
    question: String,
}

static HIDDEN: Mutex<Option<Hidden>> = Mutex::new(None);

fn hidden_terminal() -> MutexGuard<'static, Option<Hidden>> {
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    /// Opens the terminal and turns its echo off.
    ///
    /// # Errors
    /// The process has none, or it does not do as it is told.
    pub fn open() -> io::Result<Terminal> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let own = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let new = Hidden {
            terminal,
            before,
            question: String::new(),
        };
        let stops = (!is_ignored(SIGTSTP)).then_some(SIGTSTP);
        let mut signals = Signals::new(stops.into_iter().chain([SIGCONT]))?;
        thread::Builder::new()
            .name("evener-terminal".into())
            .spawn(move || signals.forever().for_each(on_signal))?;
        new.hide()?;
        *hidden_terminal() = Some(new);
        Ok(Terminal(own))
    }

    /// The line that is typed when asked for.
    ///
    /// # Errors
    /// The terminal is gone, or its end of file was typed.
    pub fn ask(&self, question: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        if let Some(hidden) = &mut *hidden_terminal() {
            question.clone_into(&mut hidden.question);
        }
        (&self.0).write_all(question.as_bytes())?;
        let (line, ended) = secret_line(&self.0, LINE)?;
        match ended {
            true => Ok(line),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(hidden) = hidden_terminal().take() {
            hidden.show();
        }
    }
}

impl Hidden {
    fn hide(&self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.local_modes -= LocalModes::ECHO;
        // What ends lines and what makes signals, whatever a program before has left; and that a line has ended is seen.
        modes.local_modes |= LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHONL;
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &modes)?)
    }

    fn show(&self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// The terminal shows again what is typed, in a new line: for a process that ends without dropping it.
pub fn restore() {
    if let Some(hidden) = hidden_terminal().take() {
        hidden.show();
        let _ = (&hidden.terminal).write_all(b"\n");
    }
}

fn on_signal(signal: i32) {
    match signal {
        SIGTSTP => {
            if let Some(hidden) = &*hidden_terminal() {
                hidden.show();
                let _ = (&hidden.terminal).write_all(b"\n");
            }
            // Returns when the process goes on.
            let _ = emulate_default_handler(SIGTSTP);
        }
        _ => {
            if let Some(hidden) = &*hidden_terminal() {
                let _ = hidden.hide();
                let _ = (&hidden.terminal).write_all(hidden.question.as_bytes());
            }
        }
    }
}
