//! `filters`, `plans` and `topology`, and whether the documents have what the tables have.

use evener_block::codec::Codec;
use evener_crypt::product;
use evener_image::filters::{self, TABLE, ffmpeg};
use evener_image::structures::ALL;
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Dispatch;

use crate::run::{Done, Folder};

#[test]
fn every_filter_has_a_line_with_its_arguments() {
    let text = Folder::new().line("filters").succeeded().text();
    let parts: Vec<&str> = text.split("\n\n").collect();
    let [own, theirs, differences] = parts[..] else {
        panic!("{text}");
    };
    assert_eq!(own.lines().count(), TABLE.len());
    assert!(theirs.starts_with("By FFmpeg's names"), "{text}");
    for (name, difference) in ffmpeg::DIFFERENCES {
        assert!(
            filters::all().any(|entry| entry.name == *name),
            "there is no filter '{name}': remove its row from `DIFFERENCES` in filters/ffmpeg.rs of evener-image"
        );
        let line = |l: &str| l.starts_with(name) && l.ends_with(difference);
        assert!(differences.lines().any(line), "{text}");
    }
    for (name, _) in ffmpeg::ELSEWHERE {
        assert!(
            filters::all().all(|entry| entry.name != *name),
            "there is a filter '{name}' now: remove its row from `ELSEWHERE` in filters/ffmpeg.rs of evener-image"
        );
    }
    let lines = own.lines().chain(theirs.lines().skip(1));
    for (entry, line) in filters::all().zip(lines) {
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

/// Fails unless the page has each of these.
fn says(page: &str, wanted: impl IntoIterator<Item = String>) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text = std::fs::read_to_string(format!("{root}/{page}")).unwrap();
    for wanted in wanted {
        assert!(text.contains(&wanted), "{page} lacks {wanted}");
    }
}

#[test]
fn the_document_of_filters_has_all_of_them() {
    let names = filters::all().flat_map(|entry| [&[entry.name], entry.aliases].concat());
    says("docs/filter.md", names.map(|name| format!("`{name}`")));
    let differences = ffmpeg::DIFFERENCES.iter();
    says(
        "docs/filter.md",
        differences.map(|(name, _)| format!("\n| `{name}` | ")),
    );
}

#[test]
fn the_documents_of_images_have_all_codecs() {
    let options = Codec::encoders().map(|codec| format!("\n| `--codec {}` | ", codec.name));
    says("docs/image.md", options);
    let numbers = Codec::encoders().map(|codec| format!("\n| {} | ", codec.id));
    says("crates/storage/block/FORMAT.md", numbers);
}

#[test]
fn the_document_of_the_network_has_all_congestion_controls() {
    let names = Algorithm::TABLE.map(|(name, _)| name).join("\\|");
    says("docs/net.md", [format!("`--congestion {names}`")]);
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
fn filters_are_listed_as_json() {
    let text = Folder::new().line("filters --json").succeeded().text();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let all = json.as_array().unwrap();
    assert_eq!(all.len(), filters::all().count());
    let of = |name: &str| all.iter().find(|f| f["name"] == name).unwrap();
    assert_eq!(of("posterize")["aliases"][0], "discrete");
    assert_eq!(of("crop")["arguments"][1]["default"], "iw");
    assert_eq!(of("crop")["arguments"][1]["expression"], true);
    assert_eq!(
        of("resize")["arguments"][0]["default"],
        serde_json::Value::Null
    );
    assert!(of("rotate")["differs_from_ffmpeg"].is_string());
    assert_eq!(of("sobel")["luma"], true);
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
    assert!(line("  farm").ends_with("(not encode)"), "{text}");
    assert!(line("  wavefront").ends_with("(only encode)"), "{text}");
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

/// What `topology --kernels --json` says.
fn kernels(folder: &Folder, level: Option<&str>) -> Vec<serde_json::Value> {
    let mut command = folder.evener(["topology", "--kernels", "--json"]);
    command.envs(level.map(|level| ("EVENER_CPU", level)));
    serde_json::from_str(&Done::of(&mut command).succeeded().text()).unwrap()
}

#[test]
fn kernels_are_timed_once_and_a_level_that_is_named_wins() {
    let folder = Folder::new();
    let first = kernels(&folder, None);
    let names: Vec<_> = first
        .iter()
        .map(|k| k["kernel"].as_str().unwrap())
        .collect();
    let all = [
        "filters",
        "aes-256-ctr",
        "aes-256-gcm",
        "chacha20-poly1305",
        "product",
        "queens",
        "analysis",
    ];
    assert_eq!(names, all);
    for (first, again) in first.iter().zip(kernels(&folder, None)) {
        let single = first["variants"].as_array().unwrap().len() == 1;
        let reasons = if single {
            ["only"; 2]
        } else {
            ["measured", "remembered"]
        };
        assert_eq!([&first["reason"], &again["reason"]], reasons, "{again}");
        assert_eq!(first["taken"], again["taken"]);
    }
    for kernel in kernels(&folder, Some("scalar")) {
        assert_eq!(kernel["reason"], "pinned", "{kernel}");
        assert_eq!(kernel["level"], "scalar", "{kernel}");
    }
    let text = folder.line("topology --kernels").succeeded().text();
    assert!(text.starts_with("kernel "), "{text}");
}

#[test]
fn damaged_times_of_kernels_are_told_in_one_line() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("cache/evener")).unwrap();
    folder.file("cache/evener/kernels.json", "{");
    let done = folder.line("topology --kernels");
    let said = &done.succeeded().stderr;
    assert_eq!(
        said.lines().count(),
        usize::from(cfg!(target_arch = "x86_64")),
        "{said}"
    );
    assert!(
        folder
            .line("topology --kernels")
            .succeeded()
            .stderr
            .is_empty()
    );
}
