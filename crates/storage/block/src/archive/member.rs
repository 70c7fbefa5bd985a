//! A disk image in a tar that is read at any place.

use super::entry::Entry;
use crate::error::Error;
use crate::file::ImageFile;

/// A file of a tar.
#[derive(Debug)]
pub struct Member {
    tar: Box<ImageFile>,
    entry: Entry,
}

impl Member {
    /// A file of `tar`.
    pub fn new(tar: ImageFile, entry: Entry) -> Member {
        let tar = Box::new(tar);
        Member { tar, entry }
    }

    /// The tar.
    pub fn tar(&self) -> &ImageFile {
        &self.tar
    }

    /// Fills `room` from byte `at` on. All of it lies before the end.
    ///
    /// # Errors
    /// The tar cannot be read, or has become shorter.
    pub fn read(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let (mut at, mut room) = (at, room);
        while !room.is_empty() {
            let (place, end) = self.entry.place(at);
            let len = (end - at).min(room.len() as u64) as usize;
            let (part, rest) = room.split_at_mut(len);
            match place {
                Some(place) => drop(self.tar.read(place, part)?),
                None => part.fill(0),
            }
            (at, room) = (at + len as u64, rest);
        }
        Ok(())
    }

    /// The first byte from `at` on that is in no hole; its size if there is none.
    pub fn data_from(&self, at: u64) -> u64 {
        let mut at = at;
        while at < self.entry.size() {
            let (place, end) = self.entry.place(at);
            if let Some(place) = place {
                let data = self.tar.data_from(place) - place;
                if data < end - at {
                    return at + data;
                }
            }
            at = end;
        }
        at
    }

    /// Tells the system that these bytes will be read soon.
    pub fn will_need(&self, at: u64, len: u64) {
        if let (Some(place), end) = self.entry.place(at) {
            self.tar.will_need(place, len.min(end - at));
        }
    }
}
