//! The first page of help: the commands under headings.

use std::fmt::Write;

use clap::Command;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Video", &["filter", "filters", "encode", "gateway"]),
    (
        "Files and disks",
        &[
            "encrypt", "decrypt", "keygen", "inspect", "rewrap", "ctr", "image",
        ],
    ),
    ("Network", &["net"]),
    (
        "Studies (workloads of published papers)",
        &["queens", "product", "plan"],
    ),
    (
        "Tools",
        &[
            "plans",
            "topology",
            "config",
            "completions",
            "man",
            "bench",
            "help",
        ],
    ),
];

/// The command, whose help lists the commands below it under headings.
pub fn grouped(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for name in names {
            if let Some(about) = about(&command, name) {
                let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {about}");
            }
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(text)
}

/// What a command does, if this build has it. `help` is clap's own.
fn about(command: &Command, name: &str) -> Option<String> {
    match name {
        "help" => Some("Print the help of a command".to_owned()),
        _ => Some(command.find_subcommand(name)?.get_about()?.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;

    #[test]
    fn every_command_is_in_one_group_and_fits_a_line() {
        let all = Cli::command_for_all();
        let visible = all.get_subcommands().filter(|it| !it.is_hide_set());
        for command in visible {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
        let page = all.clone().render_help().to_string();
        for (group, _) in GROUPS {
            assert!(page.contains(&format!("\n{group}:\n  ")), "{page}");
        }
        let commands = page.split("\nOptions:").next().unwrap_or_default();
        let widest = commands.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{page}");
    }
}
