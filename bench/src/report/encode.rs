//! The sections of the report on analysis in jobs: the published figures, for this machine.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::encode::{ClipResult, EncodeReport, Job, SUBPEL, Way};

/// The figures of each clip, and the tables.
pub fn all(report: &EncodeReport) -> Vec<Section> {
    let clips = report.clips.iter();
    let figures = clips.zip(report.sentences()).flat_map(|(clip, sentence)| {
        let mut sections = vec![sizes(clip, sentence)];
        if clip.workers().len() > 1 {
            sections.push(half_pel(clip));
            for (i, subpel) in SUBPEL.into_iter().enumerate() {
                sections.push(search(clip, subpel, 13 + i));
            }
            sections.extend(SUBPEL.map(|subpel| both(clip, subpel)));
            sections
                .extend([(5, 16), (7, 17)].map(|(subpel, figure)| relative(clip, subpel, figure)));
        }
        sections.push(single(report, clip));
        sections.push(predicted(clip));
        sections
    });
    figures.chain(of_tables(report.tables())).collect()
}

fn names(values: &[u32]) -> Vec<String> {
    values.iter().map(u32::to_string).collect()
}

fn by_workers(clip: &ClipResult, name: String, subpel: u8, way: Way) -> Series {
    let workers = clip.workers();
    let values = workers
        .iter()
        .map(|&workers| clip.fps(subpel, way, workers));
    Series {
        name,
        values: values.collect(),
    }
}

fn sizes(clip: &ClipResult, sentence: String) -> Section {
    let most = clip.workers().last().copied().unwrap_or(1);
    let jobs = clip.jobs();
    let series = SUBPEL.map(|subpel| Series {
        name: format!("sub-pel {subpel}"),
        values: jobs
            .iter()
            .map(|&job| clip.gain(subpel, Way::search(job), most))
            .collect(),
    });
    let jobs: Vec<String> = jobs.iter().map(|job| job.name().to_owned()).collect();
    Section {
        title: format!("Where handing over begins to pay, {}", clip.name),
        about: sentence,
        body: svg::bars(&jobs, &series, "times", Some(1.0)),
    }
}

fn half_pel(clip: &ClipResult) -> Section {
    let series: Vec<Series> = SUBPEL
        .into_iter()
        .flat_map(|subpel| {
            [
                by_workers(clip, format!("{subpel}, own"), subpel, Way::NOTHING),
                by_workers(clip, format!("{subpel}, handed"), subpel, Way::HALF_PEL),
            ]
        })
        .collect();
    Section {
        title: format!("Half-pel planes by sub-pel depth, {} (their figures 6.10 to 6.12)", clip.name),
        about: "Own: the calling worker makes them. Handed: workers do, in jobs of a row of macroblocks.".into(),
        body: svg::lines(&names(&clip.workers()), &series, "fps"),
    }
}

fn by_job(clip: &ClipResult, subpel: u8, way: fn(Job) -> Way) -> Vec<Series> {
    let own = by_workers(clip, "own".into(), subpel, Way::NOTHING);
    let jobs = clip.jobs().into_iter();
    let handed = jobs.map(|job| by_workers(clip, job.name().to_owned(), subpel, way(job)));
    std::iter::once(own).chain(handed).collect()
}

fn search(clip: &ClipResult, subpel: u8, figure: usize) -> Section {
    Section {
        title: format!(
            "Search at sub-pel depth {subpel}, {} (their figure 6.{figure})",
            clip.name
        ),
        about: "By workers and size of jobs. Own: the calling worker searches.".into(),
        body: svg::lines(
            &names(&clip.workers()),
            &by_job(clip, subpel, Way::search),
            "fps",
        ),
    }
}

fn both(clip: &ClipResult, subpel: u8) -> Section {
    Section {
        title: format!(
            "Half-pel planes and search at sub-pel depth {subpel}, {}",
            clip.name
        ),
        about:
            "By workers and size of jobs of the search. Own: the calling worker does everything."
                .into(),
        body: svg::lines(
            &names(&clip.workers()),
            &by_job(clip, subpel, Way::both),
            "fps",
        ),
    }
}

fn relative(clip: &ClipResult, subpel: u8, figure: usize) -> Section {
    let workers = clip.workers();
    let ratio =
        |way, workers| Some(clip.fps(subpel, way, workers)? / clip.fps(SUBPEL[0], way, workers)?);
    let ways = std::iter::once(("own", Way::NOTHING)).chain(
        clip.jobs()
            .into_iter()
            .map(|job| (job.name(), Way::search(job))),
    );
    let series: Vec<Series> = ways
        .map(|(name, way)| Series {
            name: name.to_owned(),
            values: workers.iter().map(|&workers| ratio(way, workers)).collect(),
        })
        .collect();
    Section {
        title: format!(
            "Speed at sub-pel depth {subpel} of that at 2, {} (their figure 6.{figure})",
            clip.name
        ),
        about: "The less deeper refinement costs, the more of the time was handing over.".into(),
        body: svg::lines(&names(&workers), &series, "of the speed at 2"),
    }
}

fn single(report: &EncodeReport, clip: &ClipResult) -> Section {
    let small = |job| matches!(job, Job::Search | Job::Macroblock);
    let shown: Vec<_> = clip
        .single
        .iter()
        .filter(|single| small(single.job))
        .collect();
    // Rows and frames would leave nothing to see of the others; the table has them.
    let shown = match shown.is_empty() {
        true => clip.single.iter().collect(),
        false => shown,
    };
    let groups: Vec<String> = shown
        .iter()
        .map(|single| match single.subpel {
            Some(depth) => format!("{}, {depth}", single.job.name()),
            None => single.job.name().to_owned(),
        })
        .collect();
    let series = [
        Series {
            name: "own".into(),
            values: shown.iter().map(|single| Some(single.own())).collect(),
        },
        Series {
            name: "handed over".into(),
            values: shown.iter().map(|single| Some(single.handed())).collect(),
        },
        Series {
            name: "empty job".into(),
            values: vec![Some(report.empty()); shown.len()],
        },
    ];
    Section {
        title: format!("Time of a job, {} (their figure 6.18)", clip.name),
        about: "By what a job is and sub-pel depth: on the calling worker, handed to another one that is waited for, and a \
                job that does nothing handed over."
            .into(),
        body: svg::bars(&groups, &series, "µs", None),
    }
}

fn predicted(clip: &ClipResult) -> Section {
    let workers: Vec<u32> = clip.predicted.iter().map(|p| p.workers).collect();
    let series = [
        Series {
            name: "clip".into(),
            values: clip.predicted.iter().map(|p| Some(p.gain)).collect(),
        },
        Series {
            name: "a picture alone".into(),
            values: clip.predicted.iter().map(|p| Some(p.alone)).collect(),
        },
    ];
    Section {
        title: format!("Predicted for a whole encode, {}", clip.name),
        about: "An encode by one worker, replayed in virtual time.".into(),
        body: svg::lines(&names(&workers), &series, "times"),
    }
}
