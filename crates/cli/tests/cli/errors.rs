//! What goes wrong on the way: one line, exit status 1, and no output left behind.

use std::fs;

use crate::run::{Done, Folder, frames_of};

/// Runs `evener filter blur -i INPUT -o OUTPUT FLAGS…`, which must fail and leave only the files of before.
#[track_caller]
fn fails(folder: &Folder, line: &str, parts: &[&str]) {
    let before = folder.names();
    folder.line(&format!("filter blur {line}")).failed(1, parts);
    assert_eq!(folder.names(), before, "{line}");
}

#[test]
fn inputs_that_cannot_be_read() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    folder.file("empty.y4m", "");
    folder.file("text.y4m", "this is not a video at all\n");
    folder.file("broken.y4m", "YUV4MPEG2 W64 H\n");
    for (input, parts) in [
        ("none.y4m", &["none.y4m", "No such file"][..]),
        ("folder", &["folder", "directory"]),
        ("empty.y4m", &["empty.y4m"]),
        ("text.y4m", &["text.y4m", "YUV4MPEG2"]),
        ("broken.y4m", &["broken.y4m"]),
        ("null:", &["null:", "is an output"]),
    ] {
        fails(&folder, &format!("-i {input} -o out.y4m"), parts);
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    folder.scene("in.y4m", "64x48:3");
    fs::hard_link(folder.path("in.y4m"), folder.path("same.y4m")).unwrap();
    for (output, parts) in [
        ("none/out.y4m", &["none/out.y4m", "No such file"][..]),
        ("in.y4m/out.y4m", &["in.y4m/out.y4m"]),
        ("folder", &["folder", "directory"]),
        ("in.y4m", &["in.y4m", "is an input as well"]),
        ("same.y4m", &["same.y4m", "is an input as well"]),
        ("plain", &["plain", "no extension"]),
        ("http://localhost/x.mp4", &["is an address"]),
    ] {
        fails(&folder, &format!("-i in.y4m -o {output}"), parts);
    }
    assert_eq!(frames_of(&folder.path("in.y4m")), 3);
}

#[test]
fn a_folder_that_must_not_be_written_to() {
    let folder = Folder::new();
    let locked = folder.path("locked");
    fs::create_dir(&locked).unwrap();
    let mut rights = fs::metadata(&locked).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&locked, rights.clone()).unwrap();
    if fs::write(locked.join("try"), "").is_ok() {
        evener_testing::skip("this user may write everywhere");
        return;
    }
    fails(
        &folder,
        "-i testsrc:64x48:3 -o locked/out.y4m",
        &["locked/out.y4m", "Permission denied"],
    );
}

#[test]
fn reports_that_cannot_be_written_are_known_before_the_work() {
    let folder = Folder::new();
    for flag in ["--json", "--trace"] {
        // So long a stream would not end in the time of a test.
        let line = format!("-i testsrc:1920x1080:1000000 -o out.y4m {flag} none/report");
        fails(&folder, &line, &["none/report", "No such file"]);
    }
    fails(
        &folder,
        "-i testsrc:64x48:3 -o null: --json /dev/full",
        &["/dev/full", "No space left", "the video itself is complete"],
    );
}

/// A scene whose frame 3 of 5 is cut short.
fn truncated(folder: &Folder) {
    let bytes = fs::read(folder.scene("whole.y4m", "64x48:5")).unwrap();
    let frame = 6 + 64 * 48 * 3 / 2;
    let header = bytes.len() - 5 * frame;
    folder.file("cut.y4m", &bytes[..header + 3 * frame + 1000]);
    fs::remove_file(folder.path("whole.y4m")).unwrap();
}

#[test]
fn a_truncated_input_names_the_frame() {
    let folder = Folder::new();
    truncated(&folder);
    for plan in ["auto", "tiled", "sequential/steal", "farm"] {
        fails(
            &folder,
            &format!("-i cut.y4m -o out.y4m --plan {plan}"),
            &["cut.y4m", "ends inside frame 3", "1000 of 4614 bytes"],
        );
    }
}

#[test]
fn frames_before_a_failure_are_kept_if_asked_for() {
    let folder = Folder::new();
    truncated(&folder);
    for plan in ["auto", "tiled", "farm"] {
        let line = format!("filter blur -i cut.y4m -o out.y4m --keep-partial --plan {plan}");
        folder
            .line(&line)
            .failed(1, &["ends inside frame 3", "3 frames kept in out.y4m"]);
        assert_eq!(frames_of(&folder.path("out.y4m")), 3);
        fs::remove_file(folder.path("out.y4m")).unwrap();
    }
}

#[test]
fn a_failed_run_leaves_the_old_file() {
    let folder = Folder::new();
    truncated(&folder);
    let old = folder.file("out.y4m", "old");
    fails(&folder, "-i cut.y4m -o out.y4m", &["ends inside frame 3"]);
    assert_eq!(fs::read(old).unwrap(), b"old");
}

#[test]
fn a_full_disk_says_how_much_fitted() {
    let folder = Folder::new();
    for input in ["testsrc:64x48:3", "testsrc:1920x1080:200"] {
        fails(
            &folder,
            &format!("-i {input} -o /dev/full"),
            &["/dev/full", "No space left", "0 whole frames"],
        );
    }
}

/// Runs a command line of `evener` with a resource limit of the shell's.
pub fn under_limit(folder: &Folder, limit: &str, line: &str) -> Done {
    let evener = folder.evener(line.split_whitespace());
    let mut shell = folder.command("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
    shell.arg(evener.get_program()).args(evener.get_args());
    Done::of(&mut shell)
}

#[test]
fn frames_that_do_not_fit_in_memory_are_refused() {
    let folder = Folder::new();
    let line = "filter resize=30000:30000 -i testsrc:64x48:3 -o out.y4m";
    let done = under_limit(&folder, "-v 4000000", line);
    done.failed(1, &["30000x30000", "MiB of memory"]);
    let line = "encode -i testsrc:64x48:3 -o out.mp4 --filter resize=8192:4320 --preset slow";
    let done = under_limit(&folder, "-v 2500000", line);
    done.failed(1, &["8192x4320", "pictures in work need", "MiB of memory"]);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_limit_on_file_size_is_a_full_disk() {
    let folder = Folder::new();
    let limited = |flags: &str| {
        let line = format!("filter blur -i testsrc:640x480:50 -o out.y4m {flags}");
        // In blocks of 512 bytes: 4 frames of 450 KiB and a part.
        under_limit(&folder, "-f 4000", &line)
    };
    limited("").failed(1, &["out.y4m", "File too large", "4 whole frames"]);
    assert_eq!(folder.names(), [""; 0]);
    limited("--keep-partial").failed(1, &["4 whole frames", "4 frames kept"]);
    assert_eq!(frames_of(&folder.path("out.y4m")), 4);
}

/// Release builds cannot be made to panic.
#[cfg(debug_assertions)]
#[test]
fn a_kernel_that_panics_fails_its_frame_and_nothing_hangs() {
    let folder = Folder::new();
    let run = |plan: &str, flags: &str| {
        let line =
            format!("filter blur,sobel -i testsrc:320x240:40 -o out.y4m --plan {plan} {flags}");
        let mut command = folder.evener(line.split_whitespace());
        Done::of(
            command
                .env("EVENER_TEST_PANIC", "frame:17")
                .env("RUST_BACKTRACE", "1"),
        )
    };
    for plan in [
        "auto",
        "sequential",
        "backward",
        "backward-cached",
        "tiled/steal",
        "tiled/mailbox",
        "farm",
    ] {
        run(plan, "").failed(1, &["frame 17", "panicked"]);
        assert_eq!(folder.names(), [""; 0], "{plan}");
        run(plan, "--keep-partial --workers 3").failed(1, &["frame 17", "17 frames kept"]);
        assert_eq!(frames_of(&folder.path("out.y4m")), 17, "{plan}");
        fs::remove_file(folder.path("out.y4m")).unwrap();
    }
    let mut command = folder.evener(["filter", "blur", "-i", "testsrc:64x48:3", "-o", "out.y4m"]);
    Done::of(command.env("EVENER_TEST_PANIC", "3")).failed(2, &["EVENER_TEST_PANIC"]);
}

#[test]
fn outputs_of_several_files() {
    let folder = Folder::new();
    for name in ["out.m3u8", "out.MPD", "out.ism", "out.f4m"] {
        fails(
            &folder,
            &format!("-i testsrc:64x48:3 -o {name}"),
            &[name, "several files", "ffmpeg -i"],
        );
    }
}

#[test]
fn a_scene_larger_than_memory() {
    let folder = Folder::new();
    let evener = folder.evener("filter blur -i testsrc:32768x32768:1 -o null:".split(' '));
    let mut shell = folder.command("sh");
    shell.args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh"]);
    shell.arg(evener.get_program()).args(evener.get_args());
    Done::of(&mut shell).failed(1, &["32768x32768", "memory"]);
}

#[test]
fn mixed_interlacing() {
    let folder = Folder::new();
    folder.file(
        "mixed.y4m",
        "YUV4MPEG2 W2 H2 F25:1 Im Cmono\nFRAME ipp\nabcd",
    );
    fails(
        &folder,
        "-i mixed.y4m -o out.y4m",
        &["mixed.y4m", "Im", "ffmpeg -i"],
    );
}
