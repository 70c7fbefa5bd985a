//! Remembered plans on disk.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use evener_runtime::tuner::Memory;
use evener_runtime::{Dispatch, Flow, Plan, Shape, Structure, Work};
use evener_testing::Folder;

static ORIGAMI: Structure = Structure {
    name: "origami",
    about: "",
    flow: Flow::Divided,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

const PLAN: Plan = Plan {
    structure: &ORIGAMI,
    dispatch: Dispatch::Steal,
    grain: 34,
    workers: 2,
    devices: 0,
};
const COST: Duration = Duration::from_micros(870);

/// A folder of its own for each test, with the memory of plans in it.
struct Dir(Folder);

impl Dir {
    fn new() -> Dir {
        Dir(Folder::new())
    }

    fn memory(&self) -> Memory {
        Memory::at(self.0.path("evener/plans.json"))
    }

    /// The plan under a key, for a service that folds paper.
    fn plan(&self, key: &str) -> Option<Plan> {
        let origami = Shape::new(&ORIGAMI, vec![1], 1, Work::default());
        self.memory().get(key, &[origami])
    }
}

#[test]
fn a_plan_is_found_again_under_its_key_only() {
    let dir = Dir::new();
    let key = Memory::key("blur 1920x1080", "Zen 3, 2 cores", 2);
    assert_eq!(dir.plan(&key), None);
    dir.memory().put(&key, PLAN, COST);
    assert_eq!(dir.plan(&key), Some(PLAN));
    assert_eq!(
        dir.plan(&Memory::key("blur 1920x1080", "Zen 3, 2 cores", 1)),
        None
    );
    let other = Plan { grain: 68, ..PLAN };
    dir.memory().put(&key, other, COST);
    assert_eq!(dir.plan(&key), Some(other));
}

#[test]
fn damaged_and_foreign_files_are_ignored_and_replaced() {
    for content in [
        "",
        "{",
        "not json at all",
        "[1, 2, 3]",
        r#"{"version": 1}"#,
        r#"{"version": 99, "plans": {"k": {"plan": {"structure": "tiled", "dispatch": "fifo", "grain": 1, "workers": 1}, "cost_s": 1.0, "written": 0}}}"#,
        r#"{"version": 1, "plans": {"k": {"plan": {"structure": "origami", "dispatch": "lifo", "grain": 1, "workers": 1}, "cost_s": 1.0, "written": 0}}}"#,
    ] {
        let dir = Dir::new();
        let memory = dir.memory();
        fs::create_dir_all(memory.path().parent().expect("a directory")).expect("created");
        fs::write(memory.path(), content).expect("written");
        assert_eq!(dir.plan("k"), None, "{content}");
        memory.put("k", PLAN, COST);
        assert_eq!(dir.plan("k"), Some(PLAN), "{content}");
    }
}

#[test]
fn a_plan_whose_structure_is_no_longer_offered_is_none_and_spares_the_others() {
    let dir = Dir::new();
    let plan = |structure: &str| {
        format!(
            r#"{{"plan": {{"structure": "{structure}", "dispatch": "steal", "grain": 34, "workers": 2}}, "cost_s": 1.0, "written": 0}}"#
        )
    };
    let plans = format!(r#""k": {}, "l": {}"#, plan("papyrus"), plan("origami"));
    fs::create_dir_all(dir.0.path("evener")).expect("created");
    let text = format!(r#"{{"version": 1, "plans": {{{plans}}}}}"#);
    fs::write(dir.memory().path(), text).expect("written");
    assert_eq!(dir.plan("k"), None);
    assert_eq!(dir.plan("l"), Some(PLAN));
}

#[test]
fn a_plan_that_cannot_be_run_is_not_handed_out() {
    let dir = Dir::new();
    dir.memory().put("k", Plan { grain: 0, ..PLAN }, COST);
    assert_eq!(dir.plan("k"), None);
}

#[test]
fn plans_go_from_one_machine_to_another_and_later_ones_stay() {
    let (here, there) = (Dir::new(), Dir::new());
    here.memory().put("k", PLAN, COST);
    there.memory().add(&here.memory().text()).unwrap();
    assert_eq!(there.plan("k"), Some(PLAN));
    let text = |grain: u32, written: u64| {
        format!(
            r#"{{"version": 1, "plans": {{"k": {{"plan": {{"structure": "origami", "dispatch": "steal", "grain": {grain}, "workers": 2}}, "cost_s": 1.0, "written": {written}}}}}}}"#
        )
    };
    there.memory().add(&text(5, 1)).unwrap();
    assert_eq!(there.plan("k"), Some(PLAN));
    there.memory().add(&text(6, u64::MAX)).unwrap();
    assert_eq!(there.plan("k"), Some(Plan { grain: 6, ..PLAN }));
    for wrong in [
        "",
        "[]",
        r#"{"version": 1}"#,
        r#"{"version": 1, "plans": {"k": 1}}"#,
    ] {
        assert!(there.memory().add(wrong).is_err(), "{wrong}");
    }
    assert!(there.memory().text().contains("origami"));
}

#[test]
fn a_place_that_cannot_be_written_is_no_error() {
    let dir = Dir::new();
    dir.0.file("evener", "a file where a directory should be");
    dir.memory().put("k", PLAN, COST);
    assert_eq!(dir.plan("k"), None);
}

#[test]
fn writers_at_the_same_time_leave_a_sound_file_and_no_litter() {
    let dir = Dir::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let memory = dir.memory();
            scope.spawn(move || {
                for i in 0..25 {
                    memory.put(&format!("{writer} {i}"), PLAN, COST);
                    // Whatever another writer does, a reader never meets half a file.
                    let text = fs::read_to_string(memory.path()).expect("a file");
                    serde_json::from_str::<serde_json::Value>(&text).expect("sound JSON");
                }
            });
        }
    });
    for writer in 0..8 {
        let lost = (0..25).filter(|i| dir.plan(&format!("{writer} {i}")) != Some(PLAN));
        assert_eq!(lost.count(), 0, "of writer {writer}");
    }
    let left = fs::read_dir(dir.0.path("evener")).expect("a directory");
    let mut left: Vec<_> = left.map(|e| e.expect("an entry").file_name()).collect();
    left.sort();
    assert_eq!(left, ["plans.json", "plans.json.lock"]);
}

#[test]
fn whoever_hangs_with_the_lock_costs_others_a_moment() {
    let dir = Dir::new();
    dir.memory().put("k", PLAN, COST);
    let lock = fs::File::open(dir.0.path("evener/plans.json.lock")).expect("a lock");
    lock.lock().expect("locked");
    let begin = Instant::now();
    dir.memory().put("l", PLAN, COST);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(dir.plan("l"), Some(PLAN));
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let dir = Dir::new();
    let memory = dir.memory();
    for i in 0..1020 {
        memory.put(&format!("{i}"), PLAN, COST);
    }
    let text = fs::read_to_string(memory.path()).expect("a file");
    let value: serde_json::Value = serde_json::from_str(&text).expect("sound JSON");
    assert_eq!(value["plans"].as_object().expect("plans").len(), 1000);
}
