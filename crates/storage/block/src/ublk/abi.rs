//! The numbers and layouts of the driver, as in `linux/ublk_cmd.h`.

/// Commands to the control device, as ioctl codes: direction, size of [`Command`], type `u`, number.
pub mod control {
    pub const GET_DEV_INFO: u32 = super::code(super::READ, 0x02, super::COMMAND);
    pub const ADD_DEV: u32 = super::code(super::READ | super::WRITE, 0x04, super::COMMAND);
    pub const DEL_DEV: u32 = super::code(super::READ | super::WRITE, 0x05, super::COMMAND);
    pub const START_DEV: u32 = super::code(super::READ | super::WRITE, 0x06, super::COMMAND);
    pub const STOP_DEV: u32 = super::code(super::READ | super::WRITE, 0x07, super::COMMAND);
    pub const SET_PARAMS: u32 = super::code(super::READ | super::WRITE, 0x08, super::COMMAND);
    pub const GET_PARAMS: u32 = super::code(super::READ, 0x09, super::COMMAND);
    pub const START_RECOVERY: u32 = super::code(super::READ | super::WRITE, 0x10, super::COMMAND);
    pub const END_RECOVERY: u32 = super::code(super::READ | super::WRITE, 0x11, super::COMMAND);
    pub const GET_FEATURES: u32 = super::code(super::READ, 0x13, super::COMMAND);
    pub const DEL_DEV_ASYNC: u32 = super::code(super::READ, 0x14, super::COMMAND);
}

/// Commands of a queue.
pub mod queue {
    pub const FETCH: u32 = super::code(super::READ | super::WRITE, 0x20, super::IO_COMMAND);
    pub const COMMIT_AND_FETCH: u32 =
        super::code(super::READ | super::WRITE, 0x21, super::IO_COMMAND);
}

/// What a request asks for: the lowest 8 bits of [`Descriptor::flags`].
pub mod op {
    pub const READ: u32 = 0;
    pub const WRITE: u32 = 1;
    pub const FLUSH: u32 = 2;
    pub const DISCARD: u32 = 3;
    pub const WRITE_ZEROES: u32 = 5;
    pub const MASK: u32 = 0xff;
}

/// [`Descriptor::flags`]: zeros must keep their space.
pub const NO_UNMAP: u32 = 1 << 15;

/// Features, of the driver and of a device.
pub mod feature {
    pub const USER_RECOVERY: u64 = 1 << 3;
    pub const USER_RECOVERY_REISSUE: u64 = 1 << 4;
    pub const IOCTL_ENCODE: u64 = 1 << 6;
    pub const USER_COPY: u64 = 1 << 7;
}

/// [`DeviceInfo::state`]: a server serves it.
pub const LIVE: u16 = 1;

/// Bytes of a sector, the driver's unit.
pub const SECTOR: u64 = 512;
/// The most requests of a queue.
pub const MAX_DEPTH: u16 = 4096;
/// The most queues.
pub const MAX_QUEUES: u16 = 4096;
/// A device of any number.
pub const ANY_DEVICE: u32 = u32::MAX;
/// The queue of commands that concern none.
pub const NO_QUEUE: u16 = u16::MAX;

const WRITE: u32 = 1;
const READ: u32 = 2;
const COMMAND: u32 = Command::SIZE as u32;
const IO_COMMAND: u32 = 16;

/// `_IOC(direction, 'u', number, size)` of `asm-generic/ioctl.h`.
const fn code(direction: u32, number: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | (b'u' as u32) << 8 | number
}

/// Where in the character device the bytes of a request lie: from byte `at` of the request `tag` of queue `queue`.
pub fn buffer(queue: u16, tag: u16, at: u64) -> u64 {
    const START: u64 = 0x8000_0000;
    const TAG: u32 = 25;
    const QUEUE: u32 = 41;
    START + (u64::from(queue) << QUEUE | u64::from(tag) << TAG | at)
}

/// Where in the character device the descriptors of a queue of `depth` requests lie: offset and length.
pub fn descriptors_at(queue: u16, depth: u16, page: u64) -> (u64, usize) {
    let bytes = |depth: u16| (u64::from(depth) * Descriptor::SIZE as u64).next_multiple_of(page);
    (u64::from(queue) * bytes(MAX_DEPTH), bytes(depth) as usize)
}

/// `struct ublksrv_ctrl_cmd`, without the address and length of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub device: u32,
    /// Its inline data.
    pub word: u64,
}

impl Command {
    pub const SIZE: usize = 32;

    /// Its bytes, with `len` bytes of data at `address`.
    pub fn bytes(&self, address: u64, len: u16) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[0..4].copy_from_slice(&self.device.to_ne_bytes());
        bytes[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&len.to_ne_bytes());
        bytes[8..16].copy_from_slice(&address.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.word.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_io_cmd`, without an address, as it has to be where the server copies the bytes.
pub fn io_command(queue: u16, tag: u16, result: i32) -> [u8; IO_COMMAND as usize] {
    let mut bytes = [0; IO_COMMAND as usize];
    bytes[0..2].copy_from_slice(&queue.to_ne_bytes());
    bytes[2..4].copy_from_slice(&tag.to_ne_bytes());
    bytes[4..8].copy_from_slice(&result.to_ne_bytes());
    bytes
}

/// `struct ublksrv_ctrl_dev_info`, the fields used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    pub queues: u16,
    pub depth: u16,
    pub state: u16,
    /// Bytes of the largest request.
    pub request: u32,
    pub device: u32,
    /// The process that serves it, or did.
    pub server: i32,
    pub features: u64,
    /// Flags of the server (`ublksrv_flags`), which the driver keeps and does not read.
    pub server_flags: u64,
}

impl DeviceInfo {
    pub const SIZE: usize = 64;

    pub fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..2].copy_from_slice(&self.queues.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.depth.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.state.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.request.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.device.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.server.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.features.to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.server_flags.to_ne_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; Self::SIZE]) -> DeviceInfo {
        DeviceInfo {
            queues: u16::from_ne_bytes(at(bytes, 0)),
            depth: u16::from_ne_bytes(at(bytes, 2)),
            state: u16::from_ne_bytes(at(bytes, 4)),
            request: u32::from_ne_bytes(at(bytes, 8)),
            device: u32::from_ne_bytes(at(bytes, 12)),
            server: i32::from_ne_bytes(at(bytes, 16)),
            features: u64::from_ne_bytes(at(bytes, 24)),
            server_flags: u64::from_ne_bytes(at(bytes, 32)),
        }
    }
}

/// `struct ublk_params` with `struct ublk_param_basic` and, for a disk that can be written, `struct ublk_param_discard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// log2 of the best size of a request, in bytes.
    pub best_shift: u8,
    /// Sectors of the largest request.
    pub request: u32,
    /// Sectors of the disk.
    pub sectors: u64,
    /// It can be written, and what was written is durable after a flush.
    pub writable: bool,
}

impl Params {
    pub const SIZE: usize = 64;
    const BASIC: u32 = 1;
    const DISCARD: u32 = 2;
    const READ_ONLY: u32 = 1;
    const VOLATILE_CACHE: u32 = 1 << 2;
    /// Bytes that can be trimmed by themselves, and sectors of the largest request to trim or to make zero.
    const GRANULE: u32 = 4096;
    const ZEROS: u32 = (128 << 20) / SECTOR as u32;
    /// log2 of the logical block size, 512 bytes, and of the physical one, a page.
    const LOGICAL_SHIFT: u8 = 9;
    const PHYSICAL_SHIFT: u8 = 12;

    pub fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = Self::request_bytes();
        let (types, attributes) = match self.writable {
            true => (Self::BASIC | Self::DISCARD, Self::VOLATILE_CACHE),
            false => (Self::BASIC, Self::READ_ONLY),
        };
        bytes[4..8].copy_from_slice(&types.to_ne_bytes());
        bytes[8..12].copy_from_slice(&attributes.to_ne_bytes());
        bytes[12] = Self::LOGICAL_SHIFT;
        bytes[13] = Self::PHYSICAL_SHIFT;
        bytes[14] = self.best_shift;
        bytes[15] = Self::PHYSICAL_SHIFT;
        bytes[16..20].copy_from_slice(&self.request.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.sectors.to_ne_bytes());
        if self.writable {
            // Behind an alignment of 0: granularity, sectors to trim and to make zero, one range in a request.
            bytes[44..48].copy_from_slice(&Self::GRANULE.to_ne_bytes());
            bytes[48..52].copy_from_slice(&Self::ZEROS.to_ne_bytes());
            bytes[52..56].copy_from_slice(&Self::ZEROS.to_ne_bytes());
            bytes[56..58].copy_from_slice(&1u16.to_ne_bytes());
        }
        bytes
    }

    /// What GET_PARAMS is called with: only the size of the structure.
    pub fn request_bytes() -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..4].copy_from_slice(&(Self::SIZE as u32).to_ne_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; Self::SIZE]) -> Params {
        Params {
            best_shift: bytes[14],
            request: u32::from_ne_bytes(at(bytes, 16)),
            sectors: u64::from_ne_bytes(at(bytes, 24)),
            writable: u32::from_ne_bytes(at(bytes, 8)) & Self::READ_ONLY == 0,
        }
    }
}

/// `struct ublksrv_io_desc`: a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub flags: u32,
    pub sectors: u32,
    pub first: u64,
}

impl Descriptor {
    pub const SIZE: usize = 24;

    pub fn parse(bytes: &[u8; Self::SIZE]) -> Descriptor {
        Descriptor {
            flags: u32::from_ne_bytes(at(bytes, 0)),
            sectors: u32::from_ne_bytes(at(bytes, 4)),
            first: u64::from_ne_bytes(at(bytes, 8)),
        }
    }
}

fn at<const N: usize>(bytes: &[u8], from: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[from..from + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a C compiler makes of the header.
    #[test]
    fn codes_are_those_of_the_header() {
        assert_eq!(control::GET_DEV_INFO, 0x8020_7502);
        assert_eq!(control::ADD_DEV, 0xc020_7504);
        assert_eq!(control::DEL_DEV, 0xc020_7505);
        assert_eq!(control::START_DEV, 0xc020_7506);
        assert_eq!(control::STOP_DEV, 0xc020_7507);
        assert_eq!(control::SET_PARAMS, 0xc020_7508);
        assert_eq!(control::GET_PARAMS, 0x8020_7509);
        assert_eq!(control::START_RECOVERY, 0xc020_7510);
        assert_eq!(control::END_RECOVERY, 0xc020_7511);
        assert_eq!(control::GET_FEATURES, 0x8020_7513);
        assert_eq!(control::DEL_DEV_ASYNC, 0x8020_7514);
        assert_eq!(queue::FETCH, 0xc010_7520);
        assert_eq!(queue::COMMIT_AND_FETCH, 0xc010_7521);
    }

    #[test]
    fn places_in_the_character_device() {
        assert_eq!(buffer(0, 0, 0), 0x8000_0000);
        assert_eq!(buffer(0, 1, 5), 0x8000_0000 + (1 << 25) + 5);
        assert_eq!(
            buffer(3, 127, 524_287),
            0x8000_0000 + (3 << 41) + (127 << 25) + 524_287
        );
        assert_eq!(descriptors_at(0, 128, 4096), (0, 4096));
        assert_eq!(descriptors_at(2, 171, 4096), (2 * 98_304, 8192));
        assert_eq!(descriptors_at(1, 4096, 65_536), (131_072, 131_072));
    }

    #[test]
    fn a_command_has_its_fields_where_they_belong() {
        let command = Command {
            device: 0x0403_0201,
            word: 0x1817_1615_1413_1211,
        };
        let bytes = command.bytes(0x0f0e_0d0c_0b0a_0908, 0x0706);
        if cfg!(target_endian = "little") {
            let head = [
                1, 2, 3, 4, 255, 255, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22,
                23, 24,
            ];
            assert_eq!(bytes[..24], head);
        }
        assert_eq!(bytes[24..], [0; 56]);
        assert_eq!(io_command(0, 0, -5)[4..8], (-5i32).to_ne_bytes());
        assert_eq!(io_command(1, 2, 0)[8..], [0; 8]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let info = DeviceInfo {
            queues: 2,
            depth: 128,
            state: LIVE,
            request: 512 << 10,
            device: 7,
            server: 4711,
            features: feature::USER_COPY,
            server_flags: u64::MAX - 1,
        };
        assert_eq!(DeviceInfo::parse(&info.bytes()), info);
        let params = Params {
            best_shift: 16,
            request: 1024,
            sectors: 1 << 40,
            writable: false,
        };
        for writable in [false, true] {
            let params = Params { writable, ..params };
            assert_eq!(Params::parse(&params.bytes()), params);
        }
        let mut bytes = [0; Descriptor::SIZE];
        bytes[0..4].copy_from_slice(&(op::READ | 1 << 8).to_ne_bytes());
        bytes[4..8].copy_from_slice(&8u32.to_ne_bytes());
        bytes[8..16].copy_from_slice(&(1u64 << 35).to_ne_bytes());
        let descriptor = Descriptor {
            flags: 256,
            sectors: 8,
            first: 1 << 35,
        };
        assert_eq!(Descriptor::parse(&bytes), descriptor);
    }
}
