//! The report: one HTML page with everything in it, drawn from what was measured.

mod sections;
mod svg;

use crate::filters::FilterReport;
use svg::escape;

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

/// The page. Sections without measurements are left out.
pub fn html(report: &FilterReport) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>evener bench filters</title><style>{STYLE}</style><h1>Filter pipelines on this machine</h1>\
         <p>{} \u{b7} evener {}. Times are computation only, f32 planes in memory, medians after warm-up; where several \
         dispatch flavours ran, the fastest counts. Point at a bar or a dot for its value.</p>",
        escape(&report.machine),
        report.version
    );
    for section in sections::all(report) {
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
