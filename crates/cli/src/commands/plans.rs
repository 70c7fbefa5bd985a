//! `evener plans`

use std::fmt::Write;

use evener_runtime::Dispatch;

use crate::failure::{DONE, Ended};
use crate::output::print;
use crate::structures;

/// List the plans a stream can run under
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener filter blur,sobel -i in.y4m -o out.y4m --plan tiled
  evener filter blur,sobel -i in.y4m -o out.y4m --plan tiled/steal/34
  evener filter blur,sobel -i in.y4m -o out.y4m --explain

The last one prints what auto chooses, and why. See also: evener plan, which
plans a machine.")]
pub struct Args {}

pub fn run() -> Ended {
    let mut text = String::from("--plan auto, or NAME, NAME/DISPATCH, NAME/DISPATCH/GRAIN\n");
    text.push_str("\nNAME\n");
    line(
        &mut text,
        "auto",
        "measure the plans, pick the fastest and keep checking",
    );
    for structure in structures::all() {
        let only = structures::commands_with(structure);
        line(
            &mut text,
            structure.name,
            &format!("{}{only}", structure.about),
        );
    }
    text.push_str("\nDISPATCH\n");
    for dispatch in Dispatch::ALL {
        line(&mut text, dispatch.name(), dispatch.about());
    }
    text.push_str("\nGRAIN\n");
    line(&mut text, "N", "items per job; for filters, output rows");
    line(
        &mut text,
        "",
        "for pipeline, the fewest steps per stage; surplus workers run parallel pipelines",
    );
    print(text.trim_end())?;
    Ok(DONE)
}

fn line(text: &mut String, name: &str, about: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {name:<16} {about}");
}
