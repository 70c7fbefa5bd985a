//! The greatest of recent values.

/// The greatest value of a window that slides, of which the best three are kept: after Kathleen Nichols' algorithm, which
/// Linux's `lib/win_minmax.c` describes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Maximum {
    best: [(u64, u64); 3],
}

impl Maximum {
    /// The greatest value.
    pub fn get(&self) -> u64 {
        self.best[0].1
    }

    /// `value` at `time`; what is older than `window` is forgotten.
    pub fn update(&mut self, window: u64, time: u64, value: u64) {
        let sample = (time, value);
        if value >= self.best[0].1 || time - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = time - self.best[0].0;
        if age > window {
            self.best = [self.best[1], self.best[2], sample];
            if time - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_for_the_window() {
        let mut maximum = Maximum::default();
        for time in 0..40 {
            maximum.update(10, time, if time == 5 { 100 } else { 10 + time % 3 });
            match time {
                5..=15 => assert_eq!(maximum.get(), 100),
                17.. => assert!(
                    (10..=12).contains(&maximum.get()),
                    "{time}: {}",
                    maximum.get()
                ),
                _ => {}
            }
        }
    }
}
