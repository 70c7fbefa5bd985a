//! Groups that take too long.

use evener_runtime::Structure;

use super::*;
use crate::structures::{BACKWARD, FARM, GROUPED, TILED};

#[test]
fn a_group_that_takes_too_long_is_redone_under_the_fallback() {
    fn slow_groups(unit: u64, structure: &'static Structure) -> Duration {
        Duration::from_millis(match structure.name {
            "grouped" if unit % 16 == 13 => 100,
            _ => 0,
        })
    }
    each_dispatch(&BOTH, |dispatch, (_, write_inline)| {
        for fallback in [&TILED, &FARM, &GROUPED] {
            let (fours, fallback) = (grouped(dispatch, 1), plan(fallback, dispatch, 9, 1));
            let mut script = Script::new(&[(fallback, 4), (fours, 12)]);
            script.cutoff = Some(Duration::from_millis(80));
            script.fallback = Some(fallback);
            let log = script.log.clone();
            let toy = Toy {
                delay: Some(slow_groups),
                ..four()
            };
            let groups = Arc::clone(&toy.groups);
            let sink = sink(write_inline);
            let rt = runtime();
            let stream = rt.stream(source(32, true)).through(toy);
            let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
            assert_eq!(sink.kept().numbers, (0..32).collect::<Vec<_>>());
            let log = log.lock().unwrap();
            let cut: Vec<_> = log
                .iter()
                .filter_map(|recorded| match recorded {
                    Recorded::CutOff {
                        plan,
                        done,
                        after,
                        redo,
                    } if *plan == fours => Some((*done, *after, *redo)),
                    _ => None,
                })
                .collect();
            assert_eq!(cut.len(), 2, "{log:?}");
            for (done, after, redo) in cut {
                assert_eq!(done, 8);
                assert!(after >= Duration::from_millis(100), "{after:?}");
                // A fallback that is slow as well has four units to share it.
                assert!(redo < Duration::from_millis(80), "{redo:?}");
            }
            // A redone unit counts for the plan that computed it.
            let of = |wanted: Plan| {
                let plans = report.plans.iter().filter(|p| p.plan == wanted);
                plans.map(|p| p.units).sum::<u64>()
            };
            assert_eq!((of(fours), of(fallback)), (16, 16), "{log:?}");
            assert!(groups.lock().unwrap().iter().all(|&group| group == 4));
        }
    });
}

#[test]
fn a_unit_that_takes_too_long_is_redone_in_groups_by_a_fallback() {
    fn slow_backward(_: u64, structure: &'static Structure) -> Duration {
        Duration::from_millis(match structure.name {
            "backward" => 60,
            _ => 0,
        })
    }
    each_dispatch(&BOTH, |dispatch, (inline, _)| {
        let (slow, good) = (plan(&BACKWARD, dispatch, 1, 1), grouped(dispatch, 1));
        let mut script = Script::new(&[(good, 4), (slow, 4)]);
        script.cutoff = Some(Duration::from_millis(50));
        script.fallback = Some(good);
        let log = script.log.clone();
        let toy = Toy {
            delay: Some(slow_backward),
            ..four()
        };
        let groups = Arc::clone(&toy.groups);
        let sink = sink(inline);
        let rt = runtime();
        let stream = rt.stream(source(15, inline)).through(toy);
        let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers, (0..15).collect::<Vec<_>>());
        assert_eq!(report.plans.len(), 1);
        assert_eq!((report.plans[0].plan, report.plans[0].units), (good, 15));
        let log = log.lock().unwrap();
        let cuts = log
            .iter()
            .filter(|r| matches!(r, Recorded::CutOff { plan, done: 0, .. } if *plan == slow))
            .count();
        if inline {
            assert_eq!(cuts, 3, "{log:?}");
            assert_eq!(*groups.lock().unwrap(), [4, 1, 4, 1, 4, 1]);
        } else {
            assert!(cuts >= 3, "{log:?}");
        }
    });
}
