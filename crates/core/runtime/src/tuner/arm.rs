//! A plan, and the knowledge about it.

use super::belief::Belief;
use crate::plan::Plan;

/// The share of blocks that something else makes slower, and by how much (log): less cannot be told from noise.
const FLUKES: f64 = 0.05;
const FLUKE: std::ops::Range<f64> = 0.2..2.5;
/// A unit that was given up says that its plan costs so much more (log) than it had taken, and the deviation of that.
const CUT: f64 = 0.8;
/// No plan's cost is known better than that (log).
const LEAST_SIGMA: f64 = 0.006;

/// One plan and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) plan: Plan,
    /// Each worker keeps to a processor of its own.
    pub(super) pinned: bool,
    /// It stands for its structure, so that its prediction comes from the model alone.
    pub(super) leads: bool,
    pub(super) belief: Belief,
    /// What was believed before the only outcome, and how likely that outcome met with something else.
    fluke: Option<(f64, Belief)>,
    /// Outcomes since the search was last opened.
    samples: u32,
    /// Experiments in a row that did not tell it from the incumbent. Each is twice as long as the last.
    pub(super) undecided: u32,
    /// It was run; to the end of a unit; for a whole block.
    pub(super) tried: bool,
    pub(super) ran: bool,
    pub(super) measured: bool,
    /// Seconds of the stream when its last outcome came.
    pub(super) seen: f64,
}

impl Arm {
    pub(super) fn new(plan: Plan, pinned: bool, leads: bool, belief: Belief) -> Arm {
        Arm {
            plan,
            pinned,
            leads,
            belief,
            fluke: None,
            samples: 0,
            undecided: 0,
            tried: false,
            ran: false,
            measured: false,
            seen: 0.0,
        }
    }

    /// Takes the logarithm of a block's cost beside the incumbent's, of which `sigma` is the deviation. Meanwhile the
    /// plan's cost has changed with a deviation of `since` (log).
    pub(super) fn observe(&mut self, value: f64, sigma: f64, since: f64) {
        let before = self.belief.wider(since);
        let usual = before.wider(sigma).density(value) * (FLUKE.end - FLUKE.start);
        self.suspect(FLUKE.contains(&(value - before.mu)), usual);
        self.belief = before.and(Belief::new(value, sigma));
        self.belief.sigma = self.belief.sigma.max(LEAST_SIGMA);
        self.measured = true;
    }

    /// A unit was given up when it had taken `ratio` times the incumbent's cost: its plan is believed to cost more.
    pub(super) fn give_up(&mut self, ratio: f64) {
        self.suspect(true, self.belief.chance_above(ratio));
        self.belief = self.belief.and(Belief::new(ratio.ln() + CUT, CUT));
    }

    /// The first outcome may be a fluke, where it has the probability `usual` otherwise.
    fn suspect(&mut self, slower: bool, usual: f64) {
        let chance = FLUKES / (FLUKES + (1.0 - FLUKES) * usual);
        self.fluke = (slower && self.samples == 0).then_some((chance, self.belief));
        self.samples += 1;
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
    }

    /// It cannot be run any more.
    pub(super) fn retire(&mut self) {
        (self.belief, self.fluke) = (Belief::new(10.0, LEAST_SIGMA), None);
    }

    /// The machine has changed: what was measured is what is believed to begin with.
    pub(super) fn reopen(&mut self, shift: f64, sigma: f64) {
        self.belief = Belief::new(self.belief.mu + shift, self.belief.sigma.hypot(sigma));
        (self.fluke, self.samples, self.undecided) = (None, 0, 0);
    }
}
