//! The structures that `--plan` can name, and the commands that run in them.

use evener_runtime::{Choice, Structure};

/// The structures of each service, by the command that runs it.
pub static SERVICES: [(&str, &[&Structure]); 6] = [
    ("filter", &evener_image::structures::ALL),
    ("encode", &evener_h264::service::STRUCTURES),
    ("encrypt", &evener_crypt::bulk::STRUCTURES),
    ("product", &evener_crypt::product::STRUCTURES),
    ("image", &evener_block::STRUCTURES),
    ("queens", &evener_queens::STRUCTURES),
];

/// Every structure once.
pub fn all() -> Vec<&'static Structure> {
    let mut all: Vec<&Structure> = Vec::new();
    for structure in SERVICES.iter().flat_map(|(_, structures)| *structures) {
        if !all.contains(structure) {
            all.push(structure);
        }
    }
    all
}

/// Which commands can run in a structure: ` (only product)` or ` (not encode)`, whichever is shorter; empty for all.
pub fn commands_with(structure: &Structure) -> String {
    let (with, without): (Vec<_>, Vec<_>) = SERVICES
        .iter()
        .partition(|(_, all)| all.contains(&structure));
    let names = |commands: &[&(&str, _)]| {
        let names: Vec<&str> = commands.iter().map(|(command, _)| *command).collect();
        names.join(", ")
    };
    match without.len() {
        0 => String::new(),
        few if few < with.len() => format!(" (not {})", names(&without)),
        _ => format!(" (only {})", names(&with)),
    }
}

/// A value of `--plan`. Structures of all services are accepted here; the service itself refuses those that it lacks.
pub fn plan(text: &str) -> Result<Choice, String> {
    let choice = text.parse::<Choice>();
    choice
        .and_then(|choice| choice.among(&all()))
        .map_err(|e| e.to_string())
}
