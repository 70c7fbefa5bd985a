//! Memory that is used for a short while, again and again.

use std::sync::Mutex;

use evener_files::lock;

/// What is not in use. What was put back last is taken first, since it is likely to be in a cache still.
pub struct Spare<T>(Mutex<Vec<T>>);

impl<T> Spare<T> {
    /// There is none.
    pub fn new() -> Spare<T> {
        Spare(Mutex::default())
    }

    /// Takes one, as it was put back, or makes one if there is none.
    pub fn take(&self, make: impl FnOnce() -> T) -> T {
        let last = lock(&self.0).pop();
        last.unwrap_or_else(make)
    }

    /// Puts one back.
    pub fn put(&self, one: T) {
        lock(&self.0).push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_used_next() {
        let spare = Spare::new();
        spare.put(spare.take(|| 1));
        let first = spare.take(|| 2);
        let second = spare.take(|| 3);
        assert_eq!((first, second), (1, 3));
        spare.put(first);
        spare.put(second);
        assert_eq!([spare.take(|| 4), spare.take(|| 4)], [3, 1]);
    }
}
