//! `evener filters`

use std::fmt::Write;

use clap::builder::{PossibleValue, PossibleValuesParser};
use evener_image::filters::ffmpeg::DIFFERENCES;
use evener_image::filters::{self, Arg, Entry, Role, TABLE};
use serde::Serialize;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// List the filters and their arguments
#[derive(clap::Args)]
#[command(after_help = "\
Join filters with commas. Arguments follow an equals sign and are separated by
colons, in the order shown or by name:
  rotate=6   rotate=degrees=6   threshold=0.3:below   resize=-2:720
Lengths may be expressions of the input size, iw and ih: crop=iw/2:ih-16

Values range from 0 (black) to 1 (white). In 8 bits that is codes 16 to 235 in
limited range and 0 to 255 in full range. The input states its range; y4m that
does not is taken as limited range, or full range if mono.

Examples:
  evener filters
  evener filters crop threshold")]
pub struct Args {
    /// Describe these filters and their arguments
    #[arg(value_name = "FILTER", value_parser = names(), hide_possible_values = true)]
    names: Vec<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

fn names() -> PossibleValuesParser {
    let value = |e: &Entry| PossibleValue::new(e.name).aliases(e.aliases);
    filters::all().map(value).collect::<Vec<_>>().into()
}

pub fn run(args: &Args) -> Ended {
    let named = |entry: &&Entry| {
        let is = |name: &String| entry.name == name || entry.aliases.contains(&name.as_str());
        args.names.is_empty() || args.names.iter().any(is)
    };
    let entries = filters::all().filter(named);
    if args.json {
        print_json(&entries.map(Described::of).collect::<Vec<_>>())?;
        return Ok(DONE);
    }
    let mut text = String::new();
    if args.names.is_empty() {
        list(&mut text);
    } else {
        entries.for_each(|entry| describe(&mut text, entry));
    }
    print(text.trim_end())?;
    Ok(DONE)
}

/// A filter in JSON.
#[derive(Serialize)]
struct Described {
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    arguments: Vec<Argument>,
    /// Whether it works on luma alone, unless every plane is asked for.
    luma: bool,
    /// How it differs from FFmpeg's filter of that name.
    differs_from_ffmpeg: Option<&'static str>,
}

#[derive(Serialize)]
struct Argument {
    name: &'static str,
    aliases: &'static [&'static str],
    default: Option<&'static str>,
    about: &'static str,
    /// Whether it excludes the other arguments.
    alone: bool,
    /// Whether it may be arithmetic on sizes.
    expression: bool,
}

impl Described {
    fn of(entry: &'static Entry) -> Described {
        let argument = |arg: &Arg| Argument {
            name: arg.name,
            aliases: arg.also,
            default: arg.default,
            about: arg.about,
            alone: arg.alone,
            expression: arg.expression,
        };
        Described {
            name: entry.name,
            aliases: entry.aliases,
            about: entry.about,
            arguments: entry.args.iter().map(argument).collect(),
            luma: entry.role == Role::Luma,
            differs_from_ffmpeg: difference(entry),
        }
    }
}

fn difference(entry: &Entry) -> Option<&'static str> {
    let found = DIFFERENCES.iter().find(|(name, _)| *name == entry.name);
    found.map(|(_, difference)| *difference)
}

fn list(text: &mut String) {
    let rows: Vec<_> = filters::all().map(|e| (e.name, usage(e.args), e)).collect();
    let first = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    // Long arguments do not push all others to the right.
    let second = rows
        .iter()
        .map(|r| r.1.len())
        .filter(|&n| n <= 36)
        .max()
        .unwrap_or(0);
    for (at, (name, usage, entry)) in rows.iter().enumerate() {
        if at == TABLE.len() {
            line(
                text,
                format_args!(
                    "\nBy FFmpeg's names, with FFmpeg's defaults and only these arguments:"
                ),
            );
        }
        line(
            text,
            format_args!("{name:<first$}  {usage:<second$}  {}", entry.about),
        );
    }
    line(text, format_args!("\nDifferent from FFmpeg:"));
    for (name, difference) in DIFFERENCES {
        line(text, format_args!("{name:<first$}  {difference}"));
    }
}

fn usage(args: &[Arg]) -> String {
    let one = |arg: &Arg| match arg.default {
        Some(default) => format!("{}={default}", arg.name),
        None => format!("{}=?", arg.name),
    };
    let (alone, others): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.alone);
    let others = others.into_iter().map(one).collect::<Vec<_>>().join(":");
    let mut ways: Vec<_> = alone.into_iter().map(one).collect();
    if !others.is_empty() {
        ways.push(others);
    }
    ways.join(" or ")
}

fn describe(text: &mut String, entry: &Entry) {
    line(text, format_args!("{}: {}", entry.name, entry.about));
    if !entry.aliases.is_empty() {
        line(
            text,
            format_args!("  also called {}", entry.aliases.join(", ")),
        );
    }
    for arg in entry.args {
        let default = match arg.default {
            Some(default) => format!("{default} by default"),
            None => "required".to_owned(),
        };
        let also = match arg.also {
            [] => String::new(),
            names => format!("; also {}", names.join(", ")),
        };
        line(
            text,
            format_args!("  {:<10} {} ({default}{also})", arg.name, arg.about),
        );
    }
    let chroma = match entry.role {
        Role::EveryPlane => "every plane at its own size",
        Role::Luma => "luma; chroma becomes grey unless --planes each",
    };
    line(text, format_args!("  works on {chroma}"));
    if let Some(difference) = difference(entry) {
        line(text, format_args!("  different from FFmpeg: {difference}"));
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}
