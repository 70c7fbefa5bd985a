//! `evener product`

use crate::run::Folder;

const KEY: &str = "--key 30313233343536373839616263646566";

#[test]
fn what_is_encrypted_comes_back_under_every_plan() {
    let folder = Folder::new();
    let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.path("in"), &text).unwrap();
    for chain in ["", "--chain 1024"] {
        folder
            .line(&format!("product encrypt {KEY} {chain} in -o out"))
            .succeeded();
        let out = std::fs::read(folder.path("out")).unwrap();
        assert!(out.len() == text.len() && out != text);
        for plan in ["auto", "sequential", "pipeline", "farm"] {
            folder
                .line(&format!(
                    "product decrypt {KEY} {chain} out -o back --plan {plan} --workers 2"
                ))
                .succeeded();
            assert!(std::fs::read(folder.path("back")).unwrap() == text);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_line_and_leaves_nothing() {
    let folder = Folder::new();
    std::fs::write(folder.path("in"), b"thirteen byte").unwrap();
    std::fs::write(folder.path("whole"), [0; 64]).unwrap();
    for (line, status, says) in [
        (
            format!("product encrypt {KEY} in -o out"),
            1,
            "multiple of 8",
        ),
        (
            "product encrypt --key 00ff whole -o out".into(),
            2,
            "32 hexadecimal",
        ),
        (
            format!("product encrypt {KEY} --chain 12 whole -o out"),
            2,
            "power of two",
        ),
        // A single chain cannot be divided, whole units of it are not independent, and stages would wait for one
        // another.
        (
            format!("product encrypt {KEY} --chain 1 whole -o out --plan farm"),
            2,
            "sequential",
        ),
    ] {
        folder.line(&line).failed(status, &[says]);
    }
    assert_eq!(folder.names(), ["in", "whole"]);
}
