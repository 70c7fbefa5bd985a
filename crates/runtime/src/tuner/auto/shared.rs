//! Whether another process has a processor for some of the time.
//!
//! It has it for a time slice, and the worker there for the next. Plans that suffer from that differently are not told
//! apart in less than some slices of each, nor by their median units, of which none had to wait.

use std::cmp::Ordering;

use super::super::Totals;
use super::super::drift::Change;
use super::Auto;
use crate::plan::Plan;

/// Seconds of a side of a duel then.
pub(super) const SHARED_SIDE_S: f64 = 24e-3;
/// Fewest units of it: those of longer ones are as long as some slices.
pub(super) const SHARED_SIDE_LEAST: f64 = 4.0;
/// Least cutoff in seconds: a unit of any plan waits for so long if a worker loses its processor in the middle of it.
const SHARED_CUTOFF_S: f64 = 10e-3;
/// A plan on fewer workers that costs at most so much more (log) in short trials is compared with the incumbent for
/// some slices.
const FEWER_CLOSE: f64 = 0.2;
/// The machine has become slower or faster by so much (log) if another process came or went.
const CAME: f64 = 0.2;
/// Seconds from a change of the machine after which there may be a duel more: what is wanted may be what was told
/// before the process went.
const DUEL_EVERY_S: f64 = 0.25;
/// Share of the time since then that duels may have lost, for there to be another at once.
const DUELS_SHARE: f64 = 0.02;

impl Auto {
    /// Another process has come, or gone. Whether it has come.
    pub(super) fn share(&mut self, change: &Change, now: f64) -> bool {
        let by = change.to - change.from;
        if by.abs() > CAME {
            self.shared = by > 0.0;
            self.keep_company(now);
        }
        by > CAME
    }

    /// Duels that time has brought.
    pub(super) fn more_duels(&self, totals: &Totals) -> u32 {
        match self.shared {
            true => ((totals.seconds - self.changed) / DUEL_EVERY_S) as u32,
            false => 0,
        }
    }

    /// Duels have lost so little that one more may tell at once that the process has gone: a plan on a processor beside
    /// it is about as fast as one that leaves that processor to it.
    pub(super) fn duels_are_cheap(&self, totals: &Totals) -> bool {
        let leaves = self.shared && self.incumbent().workers < self.model.workers();
        leaves && self.duels_lost < DUELS_SHARE * (totals.seconds - self.changed)
    }

    /// What an arm of a structure that was run is believed to cost beyond the incumbent (log), if only slices can tell
    /// more.
    pub(super) fn told_by_slices(&self, index: usize, totals: &Totals) -> Option<f64> {
        let x = self.arms[index].belief(self.noise()).mu - self.offset;
        let only = self.takes_slices(&self.arms[index].plan, x, totals) == Some(true);
        (only && !self.new_structure(index)).then_some(x)
    }

    /// Whether a plan that costs `x` (log) more in few units looks better in them than it is. (One on fewer workers
    /// looks worse: the other process is where it was, and not yet on the processor that has become free.)
    pub(super) fn is_flattered(&self, plan: &Plan, x: f64, totals: &Totals) -> bool {
        plan.workers >= self.incumbent().workers && self.takes_slices(plan, x, totals) == Some(true)
    }

    /// Whether only slices can tell of an arm, and there is no duel to be had now.
    pub(super) fn awaits_slices(&self, index: usize, totals: &Totals) -> bool {
        let flattered = |x| self.is_flattered(&self.arms[index].plan, x, totals);
        !self.may_duel(totals) && self.told_by_slices(index, totals).is_some_and(flattered)
    }

    /// Slices have told that an arm costs `wrong` (log) more than was believed, which was believed of others on as many
    /// workers for the same reason.
    pub(super) fn as_wrong_of_others(&mut self, index: usize, wrong: f64) {
        let (workers, noise) = (self.arms[index].plan.workers, self.noise());
        if !self.shared || wrong <= 0.0 || workers == self.incumbent().workers {
            return;
        }
        let others = self.arms.iter_mut().enumerate().filter(|(other, arm)| {
            *other != index && arm.plan.workers == workers && arm.measured() == 0
        });
        others.for_each(|(_, arm)| arm.age(noise, wrong, 0.0));
    }

    /// Whether a plan that costs `x` (log) more in short trials is to be compared for some slices before anything is
    /// made of them. `None` where that is for others to say.
    ///
    /// A farm's units are mostly those of the worker that has a processor to itself, and a worker that has slept gets
    /// one at once for its first slice: both look better in few units than they are.
    pub(super) fn takes_slices(&self, plan: &Plan, x: f64, totals: &Totals) -> Option<bool> {
        if !self.shared || self.side(plan, totals).is_none() {
            return None;
        }
        let incumbent = self.incumbent();
        let flows = plan.structure.flows() != incumbent.structure.flows();
        match plan.workers.cmp(&incumbent.workers) {
            Ordering::Less => Some(x < FEWER_CLOSE),
            Ordering::Greater => Some(x < 0.0),
            Ordering::Equal => (flows && x < 0.0).then_some(true),
        }
    }

    /// A cutoff in seconds, of a plan whose structure is known not to be hopeless.
    pub(super) fn patient(&self, cutoff: f64) -> f64 {
        match self.shared {
            true => cutoff.max(SHARED_CUTOFF_S),
            false => cutoff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{arm_of, auto, short};
    use super::*;
    use crate::structure::FARM;
    use crate::structure::fixtures::TILED;
    use crate::tuner::Totals;
    use crate::tuner::decision::Log;

    #[test]
    fn few_units_are_no_witness_for_farms_and_other_workers_while_a_process_is_there() {
        let (mut auto, totals) = (auto(), Totals::default());
        auto.level.restart(Some(1e-3_f64.ln()));
        assert_eq!(auto.incumbent().structure, &TILED);
        let tiled = auto.incumbent();
        let farm = Plan {
            structure: &FARM,
            ..tiled
        };
        let few = Plan {
            workers: 1,
            ..tiled
        };
        assert_eq!(auto.takes_slices(&farm, -0.5, &totals), None);
        auto.shared = true;
        assert_eq!(auto.takes_slices(&farm, -0.5, &totals), Some(true));
        assert_eq!(auto.takes_slices(&farm, 0.1, &totals), None);
        assert_eq!(auto.takes_slices(&tiled, -0.5, &totals), None);
        assert_eq!(auto.takes_slices(&few, 0.1, &totals), Some(true));
        assert_eq!(auto.takes_slices(&few, 0.3, &totals), Some(false));
        let many = Plan {
            workers: tiled.workers + 1,
            ..tiled
        };
        assert_eq!(auto.takes_slices(&many, -0.5, &totals), Some(true));
        assert_eq!(auto.takes_slices(&many, 0.1, &totals), Some(false));
    }

    /// A duel of a plan on one worker that costs so many times what the incumbent does, which took so many times that
    /// since the process came.
    fn fewer_take_over(times: f64, all_along: f64) -> bool {
        let mut auto = auto();
        auto.neighbours(auto.incumbent);
        let few = few_of(&auto);
        auto.level.restart(Some(1e-3_f64.ln()));
        let came = Change { from: 0.0, to: 0.5 };
        assert!(auto.share(&came, 1.0));
        auto.accompany(&[all_along * 1e-3; 200]);
        let totals = Totals::default();
        if !auto.challenge(few, 0.1, &totals) {
            return false;
        }
        auto.rested(&[1e-3; 32], 9, &totals, &mut Log::new());
        auto.competed(&[times * 1e-3; 32]);
        auto.rested(&[1e-3; 32], 10, &totals, &mut Log::new());
        auto.incumbent == few
    }

    #[test]
    fn fewer_workers_take_over_where_they_are_faster_than_all_have_been_all_along() {
        assert!(fewer_take_over(0.95, 1.0));
        assert!(!fewer_take_over(1.0, 1.0));
        assert!(!fewer_take_over(0.95, 0.9));
        assert!(fewer_take_over(0.85, 0.9));
    }

    fn few_of(auto: &Auto) -> usize {
        let few = auto.arms.iter().position(|arm| arm.plan.workers == 1);
        few.expect("an arm on one worker")
    }

    /// An auto of small units while a process is there, and a plan on one worker or on both.
    fn shared_on(workers: u32) -> (Auto, usize) {
        let mut auto = short();
        auto.neighbours(auto.incumbent);
        auto.level.restart(Some(20e-6_f64.ln()));
        (auto.shared, auto.length) = (true, Some(100_000));
        let (few, many) = (few_of(&auto), auto.incumbent);
        auto.arms[many].probed = Some(1.0);
        if workers == 1 {
            return (auto, few);
        }
        auto.incumbent = few;
        auto.offset = auto.arms[few].belief(auto.noise()).mu;
        (auto, many)
    }

    #[test]
    fn a_plan_on_fewer_workers_is_compared_over_slices_at_once() {
        let totals = Totals::default();
        let (mut auto, few) = shared_on(1);
        auto.arms[few].prior.mu = auto.offset + 0.1;
        assert!(auto.goes_on_end(few, &totals));
        // Not in a stream that is soon over, nor one that is believed to be far slower, nor without the process.
        let (mut auto, few) = shared_on(1);
        auto.arms[few].prior.mu = auto.offset + 0.1;
        auto.length = Some(30_000);
        assert!(!auto.goes_on_end(few, &totals));
        let (mut auto, few) = shared_on(1);
        auto.arms[few].prior.mu = auto.offset + 0.5;
        assert!(!auto.goes_on_end(few, &totals));
        auto.arms[few].prior.mu = auto.offset + 0.1;
        auto.shared = false;
        assert!(!auto.goes_on_end(few, &totals));
    }

    #[test]
    fn what_is_flattered_waits_for_a_duel_and_those_come_back_with_time() {
        let (mut auto, many) = shared_on(2);
        auto.arms[many].prior.mu = auto.offset - 0.5;
        let totals = |seconds| Totals {
            seconds,
            ..Totals::default()
        };
        auto.changed = 1.0;
        assert!(auto.is_flattered(&auto.arms[many].plan, -0.5, &totals(1.0)));
        assert!(!auto.awaits_slices(many, &totals(1.0)));
        while auto.duels < 6 {
            assert!(auto.may_duel(&totals(1.0)));
            auto.duels += 1;
        }
        // Those before have cost so little that there is another, or so much that it has to wait.
        auto.duels_lost = 3e-3;
        assert!(!auto.awaits_slices(many, &totals(1.19)) && auto.awaits_slices(many, &totals(1.1)));
        auto.duels_lost = 0.0;
        auto.incumbent = many;
        assert!(!auto.duels_are_cheap(&totals(2.0)), "no processor is left");
        auto.incumbent = few_of(&auto);
        auto.duels_lost = 1.0;
        assert!(auto.awaits_slices(many, &totals(1.2)));
        assert!(!auto.awaits_slices(many, &totals(1.26)));
        // In three pairs it was twice as fast as the incumbent.
        let judged = |seconds| {
            let mut auto = shared_on(2).0;
            (auto.changed, auto.duels, auto.duels_lost) = (1.0, 6, 1.0);
            (0..3).for_each(|_| auto.arms[many].sample(auto.offset - 0.7, 8));
            let mut log = Log::new();
            auto.judge(many, 9, &totals(seconds), &mut log);
            (auto.incumbent == many, auto.duel.is_some())
        };
        assert_eq!(judged(1.2), (false, false));
        assert_eq!(judged(1.26), (false, true));
        // On fewer workers it looks worse than it is, if anything.
        let (auto, few) = shared_on(1);
        assert!(!auto.is_flattered(&auto.arms[few].plan, -0.5, &totals(1.0)));
    }

    #[test]
    fn pairs_do_not_bring_fewer_workers_that_are_slower_than_all_have_been_all_along() {
        let taken_by_few = |all_along: f64| {
            let (mut auto, few) = shared_on(1);
            auto.share(&Change { from: 0.0, to: 0.5 }, 1.0);
            auto.accompany(&vec![all_along; 20_000]);
            (auto.changed, auto.duels) = (1.0, 6);
            (0..3).for_each(|_| auto.arms[few].sample(auto.offset - 0.2, 8));
            let totals = Totals {
                seconds: 1.0,
                ..Totals::default()
            };
            auto.judge(few, 9, &totals, &mut Log::new());
            auto.incumbent == few
        };
        assert!(taken_by_few(20e-6));
        assert!(!taken_by_few(15e-6));
    }

    #[test]
    fn what_slices_refute_is_not_believed_of_others_on_as_many_workers() {
        let (mut auto, many) = shared_on(2);
        let others: Vec<usize> = (0..auto.arms.len())
            .filter(|&i| i != many && auto.arms[i].plan.workers == 2)
            .collect();
        let mu = |auto: &Auto, i: usize| auto.arms[i].belief(auto.noise()).mu;
        let before: Vec<f64> = others.iter().map(|&i| mu(&auto, i)).collect();
        auto.arms[others[0]].sample(before[0], 8);
        auto.as_wrong_of_others(many, 0.4);
        assert!((mu(&auto, others[0]) - before[0]).abs() < 1e-9, "measured");
        assert!(others.len() > 1);
        for (&i, before) in others.iter().zip(&before).skip(1) {
            assert!((mu(&auto, i) - before - 0.4).abs() < 1e-9);
        }
        auto.as_wrong_of_others(many, -0.4);
        assert!((mu(&auto, others[1]) - before[1] - 0.4).abs() < 1e-9);
    }

    #[test]
    fn sides_are_some_time_slices_long_and_cutoffs_longer_than_one_while_a_process_is_there() {
        let mut auto = auto();
        auto.level.restart(Some(1e-3_f64.ln()));
        let plan = auto.arms[arm_of(&auto, &FARM)].plan;
        let of = |auto: &Auto| (auto.side(&plan, &Totals::default()), auto.patient(2e-3));
        let quiet = of(&auto);
        assert!(quiet.0.unwrap() < 20 && quiet.1 == 2e-3, "{quiet:?}");
        let change = |to: f64| Change { from: 0.0, to };
        auto.share(&change(0.1), 1.0);
        assert_eq!(of(&auto), quiet);
        auto.share(&change(0.5), 1.0);
        assert_eq!(of(&auto), (Some(23), 10e-3));
        auto.share(&change(-0.1), 1.0);
        assert_eq!(of(&auto), (Some(23), 10e-3));
        auto.share(&change(-0.5), 1.0);
        assert_eq!(of(&auto), quiet);
    }
}
