//! Where what is in the memory of an application.

use std::fs::File;
use std::sync::Arc;

use thiserror::Error;

use super::flags;
use crate::memory::{Region, Slots, Span, ring_len};

/// The first word of the memory.
const MAGIC: u64 = u64::from_le_bytes(*b"evenernt");
/// Changes whenever the layout or a meaning in it does.
pub const VERSION: u32 = 3;
/// Requests that wait for their replies at most.
pub const ENTRIES: u64 = 256;
/// Bytes of a request, and of a reply.
pub const ENTRY: usize = 64;

/// Words of the control part. Each that one side writes often is on a pair of cache lines of its own.
const SIZES: usize = 8;
const SUBMITTED: usize = 128;
const REPLIED: usize = 256;
const ENGINE_ASLEEP: usize = 384;
const APPLICATION_ASLEEP: usize = 512;
const NOTIFIED: usize = 640;
const READY: usize = 768;
const ENDED: usize = 896;
const FLAGS: usize = 1024;
const PAGE: usize = 4096;
/// Bytes of the head of a slot.
const SLOT_HEAD: usize = 128;

/// Connections that the memory of an application has room for, and the bytes of their rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Connections at most: from 64 on, in multiples of 64.
    pub connections: u32,
    /// Bytes of a ring that is sent from: a power of two from 4 KiB to 1 GiB.
    pub send: u32,
    /// Bytes of a ring that is received into: a power of two from 4 KiB to 1 GiB.
    pub receive: u32,
}

impl Default for Sizes {
    /// The ring to receive into is the larger one: a kernel's stack beside this one sends all of a window at once, and waits
    /// for a small one to open. A page of a ring takes memory when it is first used.
    fn default() -> Sizes {
        Sizes {
            connections: 16_384,
            send: 1 << 20,
            receive: 4 << 20,
        }
    }
}

/// Sizes that cannot be, or memory of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Too few, too many or no multiple.
    #[error("the number of connections is a multiple of 64 up to 1048576, not {0}")]
    Connections(u32),
    /// No power of two, or too small or large.
    #[error("a ring has a power of two of bytes from 4096 to 1073741824, not {0}")]
    Ring(u32),
    /// It is no memory of an engine.
    #[error("this is not the memory of an engine")]
    Magic,
    /// The engine and the application are of different versions.
    #[error("the engine shares memory of version {0}, and the application knows version {VERSION}")]
    Version(u32),
}

impl Sizes {
    fn check(self) -> Result<(), LayoutError> {
        let n = self.connections;
        if n == 0 || !n.is_multiple_of(64) || n > 1 << 20 {
            return Err(LayoutError::Connections(n));
        }
        for ring in [self.send, self.receive] {
            if !ring.is_power_of_two() || !(1 << 12..=1 << 30).contains(&ring) {
                return Err(LayoutError::Ring(ring));
            }
        }
        Ok(())
    }
}

/// Where what is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    sizes: Sizes,
    submissions: usize,
    replies: usize,
    slots: Slots,
}

impl Layout {
    /// For sizes.
    ///
    /// # Errors
    /// They cannot be.
    pub fn new(sizes: Sizes) -> Result<Layout, LayoutError> {
        sizes.check()?;
        let flags = flags::bytes(sizes.connections);
        let submissions = FLAGS + 2 * flags;
        let replies = submissions + ENTRIES as usize * ENTRY;
        let (send, receive) = (sizes.send as usize, sizes.receive as usize);
        let slot = SLOT_HEAD + ring_len(send) + ring_len(receive);
        Ok(Layout {
            sizes,
            submissions,
            replies,
            slots: Slots {
                start: (replies + ENTRIES as usize * ENTRY).next_multiple_of(PAGE),
                count: sizes.connections,
                stride: slot.next_multiple_of(PAGE),
                head: SLOT_HEAD,
                send,
                receive,
            },
        })
    }

    /// That of memory which an engine handed over.
    ///
    /// # Errors
    /// It is of another version, or damaged.
    pub fn of_file(file: &File) -> Result<Layout, LayoutError> {
        use std::os::unix::fs::FileExt;
        let mut head = [0; 24];
        file.read_exact_at(&mut head, 0)
            .map_err(|_| LayoutError::Magic)?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
        if head[..8] != MAGIC.to_le_bytes() {
            return Err(LayoutError::Magic);
        }
        match number(SIZES) {
            VERSION => Layout::new(Sizes {
                connections: number(SIZES + 4),
                send: number(SIZES + 8),
                receive: number(SIZES + 12),
            }),
            other => Err(LayoutError::Version(other)),
        }
    }

    /// Writes what [`of_file`](Layout::of_file) reads.
    pub fn write(&self, region: &Arc<Region>) {
        let control = Span::new(region, 0, PAGE);
        control.write(0, &MAGIC.to_le_bytes());
        let Sizes {
            connections,
            send,
            receive,
        } = self.sizes;
        for (at, number) in [VERSION, connections, send, receive].iter().enumerate() {
            control.write(SIZES + 4 * at, &number.to_le_bytes());
        }
    }

    /// Bytes of all of it.
    pub fn bytes(&self) -> usize {
        self.slots.end()
    }

    /// Where the slots are.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Bytes of the rings.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }
}

/// The control part, as both sides use it.
#[derive(Clone, Debug)]
pub struct Control {
    span: Span,
    layout: Layout,
}

impl Control {
    /// Of memory that begins with `span`.
    pub fn new(span: Span, layout: Layout) -> Control {
        Control { span, layout }
    }

    /// Requests that the application has made since it was attached.
    pub fn submitted(&self) -> &std::sync::atomic::AtomicU64 {
        self.span.word(SUBMITTED)
    }

    /// Replies that the engine has given.
    pub fn replied(&self) -> &std::sync::atomic::AtomicU64 {
        self.span.word(REPLIED)
    }

    /// Whether the engine sleeps.
    pub fn engine_asleep(&self) -> &std::sync::atomic::AtomicU64 {
        self.span.word(ENGINE_ASLEEP)
    }

    /// Whether a thread of the application sleeps.
    pub fn application_asleep(&self) -> &std::sync::atomic::AtomicU64 {
        self.span.word(APPLICATION_ASLEEP)
    }

    /// Whether the engine has ended in order.
    pub fn ended(&self) -> &std::sync::atomic::AtomicU64 {
        self.span.word(ENDED)
    }

    /// The connections whose rings the application has changed.
    pub fn notified(&self) -> flags::Flags<'_> {
        let leaves = self
            .span
            .part(FLAGS, flags::bytes(self.layout.sizes.connections));
        flags::Flags::new(self.span.word(NOTIFIED), leaves)
    }

    /// The connections for which the engine has something new.
    pub fn ready(&self) -> flags::Flags<'_> {
        let len = flags::bytes(self.layout.sizes.connections);
        flags::Flags::new(self.span.word(READY), self.span.part(FLAGS + len, len))
    }

    fn entry(&self, base: usize, number: u64) -> usize {
        base + (number % ENTRIES) as usize * ENTRY
    }

    /// Reads request `number`.
    pub fn request(&self, number: u64) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        let at = self.entry(self.layout.submissions, number);
        self.span.read(at, &mut bytes);
        bytes
    }

    /// Writes request `number`.
    pub fn set_request(&self, number: u64, bytes: &[u8; ENTRY]) {
        let at = self.entry(self.layout.submissions, number);
        self.span.write(at, bytes);
    }

    /// Reads the reply to request `number`.
    pub fn reply(&self, number: u64) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        let at = self.entry(self.layout.replies, number);
        self.span.read(at, &mut bytes);
        bytes
    }

    /// Writes the reply to request `number`.
    pub fn set_reply(&self, number: u64, bytes: &[u8; ENTRY]) {
        let at = self.entry(self.layout.replies, number);
        self.span.write(at, bytes);
    }
}
