//! Images that are read sequentially.

use std::io::{Cursor, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evener_files::{InputFile, SourceFile};

use crate::archive::{TarStream, is_tar};
use crate::compressed::{Broken, Compression, FRONT};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::{RAW, recognise_pipe};
use crate::overlay::is_overlay;

/// A raw image that is read from its first byte to its last, from a pipe, a file or a server. It may be compressed.
pub struct Sequential {
    name: String,
    source: SourceFile,
    /// The file, if it is one.
    file: Option<Arc<ImageFile>>,
    reader: Reader,
    /// How it comes, and what to do with an image that cannot come so.
    way: Way,
    /// Bytes of the image that were read.
    at: u64,
}

type Way = (&'static str, &'static str);

const PIPE: Way = ("through a pipe", "name its file");
const SERVER: Way = ("from a server that gives no ranges", "download it first");

enum Reader {
    /// Nothing was read of it. If `is_raw`, it is taken as it is, whatever it begins with.
    Unread {
        input: Box<dyn Read + Send>,
        is_raw: bool,
    },
    Raw(Box<dyn Read + Send>),
    Compressed {
        decoder: Box<dyn Read + Send>,
        compression: Compression,
        /// The input failed, and not the decoder.
        failed: Arc<AtomicBool>,
    },
    /// While it changes from one to another.
    Nothing,
}

impl Sequential {
    /// Reads an image from `input`, which a server sends in order. With `is_raw`, the bytes are those of the image,
    /// whatever they look like. Otherwise they are decompressed, and rejected if they start like an image in another
    /// format. `name` is the name in messages.
    pub fn new(name: String, input: Box<dyn Read + Send>, is_raw: bool) -> Sequential {
        Sequential {
            name,
            source: SourceFile::default(),
            file: None,
            reader: Reader::Unread { input, is_raw },
            way: SERVER,
            at: 0,
        }
    }

    /// Reads an image from a pipe.
    pub fn of_pipe(pipe: InputFile, is_raw: bool) -> Sequential {
        pipe.expect_sequential();
        let source = pipe.source_file();
        Sequential {
            source,
            way: PIPE,
            ..Sequential::new(pipe.name, Box::new(pipe.file), is_raw)
        }
    }

    /// Reads an image from a compressed file.
    pub fn of_file(file: ImageFile) -> Sequential {
        let (name, source) = (file.name().to_owned(), file.source_file());
        let file = Arc::new(file);
        let input = InOrder {
            file: Arc::clone(&file),
            at: 0,
        };
        Sequential {
            source,
            file: Some(file),
            ..Sequential::new(name, Box::new(input), false)
        }
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// It as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        self.source
    }

    /// Fills `room` with the next bytes of the image, and returns the number of bytes before its end.
    ///
    /// # Errors
    /// The input cannot be read or decompressed, changed meanwhile, or starts like an image in another format.
    pub fn fill(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        self.begin()?;
        let mut got = 0;
        while got < room.len() {
            let reader = match &mut self.reader {
                Reader::Raw(input) => input,
                Reader::Compressed { decoder, .. } => decoder,
                Reader::Unread { .. } | Reader::Nothing => break,
            };
            match reader.read(&mut room[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(got, error)),
            }
        }
        self.at += got as u64;
        match &self.file {
            Some(file) if got < room.len() => file.unchanged().map(|()| got),
            _ => Ok(got),
        }
    }

    /// Looks at the first bytes, once.
    fn begin(&mut self) -> Result<(), Error> {
        let (mut input, is_raw) = match std::mem::replace(&mut self.reader, Reader::Nothing) {
            Reader::Unread { input, is_raw } => (input, is_raw),
            reader => {
                self.reader = reader;
                return Ok(());
            }
        };
        if is_raw {
            self.reader = Reader::Raw(input);
            return Ok(());
        }
        let front = self::front(&mut input).map_err(|reason| self.unreadable(0, reason))?;
        let compression = Compression::of(&front);
        let is_plain_tar = is_tar(&front);
        if compression.is_none() && !is_plain_tar {
            looks_raw(&self.name, &front, self.way)?;
        }
        let input = Cursor::new(front).chain(input);
        let Some(compression) = compression else {
            self.reader = Reader::Raw(Box::new(input));
            return match is_plain_tar {
                true => self.unwrap_tar(),
                false => Ok(()),
            };
        };
        let failed = Arc::<AtomicBool>::default();
        let input = FailureNoted {
            input,
            failed: Arc::clone(&failed),
        };
        let mut decoder = compression
            .decoder(input)
            .map_err(|reason| self.unreadable(0, reason))?;
        let front = self::front(&mut decoder);
        self.reader = Reader::Compressed {
            decoder,
            compression,
            failed,
        };
        let front = front.map_err(|error| self.failure(0, error))?;
        let holds_tar = is_tar(&front);
        if !holds_tar {
            self.holds_raw(compression, &front)?;
        }
        if let Reader::Compressed { decoder, .. } = &mut self.reader {
            let rest = std::mem::replace(decoder, Box::new(std::io::empty()));
            *decoder = Box::new(Cursor::new(front).chain(rest));
        }
        match holds_tar {
            true => self.unwrap_tar(),
            false => Ok(()),
        }
    }

    /// Goes on with the disk image in what is a tar.
    fn unwrap_tar(&mut self) -> Result<(), Error> {
        let (Reader::Raw(reader)
        | Reader::Compressed {
            decoder: reader, ..
        }) = &mut self.reader
        else {
            return Ok(());
        };
        let input = std::mem::replace(reader, Box::new(std::io::empty()));
        match TarStream::open(self.name.clone(), input) {
            Ok(tar) => *reader = Box::new(tar),
            Err(error) => return Err(self.failure(0, error)),
        }
        Ok(())
    }

    /// Refuses what is compressed if it is an image of another format.
    fn holds_raw(&self, compression: Compression, front: &[u8]) -> Result<(), Error> {
        looks_raw(&self.name, front, self.way).map_err(|error| match error {
            Error::Piped { name, format, .. } => Error::Unsupported {
                name,
                format: compression.name(),
                what: format!(
                    "holds {format}, and only a raw image is read so; unpack it into a file"
                ),
            },
            Error::Foreign {
                name, format: held, ..
            } => Error::Unsupported {
                name,
                format: compression.name(),
                what: format!("holds what looks like {held}; unpack it with its own programs"),
            },
            error => error,
        })
    }

    fn unreadable(&self, got: usize, reason: std::io::Error) -> Error {
        let reason = match reason.downcast::<Error>() {
            Ok(error) => return error,
            Err(reason) => reason,
        };
        let (name, byte) = (self.name.clone(), self.at + got as u64);
        evener_files::Error::Read { name, byte, reason }.into()
    }

    fn failure(&self, got: usize, error: std::io::Error) -> Error {
        let error = match error.downcast::<Error>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        let Reader::Compressed {
            compression,
            failed,
            ..
        } = &self.reader
        else {
            return self.unreadable(got, error);
        };
        if failed.load(Ordering::Relaxed) {
            return self.unreadable(got, error);
        }
        let (name, format) = (self.name.clone(), compression.name());
        let byte = self.at + got as u64;
        match Broken::of(&error) {
            Broken::Cut => Error::Cut {
                name,
                format,
                what: format!("it ends after {byte} bytes of what is in it"),
            },
            Broken::Memory => Error::Unsupported {
                name,
                format,
                what:
                    "needs more than 1 GiB of memory to be unpacked; unpack it with its own program"
                        .to_owned(),
            },
            Broken::Trailing => Error::Unsupported {
                name,
                format,
                what: format!(
                    "is whole, but something other than {format} follows its end; if that is not meant, unpack it \
                     with its own program, which leaves that out"
                ),
            },
            Broken::Damaged(what) => Error::Damaged {
                name,
                format,
                what: format!("after {byte} bytes of what is in it: {what}"),
            },
        }
    }
}

/// The first bytes.
fn front(input: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut front = Vec::new();
    input.take(FRONT as u64).read_to_end(&mut front)?;
    Ok(front)
}

/// Reads a file from its first byte to its last.
struct InOrder {
    file: Arc<ImageFile>,
    at: u64,
}

impl Read for InOrder {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(self.at, room);
        let read = read.map_err(std::io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Notes that reading failed.
struct FailureNoted<R> {
    input: R,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for FailureNoted<R> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(room);
        if let Err(error) = &read
            && error.kind() != ErrorKind::Interrupted
        {
            self.failed.store(true, Ordering::Relaxed);
        }
        read
    }
}

/// Refuses what begins like an image of another format: its bytes would be packed instead of the bytes in it.
fn looks_raw(name: &str, front: &[u8], (how, to_do): Way) -> Result<(), Error> {
    let refused = |format: String| {
        let name = name.to_owned();
        Err(Error::Piped {
            name,
            format,
            how,
            to_do,
        })
    };
    if is_overlay(front) {
        return refused("an overlay".to_owned());
    }
    match recognise_pipe(front) {
        (format, _) if format.name != RAW.name => refused(format!("an image in {}", format.name)),
        (_, Some(foreign)) => Err(foreign.refuse(name)),
        _ => Ok(()),
    }
}
