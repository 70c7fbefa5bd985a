//! What depends on the whole of a stream, without other programs.

use evener_testing::Folder;

use super::{frames, run};

fn counted(text: &str, input: &str) -> Result<usize, String> {
    let folder = Folder::new();
    let output = folder.path("out.y4m");
    run(text, &[input.as_ref()], &output).map(|()| frames(&output).len())
}

#[test]
fn frames_are_as_many_as_filters_say() {
    for (text, count) in [
        ("null", 20),
        ("fps=50", 40),
        ("setpts=PTS/2", 10),
        ("reverse,trim=end_frame=3", 3),
        ("loop=1:20:0", 40),
        ("loop=-1:4:0,trim=end_frame=30", 30),
        ("tile=4x2", 3),
        ("bwdif", 40),
        ("yadif", 20),
        ("setpts=PTS*2", 40),
        ("bwdif=deint=interlaced", 20),
        ("split[a][b];[a][b]concat,framestep=4", 10),
        ("select='eq(n,7)'", 1),
    ] {
        assert_eq!(counted(text, "testsrc:64x48:20"), Ok(count), "{text}");
    }
}

#[test]
fn streams_that_do_not_fit_are_refused_before_anything_is_read() {
    for (text, says) in [
        ("[0:v][1:v]hstack", "reads 2 inputs, and there is 1"),
        (
            "split[a][b];[b]scale=32:24[c];[a][c]hstack",
            "one stream is 64x48 and another 32x24",
        ),
        (
            "split[a][b];[b]crop=32:24[c];[a][c]concat",
            "scale or pad one of them",
        ),
        ("tile=3x2:padding=1", "between two chroma samples"),
        ("fps=10,hflip,enable=1", "unknown filter"),
        ("scale=32:24:enable=1", "keep the size"),
        ("trim=enable=1", "for filters that compute frames"),
        ("crop=64:48:'n'", ""),
    ] {
        match (counted(text, "testsrc:64x48:20"), says) {
            (Ok(_), "") => {}
            (Err(error), says) => assert!(error.contains(says), "{text}: {error}"),
            (Ok(_), _) => panic!("{text} runs"),
        }
    }
}

#[test]
fn the_picture_keeps_its_aspect_and_expressions_know_it() {
    let folder = Folder::new();
    let samples = [128; 72 * 32];
    let wide = [
        b"YUV4MPEG2 W72 H32 F25:1 Ip A4:3 Cmono\nFRAME\n",
        &samples[..],
    ]
    .concat();
    let input = folder.file("wide.y4m", wide);
    let output = folder.path("out.y4m");
    for (text, header) in [
        ("null", "W72 H32 F25:1 Ip A4:3"),
        ("scale=iw*sar:ih", "W96 H32 F25:1 Ip A1:1"),
        ("scale=36:32", "W36 H32 F25:1 Ip A8:3"),
        ("scale=96:ih,setsar=1", "W96 H32 F25:1 Ip A1:1"),
        ("transpose", "W32 H72 F25:1 Ip A3:4"),
        ("setdar=3/1", "W72 H32 F25:1 Ip A4:3"),
        ("crop=ih*dar/3:ih", "W32 H32 F25:1 Ip A4:3"),
    ] {
        run(text, &[&input], &output).unwrap();
        let bytes = std::fs::read(&output).unwrap();
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap();
        let line = String::from_utf8_lossy(line).into_owned();
        assert!(line.contains(header), "{text}: {line}");
    }
}
