//! `evener plan`

use std::ffi::OsString;
use std::path::Path;

use clap::Subcommand;
use evener_crypt::product;
use evener_image::costs::StageCosts;
use evener_image::graph::Graph;
use evener_image::{Size, session};
use evener_planning::{Elements, Options, Workload, html, plan, text};
use evener_queens::{LARGEST, costs as queens};
use evener_runtime::Topology;

use crate::failure::{DONE, Ended, Failure};
use crate::output::{SideOutput, can_print, check_distinct, file_id, print};
use crate::signals::Signals;
use crate::stderr::note;

/// Plan a machine: which processing elements for which stages
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  evener plan product --elements docs/examples/five-cores.toml
  evener plan filter blur,sobel --elements machine.toml --page plan.html
  evener plan queens 14 --elements machine.toml --json -

The element file lists the kinds of processing elements: what stages cost on
them, their area, their power and how many there can be:

  [[kind]]
  name = \"big\"
  measured = \"avx2\"     # on this machine; or speed, or cycles and mhz
  area = 4.0            # mm2 each
  power = 2.5           # W each
  number = 4            # at most

docs/plan.md describes the whole format. evener plan only measures and predicts;
evener plans lists the plans of streams on this machine.")]
pub struct Args {
    #[command(subcommand)]
    workload: Kind,
}

/// What a machine is planned for.
#[derive(Subcommand)]
enum Kind {
    /// Plan for the product cipher, whose 64 passes can be cut anywhere
    #[command(after_help = "\
Examples:
  evener plan product --elements docs/examples/five-cores.toml
  evener plan product --elements machine.toml --all --json plan.json

A unit is a block of 8 bytes; a step is one pass. The file may group the passes
into stages.")]
    Product(Common),
    #[command(after_help = "\
Examples:
  evener plan queens --elements machine.toml
  evener plan queens 16 --elements machine.toml --page plan.html

A unit is a whole board with one stage. Elements share the boards in proportion
to their speeds.")]
    /// Plan for counting n-queens, which has one stage
    Queens(QueensArgs),
    /// Plan for a filter graph, stage by stage on a luma plane
    #[command(after_help = "\
Examples:
  evener plan filter blur,sobel,threshold=0.3 --elements machine.toml
  evener plan filter blur --size 3840x2160 --elements m.toml --page plan.html

A unit is an 8-bit luma plane. Each stage is one pass over it, as under the plan
`sequential`. The first stage converts codes to values.")]
    Filter(FilterArgs),
}

#[derive(clap::Args)]
struct Common {
    /// Element file, described in docs/plan.md; - for standard input
    #[arg(short, long, value_name = "FILE")]
    elements: OsString,

    /// Print the whole Pareto front (at most 1,000 mappings)
    #[arg(long)]
    all: bool,

    /// Write the plan as JSON; - prints it instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write a page with charts
    #[arg(long, value_name = "FILE.html")]
    page: Option<OsString>,
}

#[derive(clap::Args)]
struct QueensArgs {
    /// Rows of the board to measure with
    #[arg(default_value = "14", value_parser = clap::value_parser!(u32).range(4..=i64::from(LARGEST)))]
    n: u32,

    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct FilterArgs {
    /// Filters joined by commas, as for `evener filter`
    graph: String,

    /// Frame size
    #[arg(long, value_name = "WxH", default_value = "1920x1080", value_parser = size)]
    size: Size,

    #[command(flatten)]
    common: Common,
}

/// Reads `1920x1080`.
pub fn size(text: &str) -> Result<Size, String> {
    let (w, h) = text.split_once('x').unwrap_or_default();
    match (w.parse(), h.parse()) {
        (Ok(w @ 1..=16384), Ok(h @ 1..=16384)) => Ok(Size { w, h }),
        _ => Err("not a size from 1x1 to 16384x16384, as 1920x1080".into()),
    }
}

pub fn run(args: &Args) -> Ended {
    match &args.workload {
        Kind::Product(common) => common.plan(Workload {
            name: "product".into(),
            unit: "a block of 8 bytes".into(),
            steps: product::costs::step_names(),
            measure: &mut |simd| Ok(product::costs::step_costs(simd)),
        }),
        Kind::Queens(QueensArgs { n, common }) => common.plan(Workload {
            name: format!("queens {n}"),
            unit: format!("a board of {n} rows"),
            steps: queens::step_names(),
            measure: &mut |simd| queens::step_costs(*n, simd).map_err(|error| error.to_string()),
        }),
        Kind::Filter(FilterArgs {
            graph,
            size,
            common,
        }) => {
            let parsed =
                Graph::parse(graph).map_err(|error| Failure::from(session::Error::from(error)))?;
            let costs = StageCosts::new(&parsed, *size)?;
            common.plan(Workload {
                name: format!("filter {graph}"),
                unit: format!("a luma plane of {size}"),
                steps: costs.step_names(),
                measure: &mut |simd| Ok(costs.step_costs(simd)),
            })
        }
    }
}

impl Common {
    fn plan(&self, mut workload: Workload<'_>) -> Ended {
        let sides = [
            ("--json", self.json.as_deref()),
            ("--page", self.page.as_deref()),
        ];
        let input = (self.elements != "-").then(|| file_id(&self.elements));
        check_distinct(input.flatten(), None, &sides)?;
        let elements = Elements::read(Path::new(&self.elements))?;
        // A signal leaves no unfinished file.
        let _signals = Signals::take()?;
        let json = self.json.as_deref().map(SideOutput::create).transpose()?;
        let page = self.page.as_deref().map(SideOutput::create).transpose()?;
        let prints = ![&json, &page]
            .into_iter()
            .flatten()
            .any(SideOutput::is_stdout);
        if prints {
            can_print()?;
        }
        for level in elements.levels() {
            note(&format!("measuring {} at {level}", workload.name));
        }
        let options = Options {
            most: (!self.all).then_some(MOST),
        };
        let plan = plan(&elements, &mut workload, options)?;
        if prints {
            print(text(&plan).trim_end())?;
        }
        if let Some(file) = json {
            file.write_json(&plan)?;
        }
        if let Some(file) = page {
            let machine = Topology::detect().machine_key();
            let page = html(&plan, &machine, env!("CARGO_PKG_VERSION"));
            file.write(|out| out.write_all(page.as_bytes()))?;
        }
        for name in [&self.json, &self.page].into_iter().flatten() {
            if *name != "-" {
                note(&format!(
                    "{}: written",
                    evener_files::one_line(&name.to_string_lossy())
                ));
            }
        }
        Ok(DONE)
    }
}

/// Mappings of the front that are shown.
const MOST: usize = 20;
