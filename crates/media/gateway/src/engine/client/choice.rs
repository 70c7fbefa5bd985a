//! What a client gets of a stream that is too much for it.

use crate::media::{Class, Part};

/// How late sound may be, of the lag that is allowed. Pictures are left out before, so that there is time for it.
pub const SOUND: f64 = 1.25;

/// How far a client is from having room. Each step leaves out more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// There is room for all.
    None,
    /// For all but pictures that no other refers to.
    Some,
    /// For key pictures, sound and tables.
    Much,
    /// For sound and tables.
    Most,
    /// For nothing.
    Full,
}

impl Pressure {
    /// By what a bucket holds, 1 if it is full and less than 0 if bytes are owed, and how late what comes next is, of the
    /// lag that is allowed.
    pub fn new(level: f64, late: f64) -> Pressure {
        if late > SOUND {
            Pressure::Full
        } else if level < -0.5 || late > 1.0 {
            Pressure::Most
        } else if level < 0.0 {
            Pressure::Much
        } else if level < 0.5 || late > 0.5 {
            Pressure::Some
        } else {
            Pressure::None
        }
    }
}

/// Which key pictures a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// None so far.
    None,
    /// None that came later.
    Now,
    /// One that came later.
    Later,
}

/// Which pictures a client gets: whole ones, and none that refers to one that it did not get.
#[derive(Clone, Debug)]
pub struct Choice {
    /// A picture that others refer to was left out, so that the next it gets is a key picture.
    awaits_key: bool,
    /// By class, whether it gets the picture that goes on, if it has its beginning.
    gets: [bool; 3],
    /// Pictures that were left out.
    left_out: u64,
}

impl Choice {
    /// Begins with the next key picture if there will be one, or else with the next picture.
    pub fn new(has_keys: bool) -> Choice {
        Choice {
            awaits_key: has_keys,
            gets: [true; 3],
            left_out: 0,
        }
    }

    /// It gets all as long as there is room.
    pub fn gets_all(&self) -> bool {
        !self.awaits_key && self.gets == [true; 3]
    }

    /// Pictures that were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether it gets a part.
    pub fn gets(&mut self, part: Part, pressure: Pressure, keys: Keys) -> bool {
        let (class, gets) = match part.class {
            Class::Sound | Class::Table => return pressure < Pressure::Full,
            Class::Disposable => (0, pressure < Pressure::Some && !self.awaits_key),
            Class::Reference => (1, pressure < Pressure::Much && !self.awaits_key),
            Class::Key => {
                // The next that it gets is the last that came.
                let is_old = self.awaits_key && keys == Keys::Later;
                (2, pressure < Pressure::Most && !is_old)
            }
        };
        if part.begins {
            if !gets {
                self.left_out += 1;
            }
            if part.class != Class::Disposable {
                self.awaits_key = !gets && keys != Keys::None;
            }
            self.gets[class] = gets;
        }
        self.gets[class]
    }

    /// It is not known what it has.
    pub fn lose(&mut self, has_keys: bool) {
        self.awaits_key = has_keys;
        self.gets = [true; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(class: Class) -> Part {
        Part {
            len: 188,
            class,
            begins: true,
        }
    }

    #[test]
    fn each_step_of_pressure_leaves_out_more() {
        let pressures = [
            (1.0, 0.0, Pressure::None),
            (0.4, 0.0, Pressure::Some),
            (1.0, 0.6, Pressure::Some),
            (-0.1, 0.0, Pressure::Much),
            (-0.6, 0.0, Pressure::Most),
            (1.0, 1.1, Pressure::Most),
            (1.0, 1.3, Pressure::Full),
        ];
        let classes = [
            Class::Disposable,
            Class::Reference,
            Class::Key,
            Class::Sound,
        ];
        for (level, late, expected) in pressures {
            let pressure = Pressure::new(level, late);
            assert_eq!(pressure, expected);
            let got = classes.map(|class| {
                let mut choice = Choice::new(true);
                choice.gets(begins(Class::Key), Pressure::None, Keys::Now);
                choice.gets(begins(class), pressure, Keys::Now)
            });
            let least = Pressure::Full as usize - pressure as usize;
            assert_eq!(got.iter().filter(|&&got| got).count(), least);
            assert!(got.is_sorted());
        }
    }

    #[test]
    fn after_a_picture_that_others_refer_to_only_a_key_picture_goes_on() {
        let mut choice = Choice::new(true);
        assert!(!choice.gets(begins(Class::Reference), Pressure::None, Keys::Now));
        assert!(choice.gets(begins(Class::Key), Pressure::None, Keys::Now));
        assert!(!choice.gets_all());
        assert!(choice.gets(begins(Class::Reference), Pressure::None, Keys::Now));
        assert!(choice.gets_all());
        assert!(!choice.gets(begins(Class::Disposable), Pressure::Some, Keys::Now));
        assert!(choice.gets(begins(Class::Reference), Pressure::Some, Keys::Now));
        assert!(!choice.gets(begins(Class::Reference), Pressure::Much, Keys::Now));
        assert!(!choice.gets(begins(Class::Reference), Pressure::None, Keys::Now));
        assert!(!choice.gets(begins(Class::Disposable), Pressure::None, Keys::Now));
        assert!(choice.gets(begins(Class::Key), Pressure::Much, Keys::Now));
        assert!(choice.gets(begins(Class::Reference), Pressure::None, Keys::Now));
        assert_eq!(choice.left_out(), 5);
        // A stream without key pictures goes on with any.
        assert!(!choice.gets(begins(Class::Reference), Pressure::Much, Keys::None));
        assert!(choice.gets(begins(Class::Reference), Pressure::None, Keys::None));
    }

    #[test]
    fn of_key_pictures_that_wait_the_last_goes_on() {
        let mut choice = Choice::new(true);
        assert!(!choice.gets(begins(Class::Key), Pressure::None, Keys::Later));
        assert!(choice.gets(begins(Class::Key), Pressure::None, Keys::Now));
        assert!(choice.gets(begins(Class::Key), Pressure::None, Keys::Later));
        assert!(!choice.gets(begins(Class::Reference), Pressure::Most, Keys::Later));
        assert!(!choice.gets(begins(Class::Key), Pressure::None, Keys::Later));
        assert!(choice.gets(begins(Class::Key), Pressure::None, Keys::Now));
    }
}
