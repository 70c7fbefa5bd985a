//! Graphs bound to formats: sizes, what becomes of chroma, which planes there are.

use evener_image::graph::plane::Port;
use evener_image::graph::{Bound, Graph, GraphError, Planes};
use evener_image::moves::Moves;
use evener_image::{Chroma, ColourRange, Depth, Format, Size};

fn format(width: u32, height: u32, chroma: Chroma) -> Format {
    Format {
        width,
        height,
        chroma,
        depth: Depth::U8,
        range: ColourRange::Full,
    }
}

fn bind(text: &str, input: Format, planes: Planes) -> Bound {
    Graph::parse(text).unwrap().bind(&input, planes).unwrap()
}

fn refused(text: &str, input: Format) -> String {
    let error = Graph::parse(text)
        .unwrap()
        .bind(&input, Planes::Auto)
        .unwrap_err();
    assert!(!error.to_string().contains('\n'));
    error.to_string()
}

fn stage_names(bound: &Bound, plane: usize) -> Vec<&'static str> {
    bound.planes[plane]
        .nodes
        .iter()
        .map(|node| node.stage.name())
        .collect()
}

/// Every plane of the output has the size its format says, and stages join.
fn assert_sound(bound: &Bound) {
    assert_eq!(bound.planes.len(), bound.output.planes());
    for (p, plane) in bound.planes.iter().enumerate() {
        assert_eq!(plane.source, bound.input.plane_size(p));
        assert_eq!(plane.size, bound.output.plane_size(p), "plane {p}");
        assert_eq!(plane.size_of(plane.result), plane.size, "plane {p}");
        for (i, node) in plane.nodes.iter().enumerate() {
            assert_eq!(node.inputs.len(), node.stage.inputs());
            for input in &node.inputs {
                assert_eq!(plane.size_of(*input), node.input_size);
                assert!(!matches!(input, Port::Constant(_)));
                assert!(!matches!(input, Port::Stage(s) if *s >= i));
            }
        }
    }
}

#[test]
fn every_graph_is_sound_on_every_format() {
    let graphs = [
        "blur",
        "flip=h",
        "undistort,rotate=6,crop=0.8",
        "crop=0.8,resize=101:51,crop=0.5",
        "sobel,crop=9:9:3:5,gaussian=2",
        "resize=7:5,threshold,rotate=30",
        "blur,sobel_x,sobel_y,sobel,threshold,binary,posterize,flip=v",
        "null",
        "pad=iw+7:ih+3:3:1,unsharp,median,eq=2:0.1:1.5:2,denoise,deinterlace=keep=top,rotate=7:white:1",
        "transpose=clock,blur,transpose=cclock_flip,scale=iw/2:-1",
        "hflip,lenscorrection=0.4:0.6:-0.2,vflip,gblur",
    ];
    for text in graphs {
        for chroma in [Chroma::Mono, Chroma::C420, Chroma::C422, Chroma::C444] {
            for (w, h) in [(16, 16), (33, 21), (352, 288), (641, 15)] {
                for planes in [Planes::Auto, Planes::Each, Planes::Luma] {
                    assert_sound(&bind(text, format(w, h, chroma), planes));
                }
            }
        }
    }
}

#[test]
fn crop_keeps_whole_chroma_samples() {
    let size = |text: &str, w: u32, h: u32, chroma| {
        let output = bind(text, format(w, h, chroma), Planes::Auto).output;
        (output.width, output.height)
    };
    assert_eq!(size("crop", 1920, 1080, Chroma::C420), (1536, 864));
    // 0.75 of 10 is 7, with halved chroma 6.
    assert_eq!(size("crop=0.75", 10, 10, Chroma::C444), (7, 7));
    assert_eq!(size("crop=0.75", 10, 10, Chroma::C422), (6, 7));
    assert_eq!(size("crop=0.75", 10, 10, Chroma::C420), (6, 6));
    // 0.29 has no exact binary form; 0.29 of 100 is 29 all the same.
    assert_eq!(size("crop=0.29", 100, 100, Chroma::Mono), (29, 29));
    let offsets = |text: &str, chroma, plane: usize| {
        let bound = bind(text, format(352, 288, chroma), Planes::Auto);
        let node = &bound.planes[plane].nodes[0];
        (node.size, node.stage.translation().unwrap())
    };
    let of = |w, h| Size { w, h };
    // 0.8 of 352 x 288 is 281 x 230: with halved chroma 280, whose middle is 36 from the left, and 29 from the top,
    // rounded down.
    assert_eq!(
        offsets("crop=0.8", Chroma::C444, 0),
        (of(281, 230), (35, 29))
    );
    assert_eq!(
        offsets("crop=0.8", Chroma::C420, 0),
        (of(280, 230), (36, 28))
    );
    assert_eq!(
        offsets("crop=0.8", Chroma::C420, 1),
        (of(140, 115), (18, 14))
    );
    assert_eq!(
        offsets("crop=101:51:7:9", Chroma::C444, 0),
        (of(101, 51), (7, 9))
    );
    assert_eq!(
        offsets("crop=101:51:7:9", Chroma::C420, 0),
        (of(100, 50), (6, 8))
    );
    assert_eq!(
        offsets("crop=101:51:7:9", Chroma::C420, 2),
        (of(50, 25), (3, 4))
    );
    assert_eq!(
        offsets("crop=101:51:7:9", Chroma::C422, 0),
        (of(100, 51), (6, 9))
    );
    assert_eq!(
        offsets("crop=101:51:7:9", Chroma::C422, 1),
        (of(50, 51), (3, 9))
    );
}

/// Sizes that FFmpeg 5.1 gives for the same text.
#[test]
fn sizes_follow_the_input() {
    for (text, size) in [
        ("resize=-1:144", (176, 144)),
        ("resize=-1:100", (122, 100)),
        ("resize=-2:101", (124, 101)),
        ("resize=101:-2", (101, 82)),
        ("resize=-4:101", (124, 101)),
        ("resize=-1:-1", (352, 288)),
        ("scale=iw/2:ih/2", (176, 144)),
        ("scale=trunc(iw/3/2)*2:-2", (116, 94)),
        ("scale='min(1280,iw)':-2", (352, 288)),
        (
            "scale='if(gt(a,16/9),100,-2)':'if(gt(a,16/9),-2,100)'",
            (122, 100),
        ),
        (
            "scale=1280:720:force_original_aspect_ratio=decrease",
            (880, 720),
        ),
        (
            "scale=1280:720:force_original_aspect_ratio=1:force_divisible_by=16",
            (880, 720),
        ),
        (
            "scale=100:100:force_original_aspect_ratio=increase:force_divisible_by=8",
            (128, 104),
        ),
        ("scale=w=iw/hsub:h=2^7+mod(ih\\,100)", (176, 216)),
        ("crop='min(iw,ih)':ow", (288, 288)),
        ("pad='max(iw,ih)':ow:(ow-iw)/2:(oh-ih)/2", (352, 352)),
        ("scale=w=640", (640, 288)),
        ("scale=1280x720", (1280, 720)),
        (
            "scale=1280x720:force_original_aspect_ratio=decrease",
            (880, 720),
        ),
        ("crop=101:99", (100, 98)),
        ("crop=iw-16:ih-9", (336, 278)),
        ("crop=w=100:y=0", (100, 288)),
        ("transpose,crop=iw/2:ih/2", (144, 176)),
        ("pad=iw+16:ih+8:-1:-1", (368, 296)),
        ("pad=2*iw", (704, 288)),
        ("rotate=90:grow=1", (288, 352)),
        ("rotate=30:grow=1", (450, 426)),
    ] {
        let bound = bind(text, format(352, 288, Chroma::C420), Planes::Auto);
        assert_eq!((bound.output.width, bound.output.height), size, "{text}");
        assert_sound(&bound);
    }
}

#[test]
fn resize_rounds_chroma_up() {
    let bound = bind(
        "resize=101:51",
        format(352, 288, Chroma::C420),
        Planes::Auto,
    );
    assert_eq!(bound.output, format(101, 51, Chroma::C420));
    let sizes: Vec<_> = bound.planes.iter().map(|p| (p.size.w, p.size.h)).collect();
    assert_eq!(sizes, [(101, 51), (51, 26), (51, 26)]);
}

#[test]
fn chroma_is_grey_after_edges_and_tones() {
    let input = format(352, 288, Chroma::C420);
    let bound = bind("blur,crop,sobel,rotate=6,resize=50:40", input, Planes::Auto);
    assert_eq!(
        stage_names(&bound, 0),
        [
            "blur",
            "crop",
            "sobel_x",
            "sobel_y",
            "magnitude",
            "rotate",
            "resize",
            "resize"
        ]
    );
    for plane in 1..3 {
        assert!(bound.planes[plane].nodes.is_empty());
        assert_eq!(bound.planes[plane].result, Port::Constant(0.5));
        assert_eq!(bound.planes[plane].size, Size { w: 25, h: 20 });
    }
    let bound = bind("blur,rotate=6", input, Planes::Auto);
    assert_eq!(stage_names(&bound, 1), ["blur", "rotate"]);
    assert_eq!(bound.planes[1].nodes[0].input_size, Size { w: 176, h: 144 });
}

/// What a warp gives where it reads nothing.
fn fill(bound: &Bound, plane: usize) -> f32 {
    let stage = &bound.planes[plane].nodes[0].stage;
    let mut taps = Vec::new();
    stage.taps(0, 0, &mut taps);
    assert!(taps.is_empty());
    stage.combine(0, 0, &[])
}

#[test]
fn fill_is_black_on_luma_and_grey_on_chroma() {
    let input = format(64, 48, Chroma::C420);
    for text in ["rotate=45", "undistort=0.5"] {
        for planes in [Planes::Auto, Planes::Each] {
            let bound = bind(text, input, planes);
            assert_eq!([0, 1, 2].map(|p| fill(&bound, p)), [0.0, 0.5, 0.5]);
        }
    }
}

#[test]
fn each_and_luma_planes() {
    let input = format(64, 48, Chroma::C420);
    let bound = bind("sobel,threshold", input, Planes::Each);
    for plane in 0..3 {
        assert_eq!(
            stage_names(&bound, plane),
            ["sobel_x", "sobel_y", "magnitude", "threshold"]
        );
    }
    let bound = bind(
        "crop=0.75,sobel",
        format(10, 10, Chroma::C420),
        Planes::Luma,
    );
    // The luma plane is the one that the other modes give.
    assert_eq!(bound.output, format(6, 6, Chroma::Mono));
    assert_eq!(bound.planes.len(), 1);
    let bound = bind("sobel", format(64, 48, Chroma::Mono), Planes::Auto);
    assert_eq!(bound.planes.len(), 1);
}

#[test]
fn impossible_sizes_are_refused_with_the_filter_and_its_column() {
    let small = format(16, 16, Chroma::C420);
    let text = refused("blur, crop=10:10:8:0", small);
    assert_eq!(
        text,
        "crop, column 7: 10x10 at 8,0 reaches outside the 16x16 it is cut from; make it smaller"
    );
    assert!(refused("crop=10:10:0:7", small).contains("outside"));
    assert!(refused("pad=15", small).contains("16x16 does not fit there into 15x16"));
    assert!(refused("pad=20:20:5", small).contains("does not fit"));
    assert!(refused("crop=65536:1:65536:0", small).contains("outside"));
    assert!(refused("crop=iw-20:4:0:0", small).contains("`w` = iw-20 is -4; it must be"));
    assert!(refused("crop=iw/0:4", small).contains("is inf"));
    assert!(refused("resize=-1:1,resize=-1:65536,resize=65536:-1", small).contains("more than"));
    assert!(refused("crop=1:4:0:0", small).contains("nothing would be left of 16x16"));
    assert!(refused("crop=0.05", small).contains("nothing would be left"));
    assert!(refused("crop=8:8:0:0,crop=9:8:0:0", small).contains("column 14"));
    assert!(refused("resize=65536:65536", small).contains("more than"));
    assert!(refused("blur", format(0, 4, Chroma::Mono)).contains("0x4"));
    let error = Graph::parse("crop=17:1:0:0")
        .unwrap()
        .bind(&small, Planes::Auto)
        .unwrap_err();
    assert!(matches!(
        error,
        GraphError::Impossible {
            filter: "crop",
            column: 1,
            ..
        }
    ));
}

#[test]
fn chains_that_move_samples_are_one_move() {
    for (text, moves) in [
        ("null", true),
        ("hflip,vflip,transpose=clock,crop=0.5", true),
        ("pad=400:300,crop=390:290,transpose,pad=iw+2:ih+2", true),
        // Two colours around.
        ("pad=400:300,pad=500:400:color=white", false),
        ("hflip,blur", false),
        ("transpose,threshold", false),
    ] {
        let bound = bind(text, format(352, 288, Chroma::C420), Planes::Auto);
        assert_eq!(Moves::of(&bound.planes[0]).is_some(), moves, "{text}");
    }
    // Chroma that is halved in one direction is interpolated when that becomes the other one.
    let bound = bind("transpose", format(352, 288, Chroma::C422), Planes::Auto);
    assert!(Moves::of(&bound.planes[0]).is_some() && Moves::of(&bound.planes[1]).is_none());
}

#[test]
fn frames_by_themselves_have_no_times_and_keep_their_planes() {
    for (text, says) in [
        ("blur,fps=10", "fps, column 6: it needs a whole stream"),
        ("fade", "fade, column 1: it needs a whole stream"),
        (
            "movie=a.mkv[m];[0:v][m]overlay",
            "movie, column 1: it needs",
        ),
        (
            "blur=enable='gt(t,1)'",
            "blur, column 1: it needs a whole stream",
        ),
        (
            "[0:v][1:v]hstack",
            "hstack, column 11: it needs a whole stream",
        ),
        (
            "hflip,format=gray",
            "format, column 7: frames that are filtered one by one",
        ),
    ] {
        let graph = Graph::parse(text).unwrap();
        let wrong = graph.bind(&format(64, 48, Chroma::C420), Planes::Auto);
        let line = wrong.unwrap_err().to_string();
        assert!(line.starts_with(says), "{text}: {line}");
    }
    let beside = Graph::parse("split[a][b];[b]vflip[c];[a][c]hstack").unwrap();
    let bound = beside
        .bind(&format(64, 48, Chroma::C420), Planes::Auto)
        .unwrap();
    assert_eq!((bound.output.width, bound.output.height), (128, 48));
}
