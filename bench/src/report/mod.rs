//! Reports: HTML pages with everything in them, drawn from what was measured.

mod crypt;
mod product;
mod queens;
mod sections;
mod svg;
mod tuner;

use crate::crypt::CryptReport;
use crate::filters::FilterReport;
use crate::markup::escape;
use crate::product::ProductReport;
use crate::queens::QueensReport;
use crate::tuner::TunerReport;
use sections::Section;

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

/// The page of `evener bench filters`. Sections without measurements are left out.
pub fn html(report: &FilterReport) -> String {
    let about = "Times are computation only, f32 planes in memory, medians after warm-up; where several dispatch \
                 flavours ran, the fastest counts. Point at a bar or a dot for its value.";
    page(
        ["evener bench filters", "Filter pipelines on this machine"],
        [&report.machine, report.version, about],
        &sections::all(report),
    )
}

/// The page of `evener bench tuner`. Parts that were not measured are left out.
pub fn tuner_html(report: &TunerReport) -> String {
    let about = format!(
        "{} workers, {} rounds in which all that is compared takes turns; f32 planes in memory, no remembered plans.",
        report.workers, report.rounds
    );
    page(
        ["evener bench tuner", "The tuner on this machine"],
        [&report.machine, report.version, &about],
        &tuner::all(report),
    )
}

/// The page of `evener bench crypt`: throughput by size of jobs for each number of workers, and the table.
pub fn crypt_html(report: &CryptReport) -> String {
    page(
        ["evener bench crypt", "Encryption on this machine"],
        [
            &report.machine,
            report.version,
            "How jobs reach workers, measured on AES in counter mode.",
        ],
        &crypt::all(report),
    )
}

/// The page of `evener bench product`: gains by length and by workers, measured and predicted, and the tables.
pub fn product_html(report: &ProductReport) -> String {
    page(
        ["evener bench product", "A cipher pipeline on this machine"],
        [
            &report.machine,
            report.version,
            "A cipher of 64 passes on one worker, in pipelines and in a farm.",
        ],
        &product::all(report),
    )
}

/// The page of `evener bench queens`: what is predicted by workers, and the tables.
pub fn queens_html(report: &QueensReport) -> String {
    page(
        ["evener bench queens", "N-queens on this machine"],
        [
            &report.machine,
            report.version,
            "A search of uneven jobs, cut coarsely and finely.",
        ],
        &queens::all(report),
    )
}

fn page(
    [title, heading]: [&str; 2],
    [machine, version, about]: [&str; 3],
    sections: &[Section],
) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{heading}</h1><p>{} \u{b7} evener {version}. {about}</p>",
        escape(machine),
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
