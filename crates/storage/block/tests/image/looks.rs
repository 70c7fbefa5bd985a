//! How many blocks are looked at to tell where an image has holes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evener_block::codec::Codec;
use evener_block::format::{Format, Layout, Opened};
use evener_block::serve::Store;
use evener_block::session::{Options, PackOptions, pack};
use evener_block::{Block, Check, Error, Image, ImageFile, Place};
use evener_runtime::Rounds;

use crate::common::{Folder, known, runtime};

const BLOCK: u64 = 512;
/// Looks at blocks since the image was opened.
type Looks = AtomicUsize;

/// Raw bytes without holes, in small blocks.
struct Counted {
    size: u64,
    looks: &'static Looks,
}

impl Layout for Counted {
    fn block(&self, at: u64) -> Result<Block, Error> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let start = at / BLOCK * BLOCK;
        Ok(Block {
            start,
            len: BLOCK.min(self.size - start),
            place: Place::Stored { offset: start },
            check: Check::Nothing,
        })
    }
}

const fn counted(open: fn(&Arc<ImageFile>) -> Result<Opened, Error>) -> Format {
    Format {
        name: "counted",
        about: "",
        recognise: |_| false,
        open,
    }
}

fn opened(file: &ImageFile, looks: &'static Looks) -> Opened {
    looks.store(0, Ordering::Relaxed);
    let size = file.size();
    Opened {
        size,
        block: BLOCK as u32,
        layout: Box::new(Counted { size, looks }),
        leaves: None,
        backing: None,
    }
}

#[test]
fn packing_looks_at_each_block_of_data_a_few_times() {
    static LOOKS: Looks = Looks::new(0);
    static COUNTED: Format = counted(|file| Ok(opened(file, &LOOKS)));
    let folder = Folder::in_memory();
    let plain = vec![7; 16 << 20];
    let options = PackOptions {
        codec: Codec::of_name("none").unwrap(),
        open: known(&COUNTED),
        ..PackOptions::default()
    };
    let (input, output) = (folder.file("plain", &plain), folder.path("packed"));
    let session = pack(input.as_os_str(), output.as_os_str(), &options).unwrap();
    session.run(runtime(), Options::default()).unwrap();
    assert!(fs::metadata(output).unwrap().len() > 16 << 20);
    let (looks, blocks) = (LOOKS.load(Ordering::Relaxed), plain.len() / BLOCK as usize);
    assert!(looks < 2 * blocks, "{looks} looks at {blocks} blocks");
}

#[test]
fn a_run_ends_where_enough_blocks_were_looked_at() {
    static LOOKS: Looks = Looks::new(0);
    static COUNTED: Format = counted(|file| Ok(opened(file, &LOOKS)));
    let folder = Folder::in_memory();
    let path = folder.file("plain", vec![7; 1 << 20]);
    let image = Image::of(ImageFile::open(&path).unwrap(), Some(&COUNTED)).unwrap();
    let store = Store::new(Arc::new(image), 0, Rounds::plain(1));
    let mut blocks = 100;
    let run = store.extent(10, 1 << 20, &mut blocks).unwrap();
    assert_eq!((run.bytes, run.zero, blocks), (10..100 * BLOCK, false, 0));
    assert_eq!(LOOKS.load(Ordering::Relaxed), 100);
    // One in any case.
    let run = store.extent(0, 1 << 20, &mut blocks).unwrap();
    assert_eq!((run.bytes, blocks), (0..BLOCK, 0));
    let mut blocks = 100;
    let run = store.extent(0, 10 * BLOCK, &mut blocks).unwrap();
    assert_eq!((run.bytes, blocks), (0..10 * BLOCK, 90));
}
