//! The examples compile with a compiler of C, the header with one of C++; they run, and valgrind finds nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use evener_crypt::session::{self, Options, key_file, new_key_file};
use evener_image::exec::service::FilterService;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame};
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Dispatch, Plan, Runtime, Service};
use evener_testing::Folder;

const WIDTH: usize = 320;
const HEIGHT: usize = 240;

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        evener_testing::skip(format_args!("there is no {program}"));
    }
    found
}

/// The folder that this test's libraries are in.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

fn compile(compiler: &str, arguments: &[&str], source: &Path, program: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A test of a package builds its libraries; the static one needs no path at run time.
    let library = libraries().join("libevener_c.a");
    assert!(library.exists(), "{}", library.display());
    // Those of a sanitizer.
    let flags = std::env::var("EVENER_CC_FLAGS").unwrap_or_default();
    let output = Command::new(compiler)
        .args(arguments)
        .args(flags.split_whitespace())
        .args(["-Wall", "-Wextra", "-Werror", "-g", "-O1", "-I"])
        .arg(root.join("include"))
        .arg(source)
        .args(["-x", "none"])
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
        .arg(program)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {text}");
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
    output
}

/// The first frame that the example draws, as a picture of its edges.
fn expected() -> Vec<u8> {
    let format = Format {
        width: WIDTH as u32,
        height: HEIGHT as u32,
        chroma: Chroma::Mono,
        depth: Depth::U8,
        range: ColourRange::Full,
    };
    let graph = Graph::parse("blur,sobel,threshold=0.25").unwrap();
    let service: FilterService = graph.service(&format, Planes::Auto).unwrap();
    let mut input = Frame::new(&format);
    let mut state = 2_463_534_242u32;
    for (at, sample) in input.plane_bytes_mut(0).iter_mut().enumerate() {
        let (x, y) = ((at % WIDTH) as i32, (at / WIDTH) as i32);
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let inside = (x - 160).pow(2) + (y - 120).pow(2) < 80 * 80;
        *sample = if inside { 200 } else { 40 } + (state >> 29) as u8;
    }
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let output = service.output();
    let plan = Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1000,
        workers: 1,
        devices: 0,
    };
    runtime.execute(&service, &plan, &input, &output).unwrap();
    output.plane_bytes(0).to_vec()
}

/// An example as a program in `folder`.
fn example(folder: &Folder, name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let program = folder.path(name);
    let source = examples.join(name).with_extension("c");
    compile("cc", &["-std=c11"], &source, &program);
    program
}

#[test]
fn edges_are_found() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    let program = example(&folder, "edges");
    let picture = folder.path("edges.pgm");
    let output = run(Command::new(&program).arg(&picture));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("sobel"), "{text}");
    let last = "100 frames of 320x240, evener 0.1.0\n";
    assert!(text.ends_with(last), "{text}");
    let made = std::fs::read(&picture).unwrap();
    let header = format!("P5\n{WIDTH} {HEIGHT}\n255\n");
    assert_eq!(made.strip_prefix(header.as_bytes()), Some(&expected()[..]));
}

/// A key file, and a text of some chunks.
fn key_and_text(folder: &Folder) -> [PathBuf; 2] {
    let key = folder.path("key");
    new_key_file(&key).unwrap();
    let text: Vec<u8> = (0..100_000u32)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect();
    [key, folder.file("text", text)]
}

#[test]
fn files_are_sealed() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    let program = example(&folder, "sealed");
    let [key, text] = key_and_text(&folder);
    let [sealed, back] = ["sealed.bin", "back"].map(|name| folder.path(name));
    let output = run(Command::new(&program).args([&key, &text, &sealed]));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("altered: input: was altered"), "{said}");
    assert!(said.ends_with("100000 bytes in 7 chunks\n"), "{said}");
    // What the command decrypt calls.
    let (secret, _) = key_file(&key, "".as_ref()).unwrap();
    let session = session::decrypt(sealed.as_ref(), back.as_ref(), &secret, b"", None).unwrap();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    session.run(&runtime, Options::default()).unwrap();
    assert!(std::fs::read(back).unwrap() == std::fs::read(text).unwrap());
}

#[test]
fn the_header_is_for_cpp_as_well() {
    if !has("c++") {
        return;
    }
    let folder = Folder::new();
    let text =
        "#include <evener.h>\nint main() { return evener_abi_version() != EVENER_ABI_VERSION; }\n";
    let source = folder.file("version.cpp", text);
    let program = folder.path("version");
    compile("c++", &["-std=c++17"], &source, &program);
    run(&mut Command::new(program));
}

fn valgrind(program: &Path, arguments: &[PathBuf]) {
    // Valgrind does not know all instructions of new processors.
    let mut valgrind = Command::new("valgrind");
    valgrind
        .env(evener_runtime::topology::SIMD_VARIABLE, "scalar")
        .args([
            "-q",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ])
        .arg(program)
        .args(arguments);
    run(&mut valgrind);
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") || !has("cc") {
        return;
    }
    let folder = Folder::new();
    valgrind(&example(&folder, "edges"), &[]);
    let [key, text] = key_and_text(&folder);
    let files = [key, text, folder.path("sealed.bin")];
    valgrind(&example(&folder, "sealed"), &files);
}
