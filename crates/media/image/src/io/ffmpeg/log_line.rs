//! Lines of FFmpeg's logs, as messages show them: without pointers.

use evener_files::one_line;

/// How serious a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Info,
    Warning,
    /// A line without a level, as from a library or another program.
    Unknown,
    Error,
}

/// A line as `-loglevel level+…` has it: `[h264 @ 0x55d1] [error] no frame!`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) level: Level,
    /// The demuxer, codec or filter that wrote it; empty for the program.
    pub(super) component: String,
    pub(super) text: String,
}

impl LogLine {
    /// Parses a line; `None` if it has no information.
    pub(super) fn read(line: &str) -> Option<LogLine> {
        let mut level = Level::Unknown;
        let mut component = String::new();
        let mut rest = line.trim();
        while let Some((inside, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            match inside {
                "panic" | "fatal" | "error" => level = Level::Error,
                "warning" => level = Level::Warning,
                "info" | "verbose" | "debug" | "trace" => level = Level::Info,
                _ => match inside.split_once(" @ 0x") {
                    Some((name, _)) => component = one_line(name),
                    None => break,
                },
            }
            rest = behind.trim_start();
        }
        let text = one_line(&without_pointers(rest));
        if text.is_empty()
            || text.starts_with("Last message repeated")
            || text == "Conversion failed!"
        {
            return None;
        }
        Some(LogLine {
            level,
            component,
            text,
        })
    }

    /// Whether FFmpeg could not write all of a file.
    pub(super) fn tells_of_a_cut_output(&self) -> bool {
        const BEGINNINGS: [&str; 4] = [
            "Error writing trailer",
            "Error closing file",
            "av_interleaved_write_frame()",
            "Error muxing a packet",
        ];
        let begins = |beginning: &&str| self.text.starts_with(*beginning);
        self.level == Level::Error && BEGINNINGS.iter().any(begins)
    }

    /// The text for a message.
    pub(super) fn shown(&self) -> String {
        match self.component.as_str() {
            "" | "NULL" => self.text.clone(),
            component => format!("{component}: {}", self.text),
        }
    }
}

fn without_pointers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(" @ 0x") {
        kept.push_str(before);
        rest = behind.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    kept + rest
}

/// Lines of the highest level, at most 400 characters: the first one, which often is the cause, and the last two.
pub(super) fn summary<'a>(lines: impl IntoIterator<Item = &'a LogLine>) -> String {
    let lines: Vec<&LogLine> = lines.into_iter().collect();
    let worst = lines.iter().map(|l| l.level).max();
    let mut said: Vec<String> = Vec::new();
    for line in lines.iter().filter(|l| Some(l.level) == worst) {
        let shown = line.shown();
        if !said.contains(&shown) {
            said.push(shown);
        }
        if said.len() > 3 {
            said.remove(1);
        }
    }
    let said = said.join("; ");
    if said.chars().count() <= 400 {
        return said;
    }
    said.chars().take(399).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Level, String) {
        let line = LogLine::read(line).unwrap();
        (line.level, line.shown())
    }

    #[test]
    fn lines_are_shown_without_pointers() {
        let (error, warning, unknown) = (Level::Error, Level::Warning, Level::Unknown);
        for (line, level, shown) in [
            (
                "[h264 @ 0x55d87934a280] [error] no frame!",
                error,
                "h264: no frame!",
            ),
            (
                "[h264 @ 0x55d87934a280] no frame!",
                unknown,
                "h264: no frame!",
            ),
            ("[fatal] x: No such file", error, "x: No such file"),
            (
                "[NULL @ 0x1] [error] non-existing PPS",
                error,
                "non-existing PPS",
            ),
            (
                "[out#0/mp4 @ 0x1] [a @ 0x2] [warning] b @ 0xab: c",
                warning,
                "a: b: c",
            ),
            ("x265 [info]: frame", unknown, "x265 [info]: frame"),
            ("[0] is a number", unknown, "[0] is a number"),
        ] {
            assert_eq!(read(line), (level, shown.to_owned()), "{line}");
        }
        for nothing in ["", "[error] ", "    Last message repeated 3 times"] {
            assert_eq!(LogLine::read(nothing), None);
        }
    }

    #[test]
    fn a_summary_has_the_first_and_the_last_of_the_worst() {
        let lines: Vec<LogLine> = [
            "[error] 1",
            "[warning] w",
            "[error] 2",
            "[error] 3",
            "[error] 3",
            "[error] 4",
        ]
        .iter()
        .filter_map(|l| LogLine::read(l))
        .collect();
        assert_eq!(summary(&lines), "1; 3; 4");
        assert_eq!(summary(&lines[1..2]), "w");
        assert_eq!(summary(&[]), "");
        let long = [LogLine::read(&"x".repeat(1000)).unwrap()];
        assert_eq!(summary(&long).chars().count(), 400);
    }
}
