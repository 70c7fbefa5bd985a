//! The text of graphs: what is read, what is refused and how, what is written.

use proptest::prelude::*;

use super::args::{ArgError, Problem};
use super::{Graph, GraphError};
use crate::filters::{self, TABLE};

fn canonical(text: &str) -> String {
    Graph::parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .to_string()
}

fn refused(text: &str) -> GraphError {
    let error = Graph::parse(text).expect_err(text);
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 600, "{line}");
    error
}

/// The problem with an argument, the filter that has it, and its column.
fn problem(text: &str) -> (&'static str, usize, Problem) {
    match refused(text) {
        GraphError::Argument {
            filter,
            error: ArgError { column, problem },
        } => (filter, column, problem),
        other => panic!("{text}: {other}"),
    }
}

#[test]
fn graphs_have_a_canonical_text() {
    for (text, expected) in [
        ("blur", "blur"),
        (" blur ,\tsobel\n", "blur,sobel"),
        (
            "blur,sobel,threshold=0.25",
            "blur,sobel,threshold=t=0.25:keep=above",
        ),
        ("threshold=0.5:keep=below", "threshold=t=0.5:keep=below"),
        ("threshold=.5:below", "threshold=t=0.5:keep=below"),
        (
            "threshold = keep = below : t = 1e-1",
            "threshold=t=0.1:keep=below",
        ),
        ("threshold", "threshold=t=0.5:keep=above"),
        ("rotate=030", "rotate=degrees=30:fill=black:grow=0"),
        ("rotate=+30.0", "rotate=degrees=30:fill=black:grow=0"),
        ("undistort", "undistort=k1=-0.1:k2=0"),
        ("undistort=k1=-0.1:k2=0", "undistort=k1=-0.1:k2=0"),
        ("undistort=0.2:k2=-1", "undistort=k1=0.2:k2=-1"),
        ("crop", "crop=fraction=0.8"),
        ("crop=0.5", "crop=fraction=0.5"),
        ("crop=640:480:10:20", "crop=w=640:h=480:x=10:y=20"),
        ("crop=y=20:x=10:h=480:w=640", "crop=w=640:h=480:x=10:y=20"),
        ("crop=640:h=480:x=10:y=20", "crop=w=640:h=480:x=10:y=20"),
        ("discrete=4", "posterize=levels=4"),
        ("gaussian=sigma=2", "gaussian=sigma=2"),
        (
            "flip=h,flip=direction=v",
            "flip=direction=h,flip=direction=v",
        ),
        ("resize=1920:1080", "resize=w=1920:h=1080:flags=bilinear"),
        ("resize=-1:720:area", "resize=w=-1:h=720:flags=area"),
        ("crop=100:100", "crop=w=100:h=100:x=(iw-ow)/2:y=(ih-oh)/2"),
        ("crop=w=iw/2", "crop=w=iw/2:h=ih:x=(iw-ow)/2:y=(ih-oh)/2"),
        ("rotate=180/6", "rotate=degrees=180/6:fill=black:grow=0"),
        ("rotate=6:0.5:1", "rotate=degrees=6:fill=0.5:grow=1"),
        ("hflip,vflip,null", "hflip,vflip,null"),
        (
            "scale=640:-2",
            "scale=w=640:h=-2:flags=bicubic:force_original_aspect_ratio=disable:force_divisible_by=1",
        ),
        (
            "scale=64:36:flags=lanczos+accurate_rnd",
            "scale=w=64:h=36:flags=lanczos+accurate_rnd:force_original_aspect_ratio=disable:force_divisible_by=1",
        ),
        ("gblur", "gblur=sigma=0.5"),
        ("transpose=1", "transpose=dir=1"),
        (
            "crop='iw/2':'ih'",
            "crop=w=iw/2:h=ih:x=(iw-ow)/2:y=(ih-oh)/2",
        ),
        (r"crop=iw\/2:ih", "crop=w=iw/2:h=ih:x=(iw-ow)/2:y=(ih-oh)/2"),
        (
            "scale=width=640:height=-2",
            "scale=w=640:h=-2:flags=bicubic:force_original_aspect_ratio=disable:force_divisible_by=1",
        ),
        ("crop=out_w=9:out_h=8:x=0:y=0", "crop=w=9:h=8:x=0:y=0"),
        ("pad=width=9:height=8", "pad=w=9:h=8:x=0:y=0:color=black"),
        (
            "unsharp=luma_msize_x=7:chroma_amount=1",
            "unsharp=lx=7:ly=5:la=1:cx=5:cy=5:ca=1",
        ),
        (
            "lenscorrection=k1=0.1:i=bilinear",
            "lenscorrection=cx=0.5:cy=0.5:k1=0.1:k2=0:i=bilinear",
        ),
    ] {
        assert_eq!(canonical(text), expected);
        assert_eq!(canonical(expected), expected);
        let graph: Graph = text.parse().unwrap();
        assert_eq!(graph.names().count(), graph.to_string().split(',').count());
    }
}

#[test]
fn labels_say_what_goes_where() {
    for (text, canonical) in [
        ("[0:v]blur[out]", "blur"),
        ("[in]blur,sobel[v]", "blur,sobel"),
        (
            "split[a][b];[b]blur[c];[a][c]hstack",
            "[0:v]split=outputs=2[s0][s0.1];[s0.1]blur[s1];[s0][s1]hstack=inputs=2:shortest=0",
        ),
        (
            "[1:v]blur[logo];[0:v][logo]overlay=10:20",
            "[1:v]blur[s0];[0:v][s0]overlay=x=10:y=20:eof_action=repeat:shortest=0:repeatlast=1:eval=frame:format=auto",
        ),
        (
            "split,vstack",
            "[0:v]split=outputs=2[s0][s0.1];[s0][s0.1]vstack=inputs=2:shortest=0",
        ),
        (
            "overlay",
            "[0:v][1:v]overlay=x=0:y=0:eof_action=repeat:shortest=0:repeatlast=1:eval=frame:format=auto",
        ),
        ("hstack=3", "[0:v][1:v][2:v]hstack=inputs=3:shortest=0"),
    ] {
        let graph = Graph::parse(text).unwrap();
        assert_eq!(graph.to_string(), canonical, "{text}");
        assert_eq!(Graph::parse(canonical).unwrap().to_string(), canonical);
    }
    assert_eq!(Graph::parse("hstack=3").unwrap().inputs(), 3);
}

#[test]
fn quotes_that_do_not_end_and_branches_are_told() {
    for (text, says) in [
        (
            "blur,crop='iw/2:ih",
            "column 11: this quote `'` does not end",
        ),
        ("[a]blur", "column 2: there is no stream `[a]`"),
        ("blur;sobel", "column 6: the stream is a second output"),
        (
            "split[a][b];[a]blur",
            "column 10: the stream `[b]` is a second output",
        ),
        (
            "split[a][b];[a][b][b]hstack",
            "column 22: `hstack` reads 2 streams, and 3 lead",
        ),
        ("[0:v]blur[a", "column 10: this label does not end"),
        (
            "blur[a]sobel",
            "column 8: a comma or a semicolon is missing",
        ),
        ("blur[a][b]", "column 1: `blur` gives 1 streams"),
        (
            "[b]blur[a];[a]sobel[b]",
            "column 1: the graph has no output",
        ),
        ("[0:a]blur", "column 2: of sound, one chain"),
    ] {
        let line = refused(text).to_string();
        assert!(line.starts_with(says), "{line}");
    }
    // A file of that name is not there.
    let line = refused("overlay='a:b,c;[d].pam'").to_string();
    assert!(line.contains("a:b,c;[d].pam: cannot open"), "{line}");
}

#[test]
fn radians_are_no_degrees() {
    assert_eq!(
        refused("rotate=30*PI/180").to_string(),
        "rotate, column 8: `30*PI/180` looks like radians, which FFmpeg turns clockwise; \
         `degrees` is in degrees counter-clockwise: write `degrees=-30`"
    );
    for (text, degrees) in [("PI/4", "-45"), ("-PI", "180"), ("2*PI", "-360")] {
        let line = refused(&format!("rotate={text}:black")).to_string();
        assert!(
            line.ends_with(&format!("write `degrees={degrees}`")),
            "{line}"
        );
    }
    assert_eq!(
        canonical("rotate=0.5*180/PI"),
        "rotate=degrees=0.5*180/PI:fill=black:grow=0"
    );
}

#[test]
fn every_filter_is_found_by_all_its_names() {
    for entry in filters::all() {
        for name in [entry.name].iter().chain(entry.aliases) {
            // A stream that is given twice is read twice.
            let text = match *name {
                "split" => "split=1",
                name => name,
            };
            match Graph::parse(text) {
                Ok(graph) => assert_eq!(graph.names().collect::<Vec<_>>(), [entry.name]),
                Err(GraphError::Argument { filter, error }) => {
                    assert_eq!(filter, *name);
                    assert!(matches!(error.problem, Problem::Missing { .. }), "{error}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn graphs_of_nothing_or_too_much() {
    assert_eq!(refused(""), GraphError::Empty);
    assert_eq!(refused(" \n"), GraphError::Empty);
    assert_eq!(refused(","), GraphError::NoFilter { column: 1 });
    assert_eq!(refused("blur,"), GraphError::NoFilter { column: 6 });
    assert_eq!(refused("blur, ,sobel"), GraphError::NoFilter { column: 7 });
    assert_eq!(refused("=3"), GraphError::NoFilter { column: 1 });
    let most = vec!["blur"; 64].join(",");
    assert!(Graph::parse(&most).is_ok());
    assert_eq!(
        refused(&format!("{most},blur")),
        GraphError::TooLong { limit: 64 }
    );
}

#[test]
fn unknown_filters_get_the_nearest_name() {
    let text = refused("blur,treshold=0.5").to_string();
    assert_eq!(
        text,
        "column 6: unknown filter `treshold`; did you mean `threshold`?"
    );
    assert!(
        refused("Blur")
            .to_string()
            .ends_with("did you mean `blur`?")
    );
    assert!(
        refused("discret")
            .to_string()
            .ends_with("did you mean `discrete`?")
    );
    assert!(
        refused("blur sobel")
            .to_string()
            .ends_with("join filters with a comma: `blur,sobel`")
    );
    assert!(refused("zscale=2").to_string().ends_with("use `scale`"));
    assert!(!refused("pdf").to_string().contains("did you mean"));
    assert!(refused("edgedetect").to_string().contains("use `sobel`"));
    let none = refused("sharpen").to_string();
    assert!(none.ends_with("`evener filters` lists them all"), "{none}");
    assert!(refused(&"é".repeat(1000)).to_string().contains('…'));
}

#[test]
fn arguments_that_are_not_there() {
    let (filter, column, problem_) = problem("blur,threshold=0.5:kep=below");
    let hint = "did you mean `keep`?".to_owned();
    assert_eq!((filter, column), ("threshold", 20));
    assert_eq!(
        problem_,
        Problem::Unknown {
            name: "kep".to_owned(),
            hint
        }
    );
    assert!(
        refused("rotate=angle=3")
            .to_string()
            .ends_with("there are: degrees, fill, grow")
    );
    assert!(
        refused("blur=size=3")
            .to_string()
            .ends_with("this filter takes none")
    );
    assert_eq!(problem("blur=3"), ("blur", 6, Problem::TooMany { most: 0 }));
    assert_eq!(
        problem("threshold=1:above:2"),
        ("threshold", 19, Problem::TooMany { most: 2 })
    );
    assert_eq!(problem("crop=1:2:3:4:5").2, Problem::TooMany { most: 4 });
}

#[test]
fn arguments_that_are_missing_or_empty() {
    for text in ["blur,rotate", "blur, flip", "blur,resize=1"] {
        assert!(matches!(problem(text).2, Problem::Missing { .. }), "{text}");
    }
    assert_eq!(
        refused("blur, rotate").to_string(),
        "rotate, column 7: argument `degrees` is missing; give `degrees=` the angle in degrees"
    );
    for (text, column) in [
        ("rotate=", 8),
        ("threshold=:above", 11),
        ("threshold=t= :above", 11),
    ] {
        let (_, at, problem) = problem(text);
        assert_eq!((at, problem), (column, Problem::Empty), "{text}");
    }
}

#[test]
fn arguments_that_exclude_each_other() {
    assert_eq!(
        problem("threshold=1:t=2"),
        ("threshold", 13, Problem::Repeated { name: "t" })
    );
    assert_eq!(
        problem("rotate=degrees=1:degrees=1").2,
        Problem::Repeated { name: "degrees" }
    );
    assert_eq!(problem("threshold=t=1:above").2, Problem::Unnamed);
    let alone = Problem::NotAlone { name: "fraction" };
    assert_eq!(
        problem("crop=fraction=0.5:w=3"),
        ("crop", 15, alone.clone())
    );
    assert_eq!(problem("crop=1:2:3:4:fraction=1").2, alone);
}

#[test]
fn values_that_are_no_numbers() {
    for text in [
        "rotate=x",
        "rotate=0x10",
        "rotate=1,5",
        "rotate=3°",
        "rotate=1=2",
        "rotate=--1",
    ] {
        assert!(Graph::parse(text).is_err(), "{text}");
    }
    let (filter, column, what) = problem("blur,rotate= 12deg");
    assert_eq!((filter, column), ("rotate", 14));
    assert!(matches!(what, Problem::NotANumber { name: "degrees", value, .. } if value == "12deg"));
    for value in ["nan", "NaN", "inf", "-infinity", "1e39", "-1e400"] {
        let (.., what) = problem(&format!("rotate={value}"));
        assert!(matches!(what, Problem::NotFinite { .. }), "{value}: {what}");
    }
    let line = refused(&format!("rotate={}", "9x".repeat(500))).to_string();
    assert!(line.len() < 200, "{line}");
}

#[test]
fn values_that_are_impossible() {
    for text in [
        "gaussian=0",
        "gaussian=-1",
        "gaussian=50.1",
        "posterize=0",
        "posterize=1",
        "posterize=2.5",
        "posterize=-3",
        "posterize=65537",
        "crop=0",
        "crop=-0.5",
        "crop=1.01",
        "crop=80%",
        "crop=0:1:0:0",
        "crop=1:0:0:0",
        "crop=1:1:-1:0",
        "crop=1:1:0:0.5",
        "resize=0:1",
        "resize=1:0",
        "resize=65537:1",
        "resize=1.5:1",
        "resize=-65:1",
    ] {
        let (.., what) = problem(text);
        let known = matches!(
            what,
            Problem::OutOfRange { .. } | Problem::NotANumber { .. } | Problem::NoShare { .. }
        );
        assert!(known, "{text}: {what}");
    }
    for (text, says) in [
        ("pad=color=rde", "`rde` is not a colour"),
        ("unsharp=4", "an odd number from 3 to 23"),
        ("crop=iw/2:iq:0:0", "there is no `iq`; there are: iw, ih"),
        ("resize=(iw:3", "a `)` is missing"),
        ("resize=ow:3", "there is no `ow`"),
    ] {
        let line = refused(text).to_string();
        assert!(line.contains(says), "{line}");
    }
    for text in [
        "gaussian=50",
        "posterize=2",
        "posterize=65536",
        "crop=1",
        "resize=65536:1",
    ] {
        assert!(Graph::parse(text).is_ok(), "{text}");
    }
    for value in ["iw/2", "640"] {
        assert_eq!(
            refused(&format!("crop={value}")).to_string(),
            format!(
                "crop, column 6: `{value}` must be a fraction of both sides, more than 0 and at most 1; \
                 for a width write `w={value}`"
            )
        );
    }
    assert!(refused("discrete=1").to_string().starts_with("discrete, "));
    assert_eq!(
        refused("gaussian=-1").to_string(),
        "gaussian, column 10: `sigma` is -1; it must be more than 0 and at most 50"
    );
    assert_eq!(
        refused("posterize=2.5").to_string(),
        "posterize, column 11: `levels` is 2.5; it must be a whole number from 2 to 65536"
    );
}

#[test]
fn values_that_are_no_choice() {
    let line = refused("threshold=keep=abov").to_string();
    assert_eq!(
        line,
        "threshold, column 16: `abov` is not a value of `keep`; did you mean `above`?"
    );
    assert!(
        refused("flip=sideways")
            .to_string()
            .ends_with("give one of: h, v")
    );
    assert!(
        refused("threshold=0.5:2")
            .to_string()
            .contains("give one of: above, below")
    );
}

/// Pieces that make texts which are nearly graphs.
fn pieces() -> impl Strategy<Value = String> {
    let names: Vec<&str> = TABLE
        .iter()
        .flat_map(|e| [e.name].into_iter().chain(e.aliases.iter().copied()))
        .collect();
    let args: Vec<&str> = TABLE
        .iter()
        .flat_map(|e| e.args.iter().map(|a| a.name))
        .collect();
    let piece = prop_oneof![
        4 => proptest::sample::select(names).prop_map(str::to_owned),
        2 => proptest::sample::select(args).prop_map(str::to_owned),
        6 => proptest::sample::select(&[",", ":", "=", " ", "h", "above", "nan", "\u{a0}"][..])
            .prop_map(str::to_owned),
        2 => any::<f32>().prop_map(|v| v.to_string()),
        2 => (0..200u32).prop_map(|v| v.to_string()),
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_and_graphs_round_trip(text in prop_oneof![any::<String>(), pieces()]) {
        match Graph::parse(&text) {
            Ok(graph) => {
                let shown = graph.to_string();
                let again = Graph::parse(&shown).map(|g| g.to_string());
                prop_assert_eq!(again.as_ref(), Ok(&shown), "{}", text);
            }
            Err(error) => {
                let line = error.to_string();
                prop_assert!(!line.contains('\n') && line.len() < 600, "{}", line);
            }
        }
    }

    #[test]
    fn numbers_survive(degrees in any::<f32>().prop_filter("finite", |v| v.is_finite())) {
        let shown = canonical(&format!("rotate={degrees:e}"));
        let value = shown.trim_start_matches("rotate=degrees=");
        let value: f64 = value.trim_end_matches(":fill=black:grow=0").parse().unwrap();
        prop_assert_eq!(value as f32, degrees);
        prop_assert_eq!(canonical(&shown), shown);
    }
}
