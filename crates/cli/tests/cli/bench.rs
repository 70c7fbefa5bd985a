//! `bench`, with next to nothing to measure.

use std::fs;

use serde_json::Value;

use crate::run::Folder;

#[test]
fn filters_are_measured_in_every_combination() {
    let folder = Folder::new();
    let line = "bench filters --graph A --graph flip=h --size 64x48 --plan tiled,auto \
                --workers 1,2 --frames 5 --ops --no-memory --json r.json --report r.html";
    let text = folder.line(line).succeeded().text();
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * 2 * 2);
    for result in results {
        assert!(result["ms"]["median"].as_f64().unwrap() > 0.0, "{result}");
    }
    assert!(!report["ops"].as_array().unwrap().is_empty());
    assert!(
        text.lines().count() > 8 && text.contains("tiled/steal/"),
        "{text}"
    );
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(
        page.contains("<table") && page.contains("</html>"),
        "{page}"
    );
    assert!(!folder.path("cache/evener/plans.json").exists());
}

#[test]
fn json_takes_the_place_of_the_table() {
    let folder = Folder::new();
    let done = folder.line("bench filters --graph D --size 32x32 --frames 3 --plan tiled --json -");
    let report: Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
    assert_eq!(report["results"][0]["size"], "32x32");
}

#[test]
fn both_choices_of_planes_can_be_given() {
    let folder = Folder::new();
    for planes in ["luma", "each"] {
        let line = format!(
            "bench filters --graph D --size 32x32 --frames 3 --plan tiled --planes {planes} --json r.json"
        );
        folder.line(&line).succeeded();
    }
}

#[test]
fn encryption_is_measured() {
    let folder = Folder::new();
    let line = "bench crypt --bytes 1M --job 4K,64K --workers 1,2 --rounds 1 --json r.json --report r.html";
    let text = folder.line(line).succeeded().text();
    assert!(
        text.contains("mailbox") && text.contains("64 KiB"),
        "{text}"
    );
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * 2 * 10);
    for wrong in ["--bytes 0", "--bytes 5X", "--job 3K", "--workers 0"] {
        let done = folder.line(&format!("bench crypt {wrong}"));
        done.failed(2, &[]);
    }
}

#[test]
fn analysis_of_video_is_measured_in_jobs_of_every_size() {
    let folder = Folder::new();
    let line = "bench encode --clip testsrc:64x48:3 --clip testsrc:32x32:9 --frames 2 --workers 2 --rounds 2 \
                --json r.json --report r.html";
    let text = folder.line(line).succeeded().text();
    for part in [
        "macroblock",
        "half-pel",
        "testsrc:32x32:9: handing the search to 2 workers",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let clips = report["clips"].as_array().unwrap();
    assert_eq!(clips.len(), 2);
    for clip in clips {
        assert_eq!(clip["pictures"], 2);
        let runs = clip["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 3 * (1 + 1 + 2 * 4));
        for run in runs {
            let seconds = run["seconds"].as_array().unwrap();
            assert!(seconds.len() == 2 && seconds.iter().all(|s| s.as_f64() > Some(0.0)));
        }
        assert_eq!(clip["single"].as_array().unwrap().len(), 1 + 3 * 3);
        let predicted = clip["predicted"].as_array().unwrap();
        assert_eq!(predicted[4]["workers"], 16);
    }
    assert_eq!(report["empty_us"].as_array().unwrap().len(), 2);
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    for figure in [13, 14, 15, 16, 17, 18] {
        let figure = format!("(their figure 6.{figure})");
        assert!(page.contains(&figure), "no {figure}");
    }
    let row = "bench encode --clip testsrc:32x32:2 --job row --workers 1 --rounds 1 --json -";
    let done = folder.line(row);
    let report: Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
    assert_eq!(report["clips"][0]["runs"].as_array().unwrap().len(), 3);
    for (wrong, part) in [("--job rows", "row"), ("--frames 0", "0 is not in")] {
        folder
            .line(&format!("bench encode {wrong}"))
            .failed(2, &[part]);
    }
    let missing = folder.line("bench encode --clip missing.y4m");
    missing.failed(1, &["missing.y4m"]);
}

#[test]
fn dispatch_is_measured() {
    let folder = Folder::new();
    let line = "bench dispatch --workers 1 --rounds 1 --json r.json";
    let text = folder.line(line).succeeded().text();
    assert!(
        text.contains("evener fifo") && text.contains("rayon"),
        "{text}"
    );
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    assert_eq!(report["workers"], 1);
}

#[test]
fn the_tuner_is_measured_in_every_part() {
    let folder = Folder::new();
    let line =
        "bench tuner --graph A --size 64x48 --rounds 2 --frames 60 --json r.json --report r.html";
    let text = folder.line(line).succeeded().text();
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let auto = &report["auto"][0];
    assert_eq!(auto["auto"].as_array().unwrap().len(), 2);
    assert!(!auto["fixed"].as_array().unwrap().is_empty());
    for figure in ["whole", "last_quarter"] {
        assert!(auto[figure].as_f64().unwrap() > 0.0, "{auto}");
    }
    let disturbance = &report["disturbance"][0];
    for change in ["taken", "given_back"] {
        let rounds = disturbance[change].as_array().unwrap();
        assert!(rounds.iter().all(|r| r["speed"].as_f64().unwrap() > 0.0));
        assert_eq!(rounds.len(), 2);
    }
    assert_eq!(report["bad_arm"].as_array().unwrap().len(), 3);
    let overhead = &report["overhead"][0];
    assert_eq!(overhead["plan"]["workers"], 1);
    assert_eq!(overhead["stream"].as_array().unwrap().len(), 24);
    if cfg!(target_os = "linux") {
        let process = &report["memory"][0]["processes"][0];
        assert_eq!(process["frames"], 60);
        assert!(process["during"].as_u64() >= process["before"].as_u64());
    }
    assert!(
        text.contains("auto ended on") && text.contains("beyond"),
        "{text}"
    );
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(
        page.contains("<svg") && page.matches("<table").count() == 5,
        "{page}"
    );
    assert!(!folder.path("cache/evener/plans.json").exists());
}

#[test]
fn parts_of_the_tuner_are_measured_alone() {
    let folder = Folder::new();
    let line =
        "bench tuner --part bad-arm --graph flip=h --size 32x32 --rounds 1 --frames 9 --json -";
    let done = folder.line(line);
    let report: Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
    assert_eq!(report["bad_arm"][0]["graph"], "flip=h");
    assert!(report.get("auto").is_none() && report.get("memory").is_none());
}

#[test]
fn requests_to_images_are_measured_on_one_worker_and_on_two() {
    let folder = Folder::new();
    let line = "bench block --rounds 1 --workers 2 --json r.json";
    let text = folder.line(line).succeeded().text();
    for part in ["the published driver", "636", "3.57", "predicted gain"] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let images = report["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    for (image, codec) in images.iter().zip(["zstd", "lz4"]) {
        assert_eq!(
            (&image["codec"], &image["block"]),
            (&codec.into(), &65536.into())
        );
        assert!(image["request_us"].as_f64() > Some(0.0));
        let large = image["large"].as_array().unwrap();
        assert_eq!((large.len(), &large[0]["gain"]), (2, &1.0.into()));
        let foreseen = image["foreseen"].as_array().unwrap();
        let gains: Vec<f64> = foreseen
            .iter()
            .map(|f| f["gain"].as_f64().unwrap())
            .collect();
        assert!(
            gains[0] == 1.0 && gains[1] < 2.01 && gains[2] < 4.01,
            "{gains:?}"
        );
    }
    let missing = folder.line("bench block missing.img");
    missing.failed(1, &["missing.img"]);
    let small = folder.path("small.img");
    fs::write(small, [7; 100_000]).unwrap();
    folder
        .line("bench block small.img")
        .failed(1, &["small.img", "512 KiB"]);
}

#[test]
fn the_network_stack_is_measured_and_drawn() {
    let folder = Folder::new();
    let names = folder.line("bench net --only list").succeeded().text();
    for name in [
        "tun offload receive",
        "wire round trip",
        "loopback udp by payload",
    ] {
        assert!(
            names.lines().any(|line| line == name),
            "no '{name}' in {names}"
        );
    }
    let line = "bench net --only wire --only loopback --rounds 1 --seconds 0.05 --json r.json --report r.html";
    let text = folder.line(line).succeeded().text();
    assert!(text.contains("10,000 flows"), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    for figure in report["figures"].as_array().unwrap() {
        for contestant in figure["contestants"].as_array().unwrap() {
            assert!(contestant["values"][0].as_f64() > Some(0.0), "{figure}");
        }
    }
    let drawn = report["drawn"].as_array().unwrap();
    assert_eq!(
        (&drawn[0]["number"], &drawn[1]["number"]),
        (&6.into(), &7.into())
    );
    for line in drawn
        .iter()
        .flat_map(|figure| figure["lines"].as_array().unwrap())
    {
        let values = line["values"].as_array().unwrap();
        assert!(
            values.iter().all(|value| value.as_f64() > Some(0.0)),
            "{line}"
        );
    }
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(
        page.contains("Figure 6") && page.contains("Figure 7"),
        "{page}"
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = Folder::new();
    let graph = folder.line("bench filters --graph nothing --size 32x32 --json r.json");
    graph.failed(2, &["nothing"]);
    for (flags, part) in [
        ("filters --size 0x3", "not a size"),
        ("filters --size big", "not a size"),
        ("filters --plan tild", "unknown plan 'tild'"),
        ("net --only nothing", "no figure"),
        ("net --only wire --seconds 0", "not a number of seconds"),
        ("dispatch --rounds 0", "0 is not in"),
        ("tuner --part autos", "unknown part 'autos'"),
        ("tuner --graph nothing --part memory", "nothing"),
        ("tuner --graph nothing --part auto", "nothing"),
    ] {
        folder.line(&format!("bench {flags}")).failed(2, &[part]);
    }
    let same = folder.line("bench filters --size 32x32 --json x --report ./x");
    same.failed(2, &["--report ./x", "--json as well"]);
    assert_eq!(folder.names(), [""; 0]);
}
