//! Rings of commands to the driver, and the memory in which it describes requests. All `unsafe` code for the driver is
//! here, behind functions that can be called in any order and with any values.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::squeue::{Entry, Entry128};
use io_uring::{IoUring, cqueue, opcode, types};
use memmap2::{MmapOptions, MmapRaw};

use super::abi::{Command, Descriptor, descriptors_at, io_command};

/// The most bytes of data of a command to the control device.
const DATA: usize = 64;

/// Commands to the control device, one after the other.
pub struct ControlRing {
    ring: IoUring<Entry128, cqueue::Entry>,
    device: File,
}

impl ControlRing {
    /// For the control device.
    pub fn new(device: File) -> io::Result<ControlRing> {
        let ring = IoUring::builder().build(4)?;
        Ok(ControlRing { ring, device })
    }

    /// Runs a command, which reads and changes `data`, and waits for its end.
    pub fn run(&mut self, code: u32, command: &Command, data: &mut [u8]) -> io::Result<()> {
        let mut room = Box::new([0u8; DATA]);
        let Some(taken) = room.get_mut(..data.len()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        taken.copy_from_slice(data);
        let (address, len) = match taken.is_empty() {
            true => (0, 0),
            false => (taken.as_mut_ptr() as u64, taken.len() as u16),
        };
        let device = types::Fd(self.device.as_raw_fd());
        let entry = opcode::UringCmd80::new(device, code)
            .cmd(command.bytes(address, len))
            .build();
        // SAFETY: the driver reads and writes the first `len` bytes of `room`, which stays where it is until the
        // command has ended; below it is given up for ever where that cannot be known. `self` has the device open.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let done = loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    std::mem::forget(room);
                    return Err(error);
                }
            }
            if let Some(done) = self.ring.completion().next() {
                break done;
            }
        };
        data.copy_from_slice(&room[..data.len()]);
        match done.result() {
            0.. => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

/// The completion of a command of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub tag: u16,
    /// 0 if there is a request, otherwise a negative error number.
    pub result: i32,
}

/// The commands of a queue.
pub struct QueueRing {
    ring: IoUring<Entry, cqueue::Entry>,
}

impl QueueRing {
    /// A ring for `depth` requests. Only the calling thread may use it.
    pub fn new(depth: u16) -> io::Result<QueueRing> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            // What the kernel has to do in this thread waits until the thread calls it.
            .setup_coop_taskrun()
            .build(u32::from(depth).next_power_of_two())?;
        Ok(QueueRing { ring })
    }

    /// Puts a command for a request into the ring: `queue::FETCH`, or `queue::COMMIT_AND_FETCH` with a result.
    pub fn push(
        &mut self,
        code: u32,
        descriptors: &Descriptors,
        tag: u16,
        result: i32,
    ) -> io::Result<()> {
        let device = types::Fd(descriptors.device.as_raw_fd());
        let entry = opcode::UringCmd16::new(device, code)
            .cmd(io_command(descriptors.queue, tag, result))
            .build()
            .user_data(tag.into());
        // SAFETY: a command of this layout names no memory, so the driver reads and writes none for it. If the device
        // is closed before the command is given, the kernel refuses it.
        let mut pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.submit(false)?;
            // SAFETY: as above.
            pushed = unsafe { self.ring.submission().push(&entry) };
        }
        pushed.map_err(|_| io::ErrorKind::WouldBlock.into())
    }

    /// Submits the commands in the ring; with `wait` it waits for a completion.
    pub fn submit(&mut self, wait: bool) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(usize::from(wait)) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next completion, if there is one.
    pub fn next(&mut self) -> Option<Completion> {
        self.ring.completion().next().map(|entry| Completion {
            tag: entry.user_data() as u16,
            result: entry.result(),
        })
    }
}

/// The requests of a queue, in memory that the driver shares.
pub struct Descriptors {
    device: Arc<File>,
    queue: u16,
    depth: u16,
    shared: MmapRaw,
}

impl Descriptors {
    /// Those of queue `queue`, which has `depth` of them.
    pub fn new(device: Arc<File>, queue: u16, depth: u16) -> io::Result<Descriptors> {
        let page = rustix::param::page_size() as u64;
        let (offset, len) = descriptors_at(queue, depth, page);
        let mut options = MmapOptions::new();
        options.offset(offset).len(len).populate();
        let shared = options.map_raw_read_only(&*device)?;
        Ok(Descriptors {
            device,
            queue,
            depth,
            shared,
        })
    }

    /// The number of the queue.
    pub fn queue(&self) -> u16 {
        self.queue
    }

    /// The descriptor of request `tag`, if the queue has that slot.
    pub fn descriptor(&self, tag: u16) -> Option<Descriptor> {
        if tag >= self.depth {
            return None;
        }
        let from = usize::from(tag) * Descriptor::SIZE;
        // SAFETY: `depth` descriptors lie in the mapping, which lasts as long as `self`. Bytes may be read at any
        // address, and any value of them is one.
        let bytes = unsafe {
            let at = self.shared.as_ptr().add(from);
            at.cast::<[u8; Descriptor::SIZE]>().read_volatile()
        };
        Some(Descriptor::parse(&bytes))
    }
}
