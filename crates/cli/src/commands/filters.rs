//! `evener filters`

use std::fmt::Write;

use clap::builder::{PossibleValue, PossibleValuesParser};
use evener_image::filters::{Arg, Entry, Role, TABLE};

use crate::failure::{DONE, Ended};
use crate::output::print;

/// List the filters, with their arguments
#[derive(clap::Args)]
#[command(after_help = "\
Filters are joined by commas. Arguments follow an equals sign and are joined by colons, in the order shown or by name:
  rotate=6    rotate=degrees=6    threshold=0.3:below    crop=w=640:h=360
Values go from 0 (black) to 1 (white). Of 8 bits these are the codes 16 to 235 in limited range, 0 to 255 in full range.
The input says which range it has. For y4m that does not, limited range is assumed, and full range for mono.

Examples:
  evener filters
  evener filters crop threshold")]
pub struct Args {
    /// Describe these filters and each of their arguments
    #[arg(value_name = "FILTER", value_parser = names(), hide_possible_values = true)]
    names: Vec<String>,
}

fn names() -> PossibleValuesParser {
    let value = |e: &Entry| PossibleValue::new(e.name).aliases(e.aliases);
    TABLE.iter().map(value).collect::<Vec<_>>().into()
}

pub fn run(args: &Args) -> Ended {
    let mut text = String::new();
    if args.names.is_empty() {
        let rows: Vec<_> = TABLE.iter().map(|e| (e.name, usage(e.args), e)).collect();
        let width = |f: fn(&(&str, String, &Entry)) -> usize| rows.iter().map(f).max().unwrap_or(0);
        let (first, second) = (width(|r| r.0.len()), width(|r| r.1.chars().count()));
        for (name, usage, entry) in &rows {
            line(
                &mut text,
                format_args!("{name:<first$}  {usage:<second$}  {}", entry.about),
            );
        }
    }
    for name in &args.names {
        let is = |e: &&Entry| e.name == name || e.aliases.contains(&name.as_str());
        TABLE
            .iter()
            .filter(is)
            .for_each(|entry| describe(&mut text, entry));
    }
    print(text.trim_end())?;
    Ok(DONE)
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
            Some(default) => format!("{default} unless given"),
            None => "must be given".to_owned(),
        };
        line(
            text,
            format_args!("  {:<10} {} ({default})", arg.name, arg.about),
        );
    }
    let chroma = match entry.role {
        Role::EveryPlane => "every plane at its own size",
        Role::Luma => "luma; chroma becomes grey unless --planes each",
    };
    line(text, format_args!("  works on {chroma}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}
