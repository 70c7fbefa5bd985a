//! The figures beside those of the published driver.

use super::{BlockReport, GROUP};
use crate::stats::median_of;
use evener_report::Table;

/// What the published driver took for a block of 64 KiB, with an accelerator and without, in microseconds, and for 512
/// KiB on one element and, estimated, on four.
const PUBLISHED_BLOCK: [u32; 2] = [535, 636];
const PUBLISHED_LARGE: [u32; 2] = [5086, 1423];

impl BlockReport {
    /// All tables, in the order they are read.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.blocks(), self.large(), self.predicted()]
    }

    fn blocks(&self) -> Table {
        let mut rows: Vec<Vec<String>> = self
            .images
            .iter()
            .map(|image| {
                vec![
                    image.name.clone(),
                    image.codec.clone(),
                    image.block.to_string(),
                    format!("{:.1}", image.decode_us),
                    format!("{:.1}", image.request_us),
                ]
            })
            .collect();
        let [with, without] = PUBLISHED_BLOCK;
        for (what, took) in [("accelerator", with), ("CPU", without)] {
            let name = format!("the published driver, {what}");
            let cells = [
                name,
                "lzo".into(),
                "65536".into(),
                String::new(),
                took.to_string(),
            ];
            rows.push(cells.into());
        }
        let hand_over: Vec<String> = self
            .hand_over
            .iter()
            .map(|h| format!("{:.2} µs on {}", h.batch_us, h.workers))
            .collect();
        Table {
            title: "A block",
            about: format!(
                "Medians in microseconds: decoding packed bytes that are in memory, and a request from its look-up to bytes \
                 that were checked. A batch of eight empty jobs takes {}.",
                hand_over.join(", ")
            ),
            head: vec!["image", "codec", "bytes", "decode", "request"],
            rows,
        }
    }

    fn large(&self) -> Table {
        let mut rows = Vec::new();
        for image in &self.images {
            for large in &image.large {
                rows.push(vec![
                    image.name.clone(),
                    image.codec.clone(),
                    large.workers.to_string(),
                    format!("{:.0}", median_of(large.rounds_us.iter().copied())),
                    format!("{:.2}", large.gain),
                    format!("{:.2}", large.gain_after_pause),
                    format!("{:.0}", median_of(large.device.iter().copied())),
                ]);
            }
        }
        let [one, four] = PUBLISHED_LARGE;
        for (workers, took) in [(1, one), (4, four)] {
            let gain = f64::from(one) / f64::from(took);
            rows.push(vec![
                "the published driver".into(),
                "lzo".into(),
                format!("{workers}{}", if workers > 1 { ", estimated" } else { "" }),
                took.to_string(),
                format!("{gain:.2}"),
                String::new(),
                String::new(),
            ]);
        }
        Table {
            title: "Requests of 512 KiB, and up to 256 MiB of the device by 1 MiB",
            about: format!(
                "Medians of {} rounds in which everything takes turns, requests by {GROUP} at a time. Gain: over one worker, \
                 request by request; the first of each turn finds workers asleep. The device in MB a second, its zeros too.",
                self.rounds
            ),
            head: vec![
                "image",
                "codec",
                "workers",
                "µs",
                "gain",
                "after a pause",
                "device",
            ],
            rows,
        }
    }

    fn predicted(&self) -> Table {
        let rows = self.images.iter().flat_map(|image| {
            image.predicted.iter().map(|predicted| {
                let measured = image.large.iter().find(|l| l.workers == predicted.workers);
                vec![
                    image.name.clone(),
                    predicted.workers.to_string(),
                    format!("{:.2}", predicted.gain),
                    measured.map_or_else(String::new, |large| format!("{:.2}", large.gain)),
                ]
            })
        });
        Table {
            title: "Requests of 512 KiB on other numbers of workers",
            about: "Predicted from what each block of a request takes by itself and what the hand-over takes here."
                .into(),
            head: vec!["image", "workers", "predicted gain", "measured"],
            rows: rows.collect(),
        }
    }
}
