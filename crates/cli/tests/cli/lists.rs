//! `filters`, `plans` and `topology`.

use evener_image::filters::TABLE;
use evener_runtime::{Dispatch, Structure};

use crate::run::{Done, Folder};

#[test]
fn every_filter_has_a_line_with_its_arguments() {
    let text = Folder::new().line("filters").succeeded().text();
    assert_eq!(text.lines().count(), TABLE.len());
    for (entry, line) in TABLE.iter().zip(text.lines()) {
        assert!(
            line.starts_with(entry.name) && line.contains(entry.about),
            "{line}"
        );
        for arg in entry.args {
            let shown = format!("{}={}", arg.name, arg.default.unwrap_or("?"));
            assert!(line.contains(&shown), "no '{shown}' in: {line}");
        }
    }
}

#[test]
fn a_filter_is_described_by_any_of_its_names() {
    let folder = Folder::new();
    let text = folder.line("filters posterize").succeeded().text();
    assert_eq!(folder.line("filters discrete").succeeded().text(), text);
    assert!(
        text.contains("levels") && text.contains("also called discrete"),
        "{text}"
    );
    let both = folder.line("filters crop flip").succeeded().text();
    assert!(both.contains("crop: ") && both.contains("flip: "), "{both}");
}

#[test]
fn plans_names_all_structures_and_dispatches() {
    let text = Folder::new().line("plans").succeeded().text();
    for structure in Structure::ALL {
        assert!(text.contains(&format!("  {} ", structure.name())), "{text}");
    }
    for dispatch in Dispatch::ALL {
        assert!(text.contains(&format!("  {} ", dispatch.name())), "{text}");
    }
    let line = |name: &str| text.lines().find(|l| l.contains(name)).unwrap().to_owned();
    assert!(line("  pipeline").contains("not for filters"), "{text}");
    assert!(!line("  tiled").contains("not for filters"), "{text}");
    assert!(line("  abreast").contains("rotate"), "{text}");
}

#[test]
fn topology_is_text_and_json() {
    let folder = Folder::new();
    let text = folder.line("topology").succeeded().text();
    assert!(text.contains("cores") && text.contains("simd"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.line("topology --json").succeeded().text()).unwrap();
    assert!(!json["cpus"].as_array().unwrap().is_empty(), "{json}");
    assert!(json["simd"].is_string(), "{json}");
}

#[test]
fn the_environment_lowers_the_level() {
    let folder = Folder::new();
    let done = Done::of(
        folder
            .evener(["topology", "--json"])
            .env("EVENER_CPU", "scalar"),
    );
    let json: serde_json::Value = serde_json::from_str(&done.succeeded().text()).unwrap();
    assert_eq!(json["simd"], "scalar");
}
