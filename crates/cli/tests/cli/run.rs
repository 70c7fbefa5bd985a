//! Running the binary and looking at what it left behind.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::ops::Deref;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

/// A folder for one test, in which `evener` is run.
pub struct Folder(evener_testing::Folder);

impl Deref for Folder {
    type Target = evener_testing::Folder;

    fn deref(&self) -> &evener_testing::Folder {
        &self.0
    }
}

impl Folder {
    pub fn new() -> Folder {
        Folder(evener_testing::Folder::new())
    }

    /// The sorted names of all files in the folder, the memory of plans left out.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.0.names();
        names.retain(|name| name != "cache");
        names
    }

    /// `evener` in this folder, with a memory of its own and nothing of the caller's settings.
    pub fn evener<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_evener"));
        command.args(args);
        command
    }

    /// Any program in this folder, where an `evener` that it runs has the same.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("EVENER_CONFIG", "")
            .env_remove("EVENER_CPU")
            .env_remove("EVENER_LOG")
            .env_remove("EVENER_TEST_PANIC")
            .env_remove("RUST_BACKTRACE")
            .env("no_proxy", "*")
            .stdin(Stdio::null());
        command
    }

    /// Runs `evener` to its end.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Done {
        Done::of(&mut self.evener(args))
    }

    /// A command line of which the output is read no further than `head` is long.
    pub fn cut_short(&self, line: &str, head: &mut [u8]) -> Done {
        let mut child = self
            .evener(line.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(head).unwrap();
        Done::from(child.wait_with_output().unwrap())
    }

    /// Runs a command line of `evener` to its end; arguments have no white space in them.
    pub fn line(&self, line: &str) -> Done {
        self.run(line.split_whitespace())
    }

    /// A small test scene as y4m.
    pub fn scene(&self, name: &str, description: &str) -> PathBuf {
        let done = self.line(&format!(
            "filter crop=1 -i testsrc:{description} -o {name} --plan tiled"
        ));
        done.succeeded();
        self.path(name)
    }
}

/// The status as shells have it.
pub fn status_of(status: ExitStatus) -> Option<i32> {
    status.code().or(status.signal().map(|signal| 128 + signal))
}

/// Whether a command line is one that this build has.
pub fn is_built(line: &str) -> bool {
    cfg!(feature = "bench") || line.split(' ').next() != Some("bench")
}

/// A process that has ended.
#[derive(Debug)]
pub struct Done {
    /// As shells have it: 128 and the number of the signal that ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            status: status_of(output.status),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Done {
    pub fn of(command: &mut Command) -> Done {
        command.output().unwrap().into()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// Checks that all went well.
    #[track_caller]
    pub fn succeeded(&self) -> &Done {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self
    }

    /// Checks that it ended without a message because its reader was gone.
    #[track_caller]
    pub fn lost_its_reader(&self) -> &Done {
        assert_eq!((self.signal, self.stderr.as_str()), (Some(13), ""));
        self
    }

    /// Checks that it ended with `status` and said so in one line, in which are all of `parts`.
    #[track_caller]
    pub fn failed(&self, status: i32, parts: &[&str]) -> &Done {
        let said = &self.stderr;
        assert_eq!(self.status, Some(status), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("evener: "), "{said}");
        for part in parts {
            assert!(said.contains(part), "no '{part}' in: {said}");
        }
        assert_eq!(self.stdout, b"");
        self
    }
}

/// Whole frames in a y4m file of 8-bit 4:2:0, which must hold nothing else.
#[track_caller]
pub fn frames_of(path: &Path) -> usize {
    let bytes = fs::read(path).unwrap();
    let line = bytes.iter().position(|&b| b == b'\n').unwrap();
    let header = std::str::from_utf8(&bytes[..line]).unwrap();
    let side = |tag: char| -> usize {
        let mut tags = header.split(' ').skip(1);
        tags.find_map(|t| t.strip_prefix(tag))
            .unwrap()
            .parse()
            .unwrap()
    };
    let (w, h) = (side('W'), side('H'));
    let frame = "FRAME\n".len() + w * h + 2 * w.div_ceil(2) * h.div_ceil(2);
    let frames = &bytes[line + 1..];
    assert_eq!(
        frames.len() % frame,
        0,
        "{} holds a part of a frame",
        path.display()
    );
    assert!(frames.chunks(frame).all(|f| f.starts_with(b"FRAME\n")));
    frames.len() / frame
}
