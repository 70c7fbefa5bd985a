//! Files that change while they are read: what is not there any more is never taken for zeros.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use evener_block::format::{Format, Layout, Opened, RAW};
use evener_block::serve::{ReadFailure, Store, Window};
use evener_block::session::{Options, PackOptions, SessionError, pack, unpack, verify};
use evener_block::{Block, Error, Image, ImageFile};
use evener_runtime::Rounds;

use crate::common::{Folder, known, runtime};

const SIZE: u64 = 5 << 20;
/// What becomes of the file when a block from here on is looked for.
const THERE: u64 = 1 << 20;

/// A raw image that is changed, once.
struct Touched {
    raw: Box<dyn Layout>,
    path: PathBuf,
    done: AtomicBool,
    how: fn(&File),
}

impl Layout for Touched {
    fn block(&self, at: u64) -> Result<Block, Error> {
        if at >= THERE && !self.done.swap(true, Ordering::Relaxed) {
            (self.how)(&File::options().write(true).open(&self.path).unwrap());
        }
        self.raw.block(at)
    }
}

fn touched(file: &Arc<ImageFile>, how: fn(&File)) -> Result<Opened, Error> {
    let opened = (RAW.open)(file)?;
    let touched = Touched {
        raw: opened.layout,
        path: file.name().into(),
        done: AtomicBool::new(false),
        how,
    };
    Ok(Opened {
        layout: Box::new(touched),
        ..opened
    })
}

const fn format(open: fn(&Arc<ImageFile>) -> Result<Opened, Error>) -> Format {
    Format { open, ..RAW_LIKE }
}

const RAW_LIKE: Format = Format {
    name: "touched",
    about: "",
    recognise: |_| false,
    open: |_| unreachable!(),
};

static SHRINKS: Format = format(|file| touched(file, |file| file.set_len(3 << 20).unwrap()));
static GROWS: Format = format(|file| touched(file, |file| file.set_len(SIZE + 1).unwrap()));
static WRITTEN: Format = format(|file| {
    touched(file, |file| {
        let later = SystemTime::now() + Duration::from_secs(5);
        file.set_modified(later).unwrap();
    })
});

/// Bytes without zeros, or a hole.
fn image(folder: &Folder, hole: bool) -> PathBuf {
    match hole {
        false => folder.file("image", vec![7; SIZE as usize]),
        true => {
            let path = folder.file("image", vec![7; 1 << 20]);
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(SIZE).unwrap();
            path
        }
    }
}

/// How packing, unpacking and verifying end.
fn ends(folder: &Folder, hole: bool, format: &'static Format) -> [SessionError; 3] {
    let out = folder.path("out");
    let input = || image(folder, hole);
    let options = PackOptions {
        open: known(format),
        ..PackOptions::default()
    };
    let session = pack(input().as_os_str(), out.as_os_str(), &options).unwrap();
    let packed = session.run(runtime(), Options::default()).map(|_| ());
    let session = unpack(input().as_os_str(), out.as_os_str(), known(format), &[]).unwrap();
    let unpacked = session.run(runtime(), Options::default()).map(|_| ());
    let session = verify(input().as_os_str(), known(format)).unwrap();
    let verified = session.run(runtime(), Options::default()).map(|_| ());
    assert!(!out.exists(), "{}, {hole}", format.name);
    [packed, unpacked, verified].map(|ended| ended.expect_err("a mix of two states"))
}

#[test]
fn no_copy_is_left_of_an_image_that_changed_meanwhile() {
    let folder = Folder::in_memory();
    for (format, said) in [
        (&SHRINKS, "shrank from 5242880 to 3145728 bytes"),
        (&GROWS, "changed while"),
        (&WRITTEN, "changed while"),
    ] {
        for hole in [false, true] {
            for error in ends(&folder, hole, format) {
                let text = error.to_string();
                assert!(text.contains(said), "{text}");
                assert!(
                    text.contains("image: ") && text.lines().count() == 1,
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn what_is_gone_is_served_as_an_error_and_counts_as_data() {
    let folder = Folder::in_memory();
    for hole in [false, true] {
        let path = image(&folder, hole);
        let image = Image::open(Path::new(&path)).unwrap();
        let store = Store::new(Arc::new(image), 1 << 20, Rounds::plain(1));
        let mut window = Window::default();
        let mut read = |at: u64| {
            store.look_up(at..at + 4096, u64::MAX, &mut window)?;
            store.fill(runtime().pool(), &mut window)
        };
        assert_eq!(read(4 << 20), Ok(()));
        let whole = store.extent(3 << 20, SIZE, &mut { 1000 }).unwrap();
        assert_eq!((whole.zero, whole.bytes.end), (hole, SIZE));
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(2 << 20).unwrap();
        assert_eq!(read(1 << 20), Ok(()));
        assert_eq!(read(4 << 20), Err(ReadFailure { at: 4 << 20 }));
        let gone = store.extent(3 << 20, SIZE, &mut { 1000 }).unwrap();
        assert_eq!((gone.zero, gone.bytes), (false, 3 << 20..SIZE));
    }
}
