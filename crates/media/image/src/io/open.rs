//! Inputs and outputs by name, as a command line gives them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use evener_files::{
    Destination, Error as FileError, FileId, InputFile, OutputFile, SourceFile, Watch, one_line,
};

use crate::format::{Format, Ratio, Timing};
use crate::frame::Frame;
use crate::graph::Rest;
use crate::io::error::Error;
use crate::io::ffmpeg::{
    Decoder, Encoder, Further, Kind, Origin, Partial, Tools, check_arguments, is_address,
};
use crate::io::null::Null;
use crate::io::numbered::{Numbered, with_single_percents};
use crate::io::testsrc::TestSource;
use crate::io::y4m;

/// An open input.
pub enum Input {
    /// A y4m file or pipe.
    Y4m(y4m::Reader<File>),
    /// Another file, through FFmpeg.
    Ffmpeg(Box<Decoder>, SourceFile, Option<Watch>),
    /// A synthetic scene.
    Test(TestSource),
}

impl Input {
    /// Size, chroma layout, depth and range of every frame.
    pub fn format(&self) -> &Format {
        match self {
            Input::Y4m(reader) => reader.format(),
            Input::Ffmpeg(decoder, ..) => decoder.format(),
            Input::Test(source) => source.format(),
        }
    }

    /// Rate, aspect, siting and interlacing.
    pub fn timing(&self) -> &Timing {
        match self {
            Input::Y4m(reader) => reader.timing(),
            Input::Ffmpeg(decoder, ..) => decoder.timing(),
            Input::Test(source) => source.timing(),
        }
    }

    /// Frames of the whole stream, if known; an estimate for FFmpeg.
    pub fn frames(&self) -> Option<u64> {
        match self {
            Input::Y4m(reader) => reader.frames(),
            Input::Ffmpeg(decoder, ..) => decoder.frames(),
            Input::Test(source) => Some(source.frames()),
        }
    }

    /// Whether a read may wait for a writer, or for FFmpeg.
    pub fn may_wait(&self) -> bool {
        match self {
            Input::Y4m(reader) => !reader.is_file(),
            Input::Ffmpeg(..) => true,
            Input::Test(_) => false,
        }
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &str {
        match self {
            Input::Y4m(reader) => reader.name(),
            Input::Ffmpeg(decoder, ..) => decoder.name(),
            Input::Test(source) => source.name(),
        }
    }

    /// What a file holds besides the frames, if FFmpeg reads it.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Input::Ffmpeg(decoder, ..) => Some(decoder.origin()),
            Input::Y4m(_) | Input::Test(_) => None,
        }
    }

    /// The identity of a file; `None` for pipes, addresses and synthetic scenes.
    pub fn id(&self) -> Option<FileId> {
        self.source_file().id()
    }

    /// The input as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        match self {
            Input::Y4m(reader) => reader.source_file(),
            Input::Ffmpeg(_, source, _) => *source,
            Input::Test(_) => SourceFile::default(),
        }
    }

    /// Declares that only the first `planes` planes of later frames are used: see
    /// [`Reader::want_planes`](y4m::Reader::want_planes). Other kinds of input fill all planes.
    pub fn want_planes(&mut self, planes: usize) {
        if let Input::Y4m(reader) = self {
            reader.want_planes(planes);
        }
    }

    /// Passes over frames before the first is read, where that is faster than reading them. Returns how many are left to
    /// be read and dropped.
    ///
    /// # Errors
    /// Those of the kind of input.
    pub(crate) fn skip(&mut self, frames: u64) -> Result<u64, Error> {
        match self {
            Input::Ffmpeg(decoder, ..) => decoder.skip(frames),
            Input::Y4m(_) | Input::Test(_) => Ok(frames),
        }
    }

    /// Reads the next frame; `false` at the end of the stream, and after an error.
    ///
    /// # Errors
    /// Those of the kind of input.
    pub fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        match self {
            Input::Y4m(reader) => reader.read(frame),
            Input::Ffmpeg(decoder, _, watch) => {
                let read = decoder.read(frame);
                if !matches!(read, Ok(true)) {
                    watch.iter_mut().for_each(Watch::warn);
                }
                read
            }
            Input::Test(source) => source.read(frame),
        }
    }
}

/// Opens an input: `-` is the standard input, `testsrc:…` a synthetic scene ([`TestSource::parse`]); a file or pipe is
/// read as y4m if it is called `.y4m` or begins like one, and through FFmpeg otherwise, as is an address such as
/// `https://…`. `./-` and `./testsrc:…` are files.
///
/// # Errors
/// The input is missing or cannot be used.
pub fn open_input(text: impl AsRef<OsStr>) -> Result<Input, Error> {
    let text = text.as_ref();
    let name = one_line(&text.to_string_lossy());
    match text.to_str() {
        Some("-" | "/dev/stdin") => {
            let input = InputFile::stdin("is a terminal; name a file, or pipe video in")?;
            return match input.is_file() && !begins_like_y4m(&input.file) {
                // FFmpeg reads a file at any place, so it gets the file itself.
                true => match fs::read_link("/proc/self/fd/0") {
                    Ok(path) => open_file(path.as_os_str(), input),
                    Err(_) => y4m::Reader::from_input(input).map(Input::Y4m),
                },
                false => open_pipe(input),
            };
        }
        Some(description) if description.starts_with("testsrc:") => {
            return TestSource::parse(description).map(Input::Test);
        }
        Some(null) if null.starts_with("null:") => {
            let reason = "is an output; use testsrc: for an input";
            return Err(FileError::Unfit { name, reason }.into());
        }
        _ => {}
    }
    if is_address(text) {
        return Ok(Input::Ffmpeg(
            Box::new(Decoder::open(&Tools::default(), text)?),
            SourceFile::default(),
            None,
        ));
    }
    if Numbered::of(Path::new(text)).is_some() && !Path::new(text).exists() {
        let reason = "is not a file; for numbered pictures name their rate too, as `--pictures 25`";
        return Err(FileError::Unfit { name, reason }.into());
    }
    let input = InputFile::open(Path::new(text))?;
    if has_y4m_name(Path::new(text)) || input.is_file() && begins_like_y4m(&input.file) {
        return y4m::Reader::from_input(input).map(Input::Y4m);
    }
    match input.is_file() {
        true => open_file(text, input),
        false => open_pipe(input),
    }
}

/// A name without FFmpeg's prefix `file:`, unless there is a file of the whole name; `pipe:`, `pipe:0` and `pipe:1` are `-`.
pub fn without_prefix(text: &OsStr) -> OsString {
    let whole = || text.to_owned();
    if matches!(text.to_str(), Some("pipe:" | "pipe:0" | "pipe:1")) {
        return "-".into();
    }
    match text.as_bytes().strip_prefix(b"file:") {
        None | Some(b"") => whole(),
        Some(_) if Path::new(text).exists() => whole(),
        // What would be another thing than a file.
        Some(name) if name.starts_with(b"-") || !name.starts_with(b"/") && name.contains(&b':') => {
            OsString::from_vec([b"./", name].concat())
        }
        Some(name) => OsStr::from_bytes(name).to_owned(),
    }
}

/// Extensions of files that hold samples alone.
const RAW: [&str; 7] = ["yuv", "rgb", "raw", "i420", "nv12", "cif", "qcif"];

/// What FFmpeg says of what it does not know.
const NO_VIDEO: &str = "Invalid data found when processing input";

/// A file that is no y4m.
fn open_file(text: &OsStr, input: InputFile) -> Result<Input, Error> {
    let (source, watch) = (input.source_file(), input.watch());
    let decoder = match Decoder::open(&Tools::default(), text) {
        Err(Error::Ffmpeg { .. } | Error::File(FileError::Unfit { .. })) if is_raw(text) => {
            let reason = "has no header, so its frame size is unknown; pipe it in with: \
                          ffmpeg -f rawvideo -s WIDTHxHEIGHT -pix_fmt yuv420p -i FILE -f yuv4mpegpipe -strict -1 -";
            let name = input.name;
            return Err(FileError::Unfit { name, reason }.into());
        }
        Err(Error::Ffmpeg { said, .. }) if said.contains(NO_VIDEO) => {
            let reason = match begins_like_mp4(&input.file) {
                true => {
                    "its index (moov) is missing, so it was cut off, or it is damaged; fetch or make it again"
                }
                false => "is not a video that FFmpeg can read, or is damaged",
            };
            let name = input.name;
            return Err(FileError::Unfit { name, reason }.into());
        }
        opened => opened?,
    };
    Ok(Input::Ffmpeg(Box::new(decoder), source, watch))
}

/// A pipe, or what can be read like one: y4m unless its first bytes say otherwise.
fn open_pipe(input: InputFile) -> Result<Input, Error> {
    let first = input.peek_pipe(MAGIC.len()).unwrap_or_default();
    if MAGIC.starts_with(&first) {
        return y4m::Reader::from_input(input).map(Input::Y4m);
    }
    let (source, name) = (input.source_file(), input.name.clone());
    match Decoder::of_pipe(&Tools::default(), input.name, input.file) {
        Ok(decoder) => Ok(Input::Ffmpeg(Box::new(decoder), source, None)),
        Err(Error::Ffmpeg { .. }) if first.get(4..8) == Some(FTYP) => {
            let reason = "ffmpeg cannot read this mp4 or mov from a pipe, probably because its index (moov) is at the end; \
                          name the file, or put the index first by: ffmpeg -i FILE -c copy -movflags +faststart OTHER";
            Err(FileError::Unfit { name, reason }.into())
        }
        Err(error) => Err(error),
    }
}

/// The kind of the box that an MP4 begins with, behind its length.
const FTYP: &[u8] = b"ftyp";

/// How y4m begins.
const MAGIC: &[u8] = b"YUV4MPEG2 ";

/// Opens numbered pictures, `rate` a second, named by a pattern such as `frames-%05d.png`, from the lowest number on to the
/// first that is missing. [`Origin::lost`] tells of pictures beyond that one. All have one size; another one is an error
/// where it is read.
///
/// # Errors
/// The name is no pattern, or there is no such picture.
pub fn open_pictures(pattern: impl AsRef<OsStr>, rate: Ratio) -> Result<Input, Error> {
    let pattern = pattern.as_ref();
    let name = one_line(&pattern.to_string_lossy());
    let unfit = |reason| {
        let name = name.clone();
        Err(FileError::Unfit { name, reason }.into())
    };
    let numbered = Numbered::of(Path::new(pattern)).filter(|_| !is_address(pattern));
    let Some(numbered) = numbered else {
        return unfit("is not a pattern of numbered pictures; write it as frames-%05d.png");
    };
    if Path::new(pattern).exists() {
        return unfit("is the name of a file; a pattern of numbered pictures must not be");
    }
    let Some(sequence) = numbered.sequence() else {
        return unfit("there is no such picture; check the name and the number of digits");
    };
    let decoder = Decoder::of_pictures(&Tools::default(), pattern, rate, sequence)?;
    Ok(Input::Ffmpeg(
        Box::new(decoder),
        SourceFile::default(),
        None,
    ))
}

fn is_raw(text: &OsStr) -> bool {
    let extension = Path::new(text).extension().unwrap_or_default();
    RAW.iter().any(|raw| extension.eq_ignore_ascii_case(raw))
}

fn has_y4m_name(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("y4m"))
}

fn begins_like_mp4(file: &File) -> bool {
    let mut kind = [0; FTYP.len()];
    file.read_exact_at(&mut kind, 4).is_ok() && kind == FTYP
}

fn begins_like_y4m(file: &File) -> bool {
    let mut bytes = [0; MAGIC.len()];
    file.read_exact_at(&mut bytes, 0).is_ok() && bytes == MAGIC
}

/// An open output. Dropped before [`Output::finish`], it leaves no file behind.
pub enum Output {
    /// A y4m file or pipe.
    Y4m(y4m::Writer<OutputFile>),
    /// Another file, through FFmpeg.
    Ffmpeg(Box<Encoder>),
    /// Nowhere.
    Null(Null),
}

impl Output {
    /// Whole frames written.
    pub fn frames(&self) -> u64 {
        match self {
            Output::Y4m(writer) => writer.frames(),
            Output::Ffmpeg(encoder) => encoder.frames(),
            Output::Null(null) => null.frames(),
        }
    }

    /// Whether a write may wait for a reader, or for FFmpeg.
    pub fn may_wait(&self) -> bool {
        match self {
            Output::Y4m(writer) => writer.may_wait(),
            Output::Ffmpeg(_) => true,
            Output::Null(_) => false,
        }
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        match self {
            Output::Y4m(writer) => writer.name(),
            Output::Ffmpeg(encoder) => encoder.name(),
            Output::Null(_) => "null:",
        }
    }

    /// What of `origin` the output cannot hold, each as a part of a sentence.
    pub fn lost(&self, origin: Option<&Origin>) -> Vec<String> {
        match (self, origin) {
            (Output::Null(_), _) | (Output::Y4m(_), None) => Vec::new(),
            (Output::Ffmpeg(encoder), _) => encoder.lost().to_vec(),
            (Output::Y4m(writer), Some(origin)) => {
                let height = writer.format().map_or(0, |format| format.height);
                let colour = origin.unusual_colour(height);
                let (others, mut lost) = (origin.other_streams(), Vec::new());
                if !others.is_empty() {
                    lost.push(format!("{others} dropped: y4m holds only video"));
                }
                if !colour.is_empty() {
                    lost.push(format!("colour tags ({colour}) are not kept in y4m"));
                }
                lost
            }
        }
    }

    /// What becomes of an output that FFmpeg writes and does not finish.
    pub(crate) fn partial(&self) -> Option<Partial> {
        match self {
            Output::Ffmpeg(encoder) => Some(encoder.partial()),
            Output::Y4m(_) | Output::Null(_) => None,
        }
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Those of the kind of output.
    pub fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        match self {
            Output::Y4m(writer) => writer.write(frame),
            Output::Ffmpeg(encoder) => encoder.write(frame),
            Output::Null(null) => {
                null.write(frame);
                Ok(())
            }
        }
    }

    /// Ends the stream and gives a file its name, with the frames written so far. A second call does nothing.
    ///
    /// # Errors
    /// Those of the kind of output.
    pub fn finish(&mut self) -> Result<(), Error> {
        match self {
            Output::Y4m(writer) => writer.finish(),
            Output::Ffmpeg(encoder) => encoder.finish(),
            Output::Null(_) => Ok(()),
        }
    }

    /// Leaves no file behind. The same as dropping the output.
    pub fn abort(self) {}
}

/// An output whose name is valid.
pub struct Planned {
    text: OsString,
    kind: OutputKind,
    /// Arguments of `ffmpeg`.
    encoder: Vec<OsString>,
    /// Filters that `ffmpeg` computes.
    rest: Option<Rest>,
}

#[derive(Clone, Copy)]
enum OutputKind {
    Null,
    Stdout,
    Y4m,
    Ffmpeg(Kind),
}

/// Checks the name of an output before an input is read. `-` is the standard output (y4m), and `null:` drops frames. A file
/// is written as y4m if it is called `.y4m` or is a pipe or a device, and through FFmpeg otherwise. `./-` and `./null:` are
/// files. A picture whose name has a number, as `out-%04d.png`, stands for as many as there are frames, from 1 on.
///
/// # Errors
/// No file of that name can be created.
pub fn plan_output(text: impl AsRef<OsStr>) -> Result<Planned, Error> {
    plan_output_with(text, &[])
}

/// The same with arguments of `ffmpeg`, after those that it gets anyway. With `-f FORMAT` among them the name needs no
/// extension.
///
/// # Errors
/// As [`plan_output`]; or there are arguments, and `ffmpeg` does not write the output, or one of them would be another output
/// or contradicts the graph.
pub fn plan_output_with(text: impl AsRef<OsStr>, encoder: &[OsString]) -> Result<Planned, Error> {
    let text = text.as_ref();
    let path = Path::new(text);
    let planned = |kind| {
        if !encoder.is_empty() && !matches!(kind, OutputKind::Ffmpeg(_)) {
            let name = one_line(&text.to_string_lossy());
            let reason =
                "is not written by ffmpeg; leave out its arguments, or write a .mkv or .mp4";
            return Err(FileError::Unfit { name, reason }.into());
        }
        Ok(Planned {
            text: text.to_owned(),
            kind,
            encoder: encoder.to_vec(),
            rest: None,
        })
    };
    match text.to_str() {
        Some("null:") => return planned(OutputKind::Null),
        Some("-" | "/dev/stdout") => return planned(OutputKind::Stdout),
        _ => {}
    }
    let name = one_line(&text.to_string_lossy());
    if is_address(text) {
        let reason = "is an address; write to a file or a pipe";
        return Err(FileError::Unfit { name, reason }.into());
    }
    if fs::metadata(path).is_ok_and(|old| old.is_dir()) {
        let reason = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        return Err(FileError::Create { name, reason }.into());
    }
    let special = matches!(Destination::of(path), Ok(Destination::InPlace));
    if has_y4m_name(path) || special {
        return planned(OutputKind::Y4m);
    }
    check_arguments(encoder)?;
    let kind = Kind::of(&Tools::default(), path, encoder)?;
    let mut planned = planned(OutputKind::Ffmpeg(kind))?;
    if kind == Kind::Picture {
        planned.text = with_single_percents(path).into();
    }
    Ok(planned)
}

impl Planned {
    /// With filters that the `ffmpeg` which writes the output computes.
    ///
    /// # Errors
    /// `ffmpeg` does not write it.
    pub fn with_rest(self, rest: Option<Rest>) -> Result<Planned, Error> {
        match (&rest, self.kind) {
            (Some(rest), OutputKind::Null | OutputKind::Stdout | OutputKind::Y4m) => {
                Err(Error::Rest {
                    name: one_line(&self.text.to_string_lossy()),
                    filters: rest.names.join(", "),
                    text: rest.text.clone(),
                })
            }
            _ => Ok(Planned { rest, ..self }),
        }
    }

    /// Refuses to replace a file, or any of numbered pictures.
    ///
    /// # Errors
    /// There is a file of that name.
    pub fn must_be_new(&self) -> Result<(), Error> {
        let named = matches!(self.kind, OutputKind::Y4m | OutputKind::Ffmpeg(_));
        let one = || vec![self.text.clone().into()];
        let files: Vec<PathBuf> = self.pictures().map_or_else(one, |all| all.files());
        let mut files = files.iter().filter(|_| named);
        let is_file = |path: &&PathBuf| fs::metadata(path).is_ok_and(|old| old.is_file());
        let Some(old) = files.find(is_file) else {
            return Ok(());
        };
        let old = old.strip_prefix("./").unwrap_or(old);
        let name = one_line(&old.to_string_lossy());
        let reason = "already exists; name another file, or leave out -n to replace it";
        Err(FileError::Unfit { name, reason }.into())
    }

    /// The pattern of numbered pictures.
    fn pictures(&self) -> Option<Numbered> {
        let numbered = Numbered::of(Path::new(&self.text));
        numbered.filter(|_| matches!(self.kind, OutputKind::Ffmpeg(Kind::Pictures)))
    }

    /// Creates the output for frames of `format`. `source` is the file being read, which may not be the output. The output
    /// keeps what it can hold of `origin`, from which the frames come.
    ///
    /// A new file is not more readable than its source. It is not synced to the disk: a video is large and can be made again
    /// from its source.
    ///
    /// # Errors
    /// The output is its source or cannot be created.
    pub fn create(
        &self,
        format: &Format,
        timing: &Timing,
        source: &SourceFile,
        origin: Option<&Origin>,
    ) -> Result<Output, Error> {
        let path = Path::new(&self.text);
        let y4m = |writer: y4m::Writer<OutputFile>| {
            Output::Y4m(writer.with_format(format).with_timing(timing))
        };
        let old = || fs::metadata(path).ok().as_ref().and_then(FileId::of);
        let name = one_line(&self.text.to_string_lossy());
        match self.kind {
            OutputKind::Null => Ok(Output::Null(Null::new())),
            OutputKind::Stdout => {
                let writer = y4m::Writer::stdout()?;
                source.exclude(writer.get_ref().id(), writer.name())?;
                Ok(y4m(writer))
            }
            OutputKind::Ffmpeg(kind) => {
                source.exclude(old(), &name)?;
                if let Some(pictures) = self.pictures() {
                    for picture in pictures.files() {
                        let id = fs::metadata(picture).ok().as_ref().and_then(FileId::of);
                        source.exclude(id, &name)?;
                    }
                    let input = origin.and_then(|origin| Numbered::of(Path::new(origin.file())));
                    if input.is_some_and(|input| input.is_same(&pictures)) {
                        return Err(FileError::SameFile { name }.into());
                    }
                }
                let tools = Tools::default();
                let encoder = Encoder::of_kind(
                    kind,
                    &tools,
                    path,
                    format,
                    timing,
                    source,
                    origin,
                    Further {
                        arguments: &self.encoder,
                        rest: self.rest.as_ref(),
                    },
                )?;
                Ok(Output::Ffmpeg(Box::new(encoder)))
            }
            OutputKind::Y4m => {
                let out = OutputFile::create(path, source)?;
                if !has_y4m_name(path) && path.extension().is_some() {
                    tracing::warn!(
                        "{name}: is a pipe or a device, which gets y4m whatever its name; \
                         pipe -o - into ffmpeg for another format"
                    );
                }
                Ok(y4m(y4m::Writer::new(out, name)))
            }
        }
    }
}

/// [Plans](plan_output) an output and creates it.
///
/// # Errors
/// Those of both.
pub fn create_output(
    text: impl AsRef<OsStr>,
    format: &Format,
    timing: &Timing,
    source: &SourceFile,
) -> Result<Output, Error> {
    plan_output(text)?.create(format, timing, source, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_ffmpeg_are_taken_off() {
        for (text, name) in [
            ("file:a.mkv", "a.mkv"),
            ("file:/x/a:b.mkv", "/x/a:b.mkv"),
            ("file:null:", "./null:"),
            ("file:-", "./-"),
            ("pipe:0", "-"),
            ("pipe:1", "-"),
            ("a.mkv", "a.mkv"),
            ("file:", "file:"),
            ("https://host/a.mkv", "https://host/a.mkv"),
        ] {
            assert_eq!(without_prefix(OsStr::new(text)), name);
        }
    }
}
