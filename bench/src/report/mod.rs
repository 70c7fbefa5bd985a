//! Reports: HTML pages with everything in them, drawn from what was measured.

mod crypt;
mod encode;
mod gateway;
mod net;
mod product;
mod queens;
mod sections;
mod tuner;

use crate::crypt::CryptReport;
use crate::encode::EncodeReport;
use crate::filters::FilterReport;
use crate::gateway::GatewayReport;
use crate::net::NetReport;
use crate::product::ProductReport;
use crate::queens::QueensReport;
use crate::tuner::TunerReport;
use evener_report::page;

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

/// The page of `evener bench encode`: the published figures for this machine, and the tables.
pub fn encode_html(report: &EncodeReport) -> String {
    page(
        ["evener bench encode", "Encoder analysis on this machine"],
        [
            &report.machine,
            report.version,
            "Half-pel planes and motion search handed over in jobs of a search, a macroblock, a row and a frame.",
        ],
        &encode::all(report),
    )
}

/// The page of `evener bench gateway`: the curves and the table.
pub fn gateway_html(report: &GatewayReport) -> String {
    page(
        ["evener bench gateway", "The gateway on this machine"],
        [
            &report.machine,
            report.version,
            "Streams in UDP that clients of HTTP get, beside others over the kernel's sockets.",
        ],
        &gateway::all(report),
    )
}

/// The page of `evener bench net`: the published figures for this machine, and the table.
pub fn net_html(report: &NetReport) -> String {
    page(
        ["evener bench net", "The network stack on this machine"],
        [
            &report.machine,
            report.version,
            "TCP and UDP of one engine or two, beside others over the same device.",
        ],
        &net::all(report),
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
