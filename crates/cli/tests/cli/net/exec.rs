//! `evener net exec`, as far as it goes without a stack; the tests of the crate `evener-shim` have the rest.

use crate::run::Folder;

#[test]
fn what_is_not_there_is_said_in_a_line() {
    let folder = Folder::new();
    folder.line("net exec").failed(2, &["<PROGRAM>"]);
    for (library, parts) in [
        ("none.so", &["EVENER_SHIM says none.so", "no file"][..]),
        ("/proc/self/status", &["which is no library"]),
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
