//! MP4 files of one video track (ISO/IEC 14496-12, -14 and -15).
//!
//! Pictures are collected in chunks, and each chunk is an `mdat` box of its own. So nothing is written twice and nothing
//! sought, and a file of any length, or a pipe, can be written. The index follows at the end.

mod index;
mod track;

use std::io;

use evener_files::{Error, Target, write_whole};
use evener_mp4::Boxes;

use crate::annex_b::{is, nal_units};
use crate::bits::NalType;
use crate::unit::CodedPicture;

use index::Index;
pub use track::Track;

/// Bytes from which on a chunk is written.
const CHUNK: usize = 1 << 20;

/// Bytes of the length and the name of a box.
const HEADER: usize = 8;

/// Writes pictures of H.264 into an MP4 file.
pub struct Mp4Writer<W: Target> {
    out: W,
    name: String,
    track: Track,
    /// The first parameter sets, of the sequence and of its pictures.
    parameters: Option<[Vec<u8>; 2]>,
    index: Index,
    /// The chunk that is collected: the header of its box, then pictures.
    chunk: Vec<u8>,
    /// Bytes written.
    written: u64,
    /// A write failed, so a part of a box may be at the end.
    broken: bool,
    finished: bool,
}

impl<W: Target> Mp4Writer<W> {
    /// Writes to `out`, which errors call `name`.
    pub fn new(out: W, name: impl Into<String>, track: Track) -> Mp4Writer<W> {
        Mp4Writer {
            out,
            name: name.into(),
            track,
            parameters: None,
            index: Index::default(),
            chunk: vec![0; HEADER],
            written: 0,
            broken: false,
            finished: false,
        }
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pictures written.
    pub fn pictures(&self) -> u64 {
        self.index.pictures()
    }

    /// The output below.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a picture. Parameter sets are those of the first: a stream has the same ones throughout.
    ///
    /// # Errors
    /// The system cannot write.
    pub fn write(&mut self, picture: &CodedPicture) -> Result<(), Error> {
        let begin = self.chunk.len();
        let mut sets = [None, None];
        for unit in nal_units(&picture.bytes) {
            if is(unit, NalType::Sequence) {
                sets[0] = Some(unit);
            } else if is(unit, NalType::Picture) {
                sets[1] = Some(unit);
            } else if !is(unit, NalType::Delimiter) {
                self.chunk
                    .extend_from_slice(&(unit.len() as u32).to_be_bytes());
                self.chunk.extend_from_slice(unit);
            }
        }
        if let (None, [Some(sequence), Some(picture)]) = (&self.parameters, sets) {
            self.parameters = Some([sequence.to_vec(), picture.to_vec()]);
        }
        self.index.add(self.chunk.len() - begin, picture.key);
        match self.chunk.len() >= CHUNK {
            true => self.write_chunk(),
            false => Ok(()),
        }
    }

    /// Writes what is collected and the index, and gives a file its name. A second call does nothing.
    ///
    /// # Errors
    /// The system cannot write, or could not before, or cannot put the file in place.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        self.write_chunk()?;
        let [sequence, picture] = self.parameters.clone().unwrap_or_default();
        let mut boxes = Boxes::default();
        self.track
            .describe(&mut boxes, [&sequence, &picture], &self.index);
        self.put(&boxes.into_bytes())?;
        let committed = self
            .out
            .flush()
            .and_then(|()| self.out.commit(self.written));
        committed.map_err(|reason| Error::Commit {
            name: self.name.clone(),
            reason,
        })?;
        self.finished = true;
        Ok(())
    }

    fn write_chunk(&mut self) -> Result<(), Error> {
        if self.written == 0 {
            let mut boxes = Boxes::default();
            boxes.file_type(b"isom", b"isomiso2avc1mp41");
            self.put(&boxes.into_bytes())?;
        }
        if self.chunk.len() == HEADER {
            return Ok(());
        }
        let mut chunk = std::mem::take(&mut self.chunk);
        let length = chunk.len() as u32;
        chunk[..4].copy_from_slice(&length.to_be_bytes());
        chunk[4..HEADER].copy_from_slice(b"mdat");
        self.index.end_chunk(self.written + HEADER as u64);
        let put = self.put(&chunk);
        chunk.truncate(HEADER);
        self.chunk = chunk;
        put
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let put = match self.broken {
            true => Err((0, io::Error::other("an earlier write failed"))),
            false => write_whole(&mut self.out, bytes),
        };
        self.broken = put.is_err();
        let taken = put
            .as_ref()
            .map_or_else(|failed| failed.0, |()| bytes.len() as u64);
        self.written += taken;
        put.map_err(|(_, reason)| Error::of_write(&self.name, self.written, reason))
    }
}

#[cfg(test)]
mod tests {
    use evener_image::Ratio;

    use super::*;
    use crate::syntax::{LEVELS, Profile, Sequence, Vui};

    /// Takes so many bytes, then fails once.
    struct Full {
        room: usize,
        taken: Vec<u8>,
    }

    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = std::mem::replace(&mut self.room, usize::MAX);
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = room.min(bytes.len());
            self.room = room - taken;
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Full {
        fn commit(&mut self, _: u64) -> io::Result<()> {
            panic!("a broken file is given its name");
        }
    }

    #[test]
    fn nothing_follows_a_box_that_is_cut() {
        let sequence = Sequence {
            profile: Profile::Main,
            level: &LEVELS[0],
            width: 16,
            height: 16,
            references: 1,
            frame_num_bits: 4,
            vui: Vui::default(),
        };
        let track = Track::new(&sequence, Ratio { num: 25, den: 1 });
        let (room, taken) = (100, Vec::new());
        let mut writer = Mp4Writer::new(Full { room, taken }, "out", track);
        let mut picture = CodedPicture {
            bytes: vec![0, 0, 0, 1, 0x65],
            key: true,
            ..CodedPicture::default()
        };
        picture.bytes.resize(CHUNK + 1, 7);
        let error = writer.write(&picture).unwrap_err();
        assert!(
            matches!(error, Error::NoSpace { bytes: 100, .. }),
            "{error}"
        );
        for _ in 0..2 {
            let error = writer.finish().unwrap_err().to_string();
            assert!(error.contains("an earlier write failed"), "{error}");
        }
        assert_eq!(writer.into_inner().taken.len(), 100);
    }
}
