//! `filters`, `plans` and `topology`.

use evener_crypt::product;
use evener_image::filters::TABLE;
use evener_image::structures::ALL;
use evener_runtime::Dispatch;

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
    for structure in ALL.into_iter().chain(product::STRUCTURES) {
        let line = |l: &&str| l.starts_with(&format!("  {} ", structure.name));
        let lines: Vec<_> = text.lines().filter(line).collect();
        assert!(
            matches!(lines[..], [one] if one.contains(structure.about)),
            "{text}"
        );
    }
    for dispatch in Dispatch::ALL {
        assert!(text.contains(&format!("  {} ", dispatch.name())), "{text}");
    }
    let line = |name: &str| text.lines().find(|l| l.contains(name)).unwrap().to_owned();
    assert!(line("  pipeline").ends_with("(only product)"), "{text}");
    assert!(line("  tiled").ends_with("(only filter)"), "{text}");
    assert!(!line("  farm").contains("only"), "{text}");
    assert!(line("  batched").contains("rotate"), "{text}");
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
fn topology_has_devices() {
    let folder = Folder::new();
    let with = |arguments: &[&str], device: &str| {
        let mut command = folder.evener(arguments);
        Done::of(command.env("EVENER_DEVICE", device))
            .succeeded()
            .text()
    };
    let text = with(&["topology"], "sim:up=2G");
    assert!(text.contains("\nsim       simulated, "), "{text}");
    assert!(text.contains("all arithmetic is exact"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&with(&["topology", "--json"], "sim:up=2G")).unwrap();
    let sim = &json["devices"][0];
    assert_eq!(sim["name"], "sim");
    assert!(sim["link"]["up"].as_f64().unwrap() < 2.1e9, "{json}");
    assert!(with(&["topology"], "none").contains("\ndevices   none\n"));
    // What is not there is said, with what is.
    let text = with(&["topology"], "Voodoo");
    assert!(text.contains("EVENER_DEVICE: there is no device 'Voodoo'; there are auto, none, sim"));
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
