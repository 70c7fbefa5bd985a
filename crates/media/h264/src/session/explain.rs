//! What is known about a session before it runs.

use std::fmt;

use evener_runtime::quantity::counted;

use crate::config::{Config, Rate};

use super::Session;

/// Formats, filters, tools and rate; made by [`Session::explain`]. `Display` is a few lines.
pub struct Explanation<'a>(pub(super) &'a Session);

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let input = &session.input;
        write!(f, "input   {}: {}, ", input.name(), input.format())?;
        match session.rate.den {
            1 => write!(f, "{} fps", session.rate.num)?,
            den => write!(f, "{}/{den} fps", session.rate.num)?,
        }
        if let Some(frames) = input.frames() {
            write!(f, ", {frames} frames")?;
        }
        if let Some(graph) = &session.graph {
            write!(f, "\ngraph   {graph}")?;
        }
        let sequence = &session.parameters.sequence;
        let coded = session.preprocess.output();
        write!(
            f,
            "\nencode  {coded}, {} profile, level {}, ",
            sequence.profile, sequence.level.name
        )?;
        tools(f, &session.config, sequence.references)?;
        let output = &session.output;
        write!(f, "\noutput  {}: {}", output.name(), output.about())
    }
}

fn tools(f: &mut fmt::Formatter<'_>, config: &Config, references: u8) -> fmt::Result {
    match config.rate {
        Rate::Qp(qp) => write!(f, "QP {qp}")?,
        Rate::Crf(crf) => write!(f, "CRF {crf}")?,
        Rate::Bitrate(bits) => write!(f, "{} kbit/s", bits as f64 / 1e3)?,
    }
    if let Some(vbv) = config.vbv {
        let (rate, size) = (vbv.maxrate as f64 / 1e3, vbv.bufsize as f64 / 1e3);
        write!(f, ", at most {rate} kbit/s into {size} kbit")?;
    }
    let tools = &config.tools;
    write!(
        f,
        "\ntools   {}: {}, sub-pel {}",
        config.preset.name(),
        counted(references.into(), "references"),
        tools.subpel
    )?;
    for (used, name) in [
        (tools.rare_intra, "rare intra in P"),
        (tools.partitions, "partitions"),
        (tools.small_intra, "small intra in P"),
        (tools.trellis, "trellis"),
        (tools.cabac, "CABAC"),
        (tools.transform_8x8, "8x8 transform"),
        (tools.adaptive_qp, "adaptive QP"),
        (tools.deblocking, "deblocking"),
        (tools.scene_cut, "scene cuts"),
    ] {
        if used {
            write!(f, ", {name}")?;
        }
    }
    Ok(())
}
