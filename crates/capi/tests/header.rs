//! The header is what the functions are.

use std::path::Path;

/// `UPDATE_HEADER=1 cargo test -p evener-capi --test header` writes it anew.
#[test]
fn the_header_is_that_of_the_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::generate_with_config(root, config).unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let file = root.join("include/evener.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(
        kept == made,
        "{} is not that of the functions: UPDATE_HEADER=1 cargo test -p evener-capi --test header",
        file.display()
    );
}
