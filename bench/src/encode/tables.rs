//! The figures as tables, and what they amount to as sentences.

use evener_report::Table;

use super::{ClipResult, EncodeReport, Job, SUBPEL, Way};

/// The depth that sentences are about.
const USUAL: u8 = 5;

impl EncodeReport {
    /// All tables, in the order they are read.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.single(), self.speeds(), self.predictions()]
    }

    fn single(&self) -> Table {
        let empty = self.empty();
        let rows = self.clips.iter().flat_map(|clip| {
            clip.single.iter().map(move |single| {
                vec![
                    clip.name.clone(),
                    single.job.name().to_owned(),
                    single
                        .subpel
                        .map_or_else(String::new, |depth| depth.to_string()),
                    format!("{:.2}", single.own()),
                    format!("{:.2}", single.handed()),
                    format!("{:.2}", single.handed() / single.own()),
                    format!("{:.2}", 100.0 * empty / single.own()),
                ]
            })
        });
        Table {
            title: "Jobs one at a time",
            about: format!(
                "{}, {} rounds; medians. On the calling worker, and handed to another one that is waited for. An empty job \
                 takes {empty:.2} µs until it is done: the last column is that as a share of the job on the calling worker.",
                self.simd, self.rounds
            ),
            head: vec![
                "clip",
                "job",
                "sub-pel",
                "own µs",
                "handed µs",
                "handed/own",
                "empty %",
            ],
            rows: rows.collect(),
        }
    }

    fn speeds(&self) -> Table {
        let rows = self.clips.iter().flat_map(|clip| {
            clip.runs.iter().map(move |run| {
                let fps = clip.fps(run.subpel, run.way, run.workers);
                let gain = clip.gain(run.subpel, run.way, run.workers);
                vec![
                    clip.name.clone(),
                    run.subpel.to_string(),
                    run.way.name().to_owned(),
                    run.way.search.map_or("", Job::name).to_owned(),
                    run.workers.to_string(),
                    fps.map_or_else(String::new, |fps| format!("{fps:.1}")),
                    gain.map_or_else(String::new, |gain| format!("{gain:.3}")),
                ]
            })
        });
        Table {
            title: "Analysis of whole pictures",
            about: format!(
                "Half-pel planes, search and refinement of pictures in memory, {} rounds in which everything takes turns; \
                 medians, speed over a calling worker that does everything by rounds. Half-pel planes are made in jobs of a \
                 row of macroblocks. In jobs of a search, refinement stays with the calling worker.",
                self.rounds
            ),
            head: vec![
                "clip",
                "sub-pel",
                "handed over",
                "job",
                "workers",
                "fps",
                "speed",
            ],
            rows: rows.collect(),
        }
    }

    fn predictions(&self) -> Table {
        let rows = self.clips.iter().flat_map(|clip| {
            clip.predicted.iter().map(move |p| {
                vec![
                    clip.name.clone(),
                    clip.size.clone(),
                    p.workers.to_string(),
                    format!("{:.2}", p.gain),
                    format!("{:.2}", p.alone),
                ]
            })
        });
        Table {
            title: "Predicted for a whole encode",
            about: format!(
                "An encode by one worker, replayed in virtual time in jobs of the best of several sizes, on workers that are \
                 equal and do not slow one another down, if a line of macroblocks that is handed over costs {:.2} µs, as one of empty \
                 steps does here. Alone: how much sooner a picture is done that no other picture is in work beside.",
                self.hand_over()
            ),
            head: vec!["clip", "size", "workers", "speed", "alone"],
            rows: rows.collect(),
        }
    }

    /// A sentence for each clip: from which size of jobs on handing over pays.
    pub fn sentences(&self) -> Vec<String> {
        self.clips.iter().map(|clip| self.sentence(clip)).collect()
    }

    fn sentence(&self, clip: &ClipResult) -> String {
        let name = &clip.name;
        let most = clip.workers().last().copied().unwrap_or(1);
        if most == 1 {
            return format!("{name}: with one worker there is no other to hand jobs to.");
        }
        let speeds: Vec<String> = clip
            .jobs()
            .into_iter()
            .enumerate()
            .filter_map(|(i, job)| {
                let gain = clip.gain(USUAL, Way::search(job), most)?;
                Some(match i {
                    0 => format!(
                        "jobs of a {} are {gain:.2} times as fast as one worker",
                        job.name()
                    ),
                    _ => format!("of a {} {gain:.2}", job.name()),
                })
            })
            .collect();
        let from = |job: Option<Job>| match job {
            Some(job) => format!("from jobs of a {} on", job.name()),
            None => "in jobs of no size".to_owned(),
        };
        let usual = clip.pays_from(USUAL);
        let others: Vec<String> = SUBPEL
            .into_iter()
            .map(|depth| (depth, clip.pays_from(depth)))
            .filter(|(_, job)| *job != usual)
            .map(|(depth, job)| format!(" (at depth {depth} {})", from(job)))
            .collect();
        format!(
            "{name}: handing the search to {most} workers pays {} at sub-pel depth {USUAL}{}: {}.",
            from(usual),
            others.concat(),
            speeds.join(", ")
        )
    }
}
