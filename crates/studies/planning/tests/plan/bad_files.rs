//! What is wrong with an element file is told in one line, with the line that it is in.

use std::path::Path;

use evener_planning::Elements;

use crate::{passes, planned};

const KIND: &str = "[[kind]]\nname = \"a\"\narea = 1\npower = 1\n";

#[test]
fn wrong_files() {
    for (text, line, part) in [
        ("", 1, "no kind of element"),
        ("kind", 1, ""),
        ("[[kind]]", 1, "missing field `name`"),
        (
            "[[kind]]\nname = \"a\"\npower = 1",
            1,
            "missing field `area`",
        ),
        (
            &format!("{KIND}sped = 2"),
            5,
            "unknown field `sped`, expected one of",
        ),
        (&format!("base = 1\n{KIND}"), 1, "unknown field `base`"),
        (
            &format!("{KIND}speed = -1"),
            5,
            "kind 'a', speed: -1.0 is not a number from 1e-9 to 1e9",
        ),
        (&format!("{KIND}speed = 0"), 5, "speed: 0.0"),
        (&format!("{KIND}speed = nan"), 5, "speed: NaN"),
        (&format!("{KIND}speed = inf"), 5, "speed: inf"),
        (&format!("{KIND}speed = 1e300"), 5, "speed: 1e300"),
        (
            &format!("{KIND}speed = \"fast\""),
            5,
            "invalid type: string",
        ),
        (
            &format!("{KIND}number = 0"),
            5,
            "kind 'a', number: 0 is not a number from 1 to 4096",
        ),
        (&format!("{KIND}number = -3"), 5, "number: -3"),
        (
            &format!("{KIND}number = 2.5"),
            5,
            "invalid type: floating point",
        ),
        (&format!("{KIND}number = 99999999999999999999"), 5, ""),
        (&format!("{KIND}area = 2"), 5, "duplicate key"),
        (&format!("{KIND}\n{KIND}"), 6, "a second kind 'a'"),
        (
            &format!("baseline = \"b\"\n{KIND}"),
            1,
            "baseline: no kind 'b'; there are a",
        ),
        (&format!("units = 0\n{KIND}"), 1, "units: 0.0"),
        (
            "[[kind]]\nname = \"a b\"\narea = 1\npower = 1",
            2,
            "'a b' cannot be the name of a kind",
        ),
        (
            "[[kind]]\nname = \"\"\narea = 1\npower = 1",
            2,
            "cannot be the name",
        ),
        (
            "[[kind]]\nname = \"all\"\narea = 1\npower = 1",
            2,
            "cannot be the name",
        ),
        (
            "[[kind]]\nname = \"a\"\narea = -1\npower = 1",
            3,
            "kind 'a', area: -1.0",
        ),
        (
            "[[kind]]\nname = \"a\"\narea = 1\npower = 0",
            4,
            "kind 'a', power: 0.0",
        ),
        (
            &format!("{KIND}measured = \"avx3\""),
            5,
            "measured: 'avx3' cannot be measured on this machine; scalar",
        ),
        (&format!("{KIND}cycles = 5"), 5, "cycles: mhz is missing"),
        (&format!("{KIND}mhz = 5"), 5, "mhz: there are no cycles"),
        (
            &format!("{KIND}cycles = 5\nmhz = 1\nmeasured = \"scalar\""),
            7,
            "leave one of them out",
        ),
        (&format!("{KIND}cycles = 0\nmhz = 1"), 5, "cycles: 0.0"),
        (&format!("{KIND}cycles = inf\nmhz = 1"), 5, "cycles: inf"),
        (
            &format!("{KIND}cycles = [1, -2]\nmhz = 1"),
            5,
            "cycles: -2.0 is not a number from 1e-9 to 1e18, or inf",
        ),
        (
            &format!("{KIND}cycles = \"1\"\nmhz = 1"),
            5,
            "a number of cycles, or a list",
        ),
        (
            &format!("{KIND}cycles = [1, 2]\nmhz = 1"),
            1,
            "cycles: 2 for 64 stages",
        ),
        (
            &format!("stages = []\n{KIND}"),
            1,
            "stages: there can be 1 to 256",
        ),
        (
            &format!("stages = [0, 64]\n{KIND}"),
            1,
            "stages: 0 is not a number of steps",
        ),
        (
            &format!("stages = [60]\n{KIND}"),
            1,
            "these are 60 steps; test has 64: idea 20, skipjack 24, raiden 20",
        ),
        (
            &format!("stages = [64]\n{KIND}cycles = [inf]\nmhz = 1"),
            2,
            "'a' cannot run every stage",
        ),
        (
            &format!("{KIND}[[mapping]]\nname = \"m\""),
            5,
            "missing field `runs`",
        ),
        (
            &format!("{KIND}[[mapping]]\nname = \"m\"\nruns = \"all on b\""),
            7,
            "mapping 'm': no kind 'b'; there are a",
        ),
        (
            &format!("{KIND}[[mapping]]\nname = \"m\"\nruns = \"1-20 on a, 21-64 on a\""),
            7,
            "mapping 'm': it takes 2 a; there are 1",
        ),
        (
            &format!(
                "{KIND}[[mapping]]\nname = \"m\"\nruns = \"all on 4294967295 a + 4294967295 a\""
            ),
            7,
            "there are 1",
        ),
        (
            &format!(
                "{KIND}[[mapping]]\nname = \"m\"\nruns = \"all on a\"\n[[mapping]]\nname = \"m\"\nruns = \"all on a\""
            ),
            8,
            "a second mapping 'm'",
        ),
        (
            &format!(
                "stages = [32, 32]\n{KIND}[[kind]]\nname = \"b\"\narea = 1\npower = 1\ncycles = [1, inf]\nmhz = 1\n[[mapping]]\nname = \"m\"\nruns = \"all on b\""
            ),
            14,
            "'b' cannot run idea + skipjack + raiden",
        ),
    ] {
        let error = planned(text, &passes()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("machine.toml: line {line}: ")),
            "{text}\n{error}"
        );
        assert!(error.contains(part), "{text}\n{error}");
        assert!(!error.contains('\n') && error.len() < 300, "{error}");
    }
}

#[test]
fn too_many_kinds() {
    let kinds: String = (0..11)
        .map(|i| KIND.replace("\"a\"", &format!("\"a{i}\"")))
        .collect();
    let error = planned(&kinds, &passes()).unwrap_err().to_string();
    assert_eq!(error, "machine.toml: line 41: more than 10 kinds");
}

#[test]
fn ten_kinds_of_many_elements_are_planned_all_the_same() {
    let kinds: String = (0..10)
        .map(|i| {
            KIND.replace("\"a\"", &format!("\"a{i}\""))
                + &format!("number = 4096\nspeed = {}\n", i + 1)
        })
        .collect();
    let plan = planned(&kinds, &passes()).unwrap();
    assert!(plan.reduced.is_some() && !plan.front.is_empty());
}

#[test]
fn files_that_cannot_be_read() {
    let error = Elements::read(Path::new("no/such.toml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no/such.toml: cannot read: No such file or directory"
    );
    let error = Elements::read(Path::new("/")).unwrap_err();
    assert!(error.to_string().starts_with("/: cannot read: "), "{error}");
    let error = Elements::read(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/dev/zero: cannot read: it is larger than 1 MiB"
    );
}
