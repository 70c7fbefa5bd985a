//! What `filter` writes, code by code, for y4m of either range.

use std::fs;

use crate::run::Folder;

/// Runs a graph on one frame of y4m with these tags and planes; the header and the samples that come out.
#[track_caller]
fn filtered(args: &str, tags: &str, planes: &[&[u8]]) -> (String, Vec<u8>) {
    let folder = Folder::new();
    let header = format!("YUV4MPEG2 {tags}\nFRAME\n");
    let bytes = [header.as_bytes(), &planes.concat()].concat();
    folder.file("in.y4m", bytes);
    let line = format!("filter {args} -i in.y4m -o out.y4m --no-memory");
    folder.line(&line).succeeded();
    let out = fs::read(folder.path("out.y4m")).unwrap();
    let end = out.iter().position(|&b| b == b'\n').unwrap();
    let header = String::from_utf8(out[..end].to_vec()).unwrap();
    let samples = out[end + 1..].strip_prefix(b"FRAME\n").unwrap().to_vec();
    (header, samples)
}

#[test]
fn black_of_video_stays_black() {
    let colours: [&[u8]; 2] = [&[90; 16], &[200; 16]];
    let black = |code: u8| [&[code; 64][..], colours[0], colours[1]].concat();
    let grey = [128; 32];
    for (range, black_code, white_code) in [
        ("", 16, 235),
        (" XCOLORRANGE=LIMITED", 16, 235),
        (" XCOLORRANGE=FULL", 0, 255),
    ] {
        let tags = format!("W8 H8 F25:1 Ip A0:0 C420jpeg{range}");
        let of = |args: &str, code: u8| filtered(args, &tags, &[&black(code)]);
        let (header, samples) = of("binary", black_code);
        assert_eq!(header, format!("YUV4MPEG2 {tags}"));
        assert_eq!(samples, [&[black_code; 64][..], &grey].concat(), "{range}");
        let (_, samples) = of("binary", black_code + 1);
        assert_eq!(samples, [&[white_code; 64][..], &grey].concat(), "{range}");
        // The corners of what is turned.
        for planes in ["auto", "each"] {
            let (_, samples) = of(&format!("rotate=45 --planes {planes}"), white_code);
            let corners = [samples[0], samples[64], samples[80]];
            assert_eq!(corners, [black_code, 128, 128], "{range}, {planes}");
        }
    }
}

#[test]
fn luma_alone_keeps_its_codes_and_says_their_range() {
    let luma: Vec<u8> = (0..64).map(|i| 4 * i).collect();
    for (range, written) in [
        ("", " XCOLORRANGE=LIMITED"),
        (" XCOLORRANGE=LIMITED", " XCOLORRANGE=LIMITED"),
        (" XCOLORRANGE=FULL", " XCOLORRANGE=FULL"),
    ] {
        let tags = format!("W8 H8 F25:1 Ip A0:0 C420jpeg{range}");
        let (header, samples) = filtered("crop=1 --planes luma", &tags, &[&luma, &[9; 32]]);
        assert!(header.ends_with(&format!("Cmono{written}")), "{header}");
        assert_eq!(samples, luma);
    }
}

#[test]
fn posterize_gives_the_levels_it_is_asked_for() {
    let all: Vec<u8> = (0..=255).collect();
    let mono = |args: &str| filtered(args, "W256 H1 F25:1 Ip A0:0 Cmono", &[&all]).1;
    assert_eq!(mono("posterize=256"), all);
    let two = [vec![0; 128], vec![255; 128]].concat();
    assert_eq!(mono("posterize=2"), two);
    let mut eight = mono("posterize=8");
    eight.dedup();
    assert_eq!(eight, [0, 36, 73, 109, 146, 182, 219, 255]);
    for levels in ["0", "1", "1.5"] {
        Folder::new()
            .line(&format!(
                "filter posterize={levels} -i testsrc:8x8:1 -o null:"
            ))
            .failed(2, &["levels", "from 2 to 65536"]);
    }
}

#[test]
fn a_crop_of_a_share_is_centred_on_whole_chroma_samples() {
    let row: Vec<u8> = (0..352).map(|x| (x / 2) as u8).collect();
    let chroma: Vec<u8> = (0..176).map(|x| x as u8).collect();
    let planes = [&row[..], &row, &chroma, &chroma];
    let tags = "W352 H2 F25:1 Ip A0:0 C420jpeg";
    let (header, samples) = filtered("crop=280:2:36:0", tags, &planes);
    assert!(header.contains("W280 H2"), "{header}");
    // Of two rows a share below 1 leaves none that are whole, so it is of four.
    let tall = [
        &row[..],
        &row,
        &row,
        &row,
        &chroma,
        &chroma,
        &chroma,
        &chroma,
    ];
    let tags = tags.replace("H2", "H4");
    let (header, shared) = filtered("crop=0.8", &tags, &tall);
    assert!(header.contains("W280 H2"), "{header}");
    assert_eq!(shared, samples);
}

#[test]
fn stripes_that_are_shrunk_become_grey() {
    let row: Vec<u8> = (0..640).map(|x| 255 * (x / 2 % 2) as u8).collect();
    let tags = "W640 H1 F25:1 Ip A0:0 Cmono";
    let (_, samples) = filtered("resize=160:1", tags, &[&row]);
    let inner = &samples[1..159];
    assert!(inner.iter().all(|c| (127..=128).contains(c)), "{inner:?}");
}
