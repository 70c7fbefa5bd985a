//! What a script sees of Ctrl-C.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::run::{Folder, frames_of};
use crate::signals::{ended, is_ignored, wait_for_output};

/// A shell goes on after a program that exits on Ctrl-C, and stops after one that ends by it.
#[test]
fn a_script_does_not_go_on_after_ctrl_c() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let evener = folder.evener("filter blur -i testsrc:320x240:10000000 -o out.y4m".split(' '));
    let mut shell = folder.command("bash");
    shell
        .args(["-c", "\"$@\"; echo went on", "bash"])
        .arg(evener.get_program())
        .args(evener.get_args())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let Ok(shell) = shell.spawn() else {
        evener_testing::skip("there is no bash");
        return;
    };
    wait_for_output(&folder, 200_000);
    // As a terminal does it: to the shell and all it has started.
    kill_process_group(Pid::from_child(&shell), Signal::INT).unwrap();
    let done = ended(shell);
    assert_eq!((done.signal, done.text().as_str()), (Some(2), ""));
    // What is there is kept and told as ever.
    assert!(frames_of(&folder.path("out.y4m")) > 0);
    assert!(!done.stderr.is_empty());
}
