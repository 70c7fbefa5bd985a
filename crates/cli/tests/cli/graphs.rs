//! Graphs with several inputs, and graphs that were written for ffmpeg.

use crate::run::{Folder, frames_of};

#[test]
fn a_graph_for_ffmpeg_is_judged_filter_by_filter() {
    let folder = Folder::new();
    let line = "filter --check fps=10,drawtext=text=a,hflip";
    let text = folder.line(line).succeeded().text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("fps=10 ") && lines[0].ends_with("as in ffmpeg"));
    assert!(lines[1].ends_with("computed by the ffmpeg that writes the output"));
    assert!(lines[3].starts_with("runs; "), "{text}");
    let wrong = folder.line("filter --check rotate=PI/6");
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.text().contains("write `degrees=-30`"));
}

#[test]
fn several_inputs_are_joined() {
    let folder = Folder::new();
    let line = "filter [0:v][1:v]hstack,fps=50 -i testsrc:64x48:5 -i testsrc:32x48:9 -o both.y4m";
    folder.line(line).succeeded();
    assert_eq!(frames_of(&folder.path("both.y4m")), 18);
    let one = "filter [0:v][1:v]hstack -i testsrc:64x48:5 -o one.y4m";
    folder
        .line(one)
        .failed(2, &["reads 2 inputs, and there is 1"]);
}

#[test]
fn filters_of_ffmpeg_need_an_output_that_it_writes() {
    let folder = Folder::new();
    let line = "filter hflip,noise=10 -i testsrc:64x48:5 -o";
    folder
        .line(&format!("{line} out.y4m"))
        .failed(2, &["out.y4m: noise: ", "name a file such as out.mkv"]);
    let joined = "filter [0:v]negate[n];[1:v]colorkey=red[k];[n][k]overlay -i testsrc:64x48:5";
    folder
        .line(&format!("{joined} -i testsrc:64x48:5 -o -"))
        .failed(2, &["colorkey: "]);
}
