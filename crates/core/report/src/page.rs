//! Pages of sections, each with a chart or a table.

use crate::markup::escape;
use crate::table::Table;

const STYLE: &str = "
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin: 2em 0 .3em }
p { margin: .3em 0 .8em } svg { width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: currentColor }
.tick { text-anchor: end } .label, .clip { text-anchor: middle }
.grid { stroke: currentColor; opacity: .15 } .reference { stroke: currentColor; stroke-dasharray: 4 3; opacity: .6 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .15em .7em; border-bottom: 1px solid #8884; text-align: right }
td:first-child, th:first-child, td.text, th.text { text-align: left }
";

/// A heading, a sentence, and a chart or table.
pub struct Section {
    /// The heading.
    pub title: String,
    /// What the figures mean.
    pub about: String,
    /// Markup.
    pub body: String,
}

/// A section for each table.
pub fn of_tables(tables: impl IntoIterator<Item = Table>) -> impl Iterator<Item = Section> {
    tables.into_iter().map(|table| Section {
        title: table.title.to_owned(),
        body: table.html(),
        about: table.about,
    })
}

/// A page with a title, a heading, the machine, the version of evener and what it is about, and sections.
pub fn page(
    [title, heading]: [&str; 2],
    [machine, version, about]: [&str; 3],
    sections: &[Section],
) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{}</h1><p>{} \u{b7} evener {version}. {}</p>",
        escape(heading),
        escape(machine),
        escape(about),
    );
    for section in sections {
        page.push_str(&format!(
            "<h2>{}</h2><p>{}</p>{}",
            escape(&section.title),
            escape(&section.about),
            section.body
        ));
    }
    page.push_str("</html>\n");
    page
}
