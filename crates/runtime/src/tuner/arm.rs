//! One plan and what is known of it.

use super::belief::Belief;
use crate::plan::Plan;

/// The share of blocks that something else makes slower, and by how much (log): less cannot be told from noise.
const FLUKES: f64 = 0.05;
const FLUKE: std::ops::Range<f64> = 0.2..2.5;
/// What a unit that was given up says: how far beyond (log) its cost is believed to be, and the deviation.
const CUT_BEYOND: f64 = 0.8;
const CUT_SIGMA: f64 = 0.8;
/// No plan's cost is known better than that (log).
const LEAST_SIGMA: f64 = 0.006;

/// One plan and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) plan: Plan,
    /// Each worker keeps to a processor of its own.
    pub(super) pinned: bool,
    pub(super) belief: Belief,
    /// It stands for its structure, so that its prediction comes from the model alone.
    pub(super) leads: bool,
    /// What being given up says, until a whole block was measured.
    cut: Option<Belief>,
    /// What was believed before the only sample, and how likely that sample met with something else.
    fluke: Option<(f64, Belief)>,
    /// Samples since the search was last opened.
    pub(super) samples: u32,
    /// A whole block was measured at some time.
    pub(super) measured: bool,
    /// It was run, and to the end of a unit.
    pub(super) tried: bool,
    pub(super) ran: bool,
    /// How many times its blocks have doubled.
    pub(super) grown: u32,
    /// Seconds of the stream when it was last measured.
    pub(super) seen: f64,
    /// Its first trial, and its rejection, are in the log.
    pub(super) announced: bool,
    pub(super) rejected: bool,
}

impl Arm {
    pub(super) fn new(plan: Plan, pinned: bool, leads: bool, belief: Belief) -> Arm {
        Arm {
            plan,
            pinned,
            belief,
            leads,
            cut: None,
            fluke: None,
            samples: 0,
            measured: false,
            tried: false,
            ran: false,
            grown: 0,
            seen: 0.0,
            announced: false,
            rejected: false,
        }
    }

    /// Takes the logarithm of a block's cost beside the incumbent's, of which `sigma` is the deviation. Meanwhile the
    /// plan's cost has changed with a deviation of `since` (log).
    pub(super) fn observe(&mut self, value: f64, sigma: f64, since: f64) {
        let before = self.belief.wider(since);
        let usual = before.wider(sigma);
        let density = usual.density(value) * (FLUKE.end - FLUKE.start);
        self.suspect(FLUKE.contains(&(value - before.mu)), density);
        self.belief = before.and(Belief::new(value, sigma));
        self.belief.sigma = self.belief.sigma.max(LEAST_SIGMA);
        self.samples += 1;
        self.measured = true;
    }

    /// A unit was given up when it had taken `ratio` times the incumbent's cost: its plan is believed to cost more.
    pub(super) fn give_up(&mut self, ratio: f64) {
        self.suspect(true, self.belief.chance_above(ratio));
        let evidence = Belief::new(ratio.ln() + CUT_BEYOND, CUT_SIGMA);
        self.cut = Some(self.cut.map_or(evidence, |cut| cut.and(evidence)));
        self.belief = self.belief.and(evidence);
        self.samples += 1;
    }

    /// The first outcome may be a fluke, where it has the probability `usual` otherwise.
    fn suspect(&mut self, slower: bool, usual: f64) {
        let chance = FLUKES / (FLUKES + (1.0 - FLUKES) * usual);
        self.fluke = (slower && self.samples == 0).then_some((chance, self.belief));
    }

    /// What is predicted for a plan that was not measured yet.
    pub(super) fn predict(&mut self, belief: Belief) {
        self.belief = self.cut.map_or(belief, |cut| belief.and(cut));
    }

    /// What the plan may cost, each with its chance, where `stale` is how likely its cost has changed since it was
    /// measured, by `shift` (log).
    pub(super) fn outcomes(&self, stale: f64, shift: f64) -> [(f64, Belief); 3] {
        let (fluke, hoped) = self.fluke.unwrap_or((0.0, self.belief));
        let known = 1.0 - fluke;
        [
            (known * (1.0 - stale), self.belief),
            (known * stale, self.belief.wider(shift)),
            (fluke, hoped),
        ]
    }

    /// Costs count from another incumbent's, which costs `mu` (log) of the old one's.
    pub(super) fn rebase(&mut self, mu: f64) {
        self.belief.mu -= mu;
        if let Some((_, hoped)) = &mut self.fluke {
            hoped.mu -= mu;
        }
        if let Some(cut) = &mut self.cut {
            cut.mu -= mu;
        }
    }

    /// It cannot be run any more.
    pub(super) fn retire(&mut self) {
        self.belief = Belief::new(10.0, LEAST_SIGMA);
        (self.fluke, self.rejected, self.announced) = (None, true, true);
    }

    /// The search is opened again: what was measured is what is believed to begin with.
    pub(super) fn reopen(&mut self, shift: f64, sigma: f64) {
        self.belief = Belief::new(self.belief.mu + shift, self.belief.sigma.hypot(sigma));
        self.fluke = None;
        self.samples = 0;
        self.announced = false;
        self.rejected = false;
    }
}
