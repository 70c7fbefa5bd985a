//! `evener net exec`, as far as it goes without a stack; the tests of the crate `evener-shim` have the rest.

use crate::run::Folder;

#[test]
fn what_is_not_there_is_said_in_a_line() {
    let folder = Folder::new();
    folder.line("net exec").failed(2, &["<PROGRAM>"]);
    for (library, parts) in [
        ("none.so", &["EVENER_SHIM says none.so", "no file"][..]),
        ("/proc/self/status", &["which is not a library"]),
        ("/proc/self/exe", &["s: no stack answers there"]),
    ] {
        let mut command = folder.evener("net exec --socket s -- true".split(' '));
        command.env("EVENER_SHIM", library);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn the_library_is_in_the_command_and_unpacked_once() {
    let folder = Folder::new();
    let run = |cache: &str| {
        let mut command = folder.evener("net exec --socket s -- true".split(' '));
        command
            .env("XDG_CACHE_HOME", cache)
            .env_remove("EVENER_SHIM");
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let cache = folder.path("of-programs");
    let libraries = || {
        let files = std::fs::read_dir(cache.join("evener")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "so"))
            .collect::<Vec<_>>()
    };
    for _ in 0..2 {
        let said = run(cache.to_str().unwrap());
        assert!(said.contains("no stack answers"), "{said}");
        assert_eq!(libraries().len(), 1);
    }
    // One that was damaged is written anew.
    let library = libraries().remove(0);
    let whole = std::fs::read(&library).unwrap();
    assert!(whole.starts_with(b"\x7fELF"));
    std::fs::write(&library, b"half").unwrap();
    run(cache.to_str().unwrap());
    assert!(std::fs::read(&library).unwrap() == whole);

    let said = run("/proc/none");
    assert!(
        said.contains("unpacked") && said.contains("XDG_CACHE_HOME"),
        "{said}"
    );
}
