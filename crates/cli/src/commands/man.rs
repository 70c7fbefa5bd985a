//! `evener man`

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use evener_files::{error_text, one_line};

use crate::Cli;
use crate::failure::{DONE, Ended, Failure};

/// Write a manual page for every command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener man ~/.local/share/man/man1 && man evener-filter
  man -l ~/.local/share/man/man1/evener-filter.1

man finds pages in ~/.local/share/man if ~/.local/bin is in $PATH. Anywhere
else, add the directory above man1 to $MANPATH.")]
pub struct Args {
    /// Directory for the pages; created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: &Args) -> Ended {
    let mut all = Cli::command_for_all().disable_help_subcommand(true);
    all.build();
    let pages = fs::create_dir_all(&args.folder).and_then(|()| write(&all, &args.folder));
    pages.map_err(|error| {
        let folder = one_line(&args.folder.display().to_string());
        Failure::running(format!("cannot write to {folder}: {}", error_text(&error)))
    })?;
    Ok(DONE)
}

/// Writes the pages of a command and of those below it.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    let below = command.get_subcommands().filter(|it| !it.is_hide_set());
    below.into_iter().try_for_each(|it| write(it, folder))?;
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        sections(&text.to_string()).to_writer(&mut page)?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    File::create(folder.join(man.get_filename()))?.write_all(&page)
}

/// What stands behind the options in a help text: a paragraph with a title is a section, and indented lines stay lines.
fn sections(text: &str) -> Roff {
    let mut page = Roff::new();
    let mut in_notes = false;
    for paragraph in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let title = first.strip_suffix(':').filter(|_| rest.starts_with("  "));
        let lines = match title {
            Some(title) if !title.contains(' ') => {
                page.control("SH", [title.to_uppercase().as_str()]);
                in_notes = false;
                rest
            }
            _ => {
                page.control(
                    if in_notes { "PP" } else { "SH" },
                    if in_notes { vec![] } else { vec!["NOTES"] },
                );
                in_notes = true;
                paragraph
            }
        };
        let mut as_they_are = false;
        for line in lines.lines() {
            let indented = line.starts_with("  ");
            if indented != as_they_are {
                let (ends, begins) = (["fi", "RE"], ["RS", "nf"]);
                let requests = if indented { begins } else { ends };
                requests.into_iter().for_each(|it| {
                    page.control(it, []);
                });
                as_they_are = indented;
            }
            page.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        if as_they_are {
            page.control("fi", []);
            page.control("RE", []);
        }
    }
    page
}
