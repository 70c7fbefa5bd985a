//! MPEG-2 and MPEG-1 video (Rec. ITU-T H.262, clause 6.2).

use crate::media::Class;

/// What is known of a picture when some of what follows start codes is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    picture: Option<Class>,
    sequence: bool,
}

impl Seen {
    /// Looks at one more, from the start code's last byte; the first bytes are enough.
    pub fn unit(&mut self, unit: &[u8]) {
        match unit {
            // Ten bits of reference, then three of `picture_coding_type`.
            [0, _, kind, ..] if self.picture.is_none() => {
                self.picture = match kind >> 3 & 7 {
                    1 => Some(Class::Key),
                    3 => Some(Class::Disposable),
                    _ => Some(Class::Reference),
                };
            }
            [0xb3, ..] => self.sequence = true,
            _ => {}
        }
    }

    /// The class. `entry` says that the container has a mark that decoding may begin here.
    pub fn class(&self, entry: bool) -> Class {
        match self.picture {
            Some(class) => class,
            None if entry || self.sequence => Class::Key,
            None => Class::Reference,
        }
    }
}
