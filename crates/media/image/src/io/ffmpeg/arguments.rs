//! Arguments of users for the `ffmpeg` that writes an output.

use std::ffi::OsString;

use evener_files::one_line;

use crate::io::error::Error;

/// Options that take no value. Each may have `no` before it. All others take the word behind them.
const FLAGS: [&str; 41] = [
    "accurate_seek",
    "an",
    "auto_conversion_filters",
    "autorotate",
    "autoscale",
    "benchmark",
    "benchmark_all",
    "bitexact",
    "copy_unknown",
    "copyinkf",
    "copyts",
    "debug_ts",
    "deinterlace",
    "display_hflip",
    "display_vflip",
    "dn",
    "dump",
    "find_stream_info",
    "fix_sub_duration",
    "fix_sub_duration_heartbeat",
    "force_fps",
    "hex",
    "hide_banner",
    "ignore_unknown",
    "n",
    "print_graphs",
    "psnr",
    "qphist",
    "re",
    "recast_media",
    "report",
    "seek_timestamp",
    "shortest",
    "sn",
    "start_at_zero",
    "stats",
    "stdin",
    "vn",
    "vstats",
    "xerror",
    "y",
];

const GRAPH: &str = "is not for the output; filters of video go into the graph";
const LENGTH: &str = "is not for the output; use the option `--frames N`";
const BEGIN: &str = "is not for the output; use the option `--start TIME`";

/// Options that contradict the graph or the options of evener, whether they may be for sound instead, and what to do.
const REFUSED: [(&str, bool, &str); 19] = [
    ("vf", false, GRAPH),
    ("filter", true, GRAPH),
    ("filter_script", true, GRAPH),
    ("filter_complex", false, GRAPH),
    ("filter_complex_script", false, GRAPH),
    ("lavfi", false, GRAPH),
    ("frames", true, LENGTH),
    ("vframes", false, LENGTH),
    ("t", false, LENGTH),
    ("to", false, LENGTH),
    ("fs", false, LENGTH),
    ("ss", false, BEGIN),
    ("sseof", false, BEGIN),
    (
        "r",
        true,
        "is not for the output; use the option `--fps RATE`",
    ),
    (
        "s",
        true,
        "is not for the output; use the filter `scale=W:H`",
    ),
    (
        "map",
        false,
        "is not for the output, which gets the streams that it can hold; leave some out by `-an` or `-sn`",
    ),
    (
        "i",
        false,
        "names another input, and there is one alone; join files afterwards, by `ffmpeg` itself",
    ),
    ("n", false, "is an option of evener; write it before `--`"),
    (
        "-",
        false,
        "ends the options of ffmpeg, and there is nothing behind them; leave it out",
    ),
];

/// Refuses what would be another output or input of `ffmpeg`, an option without its value, and options that contradict the
/// graph or the options of evener.
pub(crate) fn check(arguments: &[OsString]) -> Result<(), Error> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let refuse = |reason| {
            let argument = one_line(&text);
            Err(Error::Argument { argument, reason })
        };
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            return refuse(
                "is neither an option nor the value of one, so ffmpeg would write a file of that name; leave it out",
            );
        };
        // The value of `-/NAME` is in a file.
        let option = option.strip_prefix('/').unwrap_or(option);
        let (name, streams) = option.split_once(':').unwrap_or((option, ""));
        let of_video = streams.is_empty() || !streams.starts_with(['a', 's', 'd', 't']);
        let refused = REFUSED
            .iter()
            .find(|(other, _, _)| *other == name)
            .filter(|(_, may_be_sound, _)| !may_be_sound || of_video);
        if let Some((_, _, reason)) = refused {
            return refuse(*reason);
        }
        let is_flag = FLAGS.contains(&name)
            || (name.strip_prefix("no")).is_some_and(|name| FLAGS.contains(&name));
        if !is_flag && words.next().is_none() {
            return refuse("is an option without its value; write the value behind it");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ffmpeg::tools::split_args;

    fn refused(arguments: &str) -> Option<String> {
        let error = check(&split_args(arguments)).err()?;
        Some(error.to_string())
    }

    #[test]
    fn options_and_their_values_are_taken() {
        for arguments in [
            "",
            "-crf 18 -preset fast -pix_fmt yuv420p10le -tune animation",
            "-c:v libx264 -b:v 2M -maxrate:v 3M -bufsize 4M -g 50 -x264-params keyint=50",
            "-an -sn -dn -shortest -copyts -hide_banner -nostdin -nostats -y -crf 18",
            "-movflags +faststart -metadata title=film.mkv -map_metadata -1 -map_chapters -1",
            "-f matroska -start_number 5 -aspect 16:9 -disposition:a:0 default",
            "-filter:a volume=2 -frames:a 5 -c:a aac -af volume=2",
        ] {
            assert_eq!(refused(arguments), None, "{arguments}");
        }
    }

    #[test]
    fn other_outputs_are_refused() {
        for (arguments, output) in [
            ("h1.mkv", "h1.mkv"),
            ("-crf 30 h1.mkv", "h1.mkv"),
            ("-y h1.mkv", "h1.mkv"),
            ("-shortest -nostats a b", "a"),
            ("-noxerror -non -noy a", "a"),
            ("-crf 30 20 -an", "20"),
            ("-map_metadata -1 a.mkv", "a.mkv"),
            ("-", "-"),
        ] {
            let said = refused(arguments).unwrap();
            let begin = format!(
                "arguments of ffmpeg: `{output}` is neither an option nor the value of one"
            );
            assert!(said.starts_with(&begin), "{arguments}: {said}");
        }
        let said = refused("-crf").unwrap();
        assert!(said.contains("`-crf` is an option without"), "{said}");
    }

    #[test]
    fn what_contradicts_evener_is_refused() {
        for (arguments, instead) in [
            ("-vf hflip", "the graph"),
            ("-crf 18 -filter:v hflip", "the graph"),
            ("-filter:0 hflip", "the graph"),
            ("-filter_complex hflip", "the graph"),
            ("-lavfi hflip", "the graph"),
            ("-map 0:v", "`-an`"),
            ("-frames:v 5", "--frames"),
            ("-vframes 5", "--frames"),
            ("-t 5", "--frames"),
            ("-to 5", "--frames"),
            ("-ss 5", "--start"),
            ("-r 50", "--fps"),
            ("-s 64x48", "scale"),
            ("-i a.mkv", "another input"),
            ("-n -crf 18", "before `--`"),
            ("--", "leave it out"),
        ] {
            let said = refused(arguments).unwrap();
            assert!(said.contains(instead), "{arguments}: {said}");
        }
    }
}
