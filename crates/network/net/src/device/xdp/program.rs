//! The program that runs for each packet of the interface, and says which the socket gets. The kernel's stack gets the
//! others.
//!
//! With addresses, the socket gets packets of IP that go to them, questions and answers of ARP about them, and what goes
//! to the groups in which neighbours of IPv6 ask for them (RFC 4291, 2.7.1). Without one it gets all.

use std::net::{IpAddr, Ipv6Addr};

use crate::wire::ethernet::{self, ethertype};

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

// Operations of RFC 9669.
const LOAD_HALF: u8 = 0x69;
const LOAD_WORD: u8 = 0x61;
const LOAD_MAP: u8 = 0x18;
const MOVE: u8 = 0xbf;
const MOVE_IMMEDIATE: u8 = 0xb7;
const ADD_IMMEDIATE: u8 = 0x07;
const JUMP: u8 = 0x05;
const JUMP_GREATER: u8 = 0x2d;
const JUMP_EQUAL_WORD: u8 = 0x16;
const JUMP_DIFFERENT_WORD: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// The immediate of `LOAD_MAP` is a file descriptor.
const MAP_BY_FILE: u8 = 1;
const REDIRECT: i32 = 51;
/// What becomes of a packet that goes to the kernel's stack.
const PASS: i32 = 2;

// Where `struct xdp_md` has what is used of it.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

/// Where a jump goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Pass,
    Redirect,
    V4,
    V6,
    Arp,
    /// The check of an address after this many others.
    Next(usize),
}

#[derive(Debug, Default)]
struct Assembler {
    instructions: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Assembler {
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.instructions.push(Instruction {
            code,
            registers: from << 4 | to,
            offset,
            immediate,
        });
    }

    fn jump(&mut self, code: u8, to: u8, from: u8, immediate: i32, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(code, to, from, 0, immediate);
    }

    fn label(&mut self, label: Label) {
        self.labels.push((label, self.instructions.len()));
    }

    /// Goes on if the packet, at register 2, has `len` bytes: its end is in register 3.
    fn need(&mut self, len: usize) {
        self.push(MOVE, 4, 2, 0, 0);
        self.push(ADD_IMMEDIATE, 4, 0, 0, len as i32);
        self.jump(JUMP_GREATER, 4, 3, 0, Label::Pass);
    }

    /// Goes to `label` if the four bytes in a register are these.
    fn if_word(&mut self, code: u8, register: u8, bytes: [u8; 4], label: Label) {
        self.jump(code, register, 0, i32::from_ne_bytes(bytes), label);
    }

    fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let to = self.labels.iter().find(|(name, _)| *name == label);
            let to = to.expect("each label is somewhere").1;
            self.instructions[at].offset = (to as i64 - at as i64 - 1) as i16;
        }
        self.instructions
    }
}

/// The group that a neighbour asks in who has an address.
fn solicited(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let low = u16::from_be_bytes([b, c]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low)
}

/// A program that redirects to the socket in `map`, a file descriptor.
pub(super) fn program(map: i32, addresses: &[IpAddr]) -> Vec<Instruction> {
    let mut code = Assembler::default();
    // Register 6 keeps the argument.
    code.push(MOVE, 6, 1, 0, 0);
    if !addresses.is_empty() {
        choose(&mut code, addresses);
    }
    code.label(Label::Redirect);
    code.push(LOAD_MAP, 1, MAP_BY_FILE, 0, map);
    code.push(0, 0, 0, 0, 0);
    code.push(LOAD_WORD, 2, 6, QUEUE, 0);
    // What is done where a queue has no socket.
    code.push(MOVE_IMMEDIATE, 3, 0, 0, PASS);
    code.push(CALL, 0, 0, 0, REDIRECT);
    code.push(EXIT, 0, 0, 0, 0);
    // The system refuses what nothing leads to.
    if !addresses.is_empty() {
        code.label(Label::Pass);
        code.push(MOVE_IMMEDIATE, 0, 0, 0, PASS);
        code.push(EXIT, 0, 0, 0, 0);
    }
    code.finish()
}

/// Goes to `Redirect` or to `Pass`.
fn choose(code: &mut Assembler, addresses: &[IpAddr]) {
    const IP: usize = ethernet::LEN;
    code.push(LOAD_WORD, 2, 6, DATA, 0);
    code.push(LOAD_WORD, 3, 6, DATA_END, 0);
    code.need(IP);
    code.push(LOAD_HALF, 5, 2, 12, 0);
    for (kind, label) in [
        (ethertype::IPV4, Label::V4),
        (ethertype::IPV6, Label::V6),
        (ethertype::ARP, Label::Arp),
    ] {
        let [high, low] = kind.to_be_bytes();
        let value = i32::from(u16::from_ne_bytes([high, low]));
        code.jump(JUMP_EQUAL_WORD, 5, 0, value, label);
    }
    code.jump(JUMP, 0, 0, 0, Label::Pass);
    // The destination of IPv4, and what a message of ARP asks for or is sent to.
    for (label, len, at) in [(Label::V4, 20, 16), (Label::Arp, 28, 24)] {
        code.label(label);
        code.need(IP + len);
        code.push(LOAD_WORD, 5, 2, (IP + at) as i16, 0);
        for address in addresses {
            if let IpAddr::V4(address) = address {
                code.if_word(JUMP_EQUAL_WORD, 5, address.octets(), Label::Redirect);
            }
        }
        code.jump(JUMP, 0, 0, 0, Label::Pass);
    }
    code.label(Label::V6);
    code.need(IP + 40);
    let registers = [5, 7, 8, 9];
    for (number, register) in registers.into_iter().enumerate() {
        code.push(LOAD_WORD, register, 2, (IP + 24 + 4 * number) as i16, 0);
    }
    let own = addresses.iter().filter_map(|address| match address {
        IpAddr::V6(address) => Some(*address),
        IpAddr::V4(_) => None,
    });
    let wanted = own.flat_map(|address| [address, solicited(address)]);
    for (number, address) in wanted.enumerate() {
        let octets = address.octets();
        let words = octets.as_chunks().0.iter().copied();
        for (register, word) in registers.into_iter().zip(words) {
            code.if_word(JUMP_DIFFERENT_WORD, register, word, Label::Next(number));
        }
        code.jump(JUMP, 0, 0, 0, Label::Redirect);
        code.label(Label::Next(number));
    }
    code.jump(JUMP, 0, 0, 0, Label::Pass);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program over a frame, and says whether the socket gets it.
    fn takes(program: &[Instruction], frame: &[u8]) -> bool {
        // Of a register the value, and whether it is a place in the frame.
        let mut registers = [0i64; 11];
        let mut at = 0;
        loop {
            let Instruction {
                code,
                registers: pair,
                offset,
                immediate,
            } = program[at];
            let (to, from) = (usize::from(pair & 15), usize::from(pair >> 4));
            let mut jumps = false;
            let word = |register: usize| registers[register] as u32;
            match code {
                MOVE => registers[to] = registers[from],
                MOVE_IMMEDIATE => registers[to] = immediate.into(),
                ADD_IMMEDIATE => registers[to] += i64::from(immediate),
                LOAD_WORD if from == 6 => {
                    registers[to] = match offset {
                        DATA_END => frame.len() as i64,
                        _ => 0,
                    }
                }
                LOAD_WORD | LOAD_HALF => {
                    let start = registers[from] as usize + offset as usize;
                    let len = if code == LOAD_WORD { 4 } else { 2 };
                    let mut bytes = [0; 8];
                    bytes[..len].copy_from_slice(&frame[start..start + len]);
                    registers[to] = i64::from_le_bytes(bytes);
                }
                LOAD_MAP => at += 1,
                JUMP => jumps = true,
                JUMP_GREATER => jumps = registers[to] > registers[from],
                JUMP_EQUAL_WORD => jumps = word(to) == immediate as u32,
                JUMP_DIFFERENT_WORD => jumps = word(to) != immediate as u32,
                CALL => return true,
                EXIT => {
                    assert_eq!(registers[0], i64::from(PASS));
                    return false;
                }
                _ => panic!("operation {code:#x}"),
            }
            at = (at as i64 + 1 + if jumps { i64::from(offset) } else { 0 }) as usize;
        }
    }

    fn frame(kind: u16, at: usize, address: IpAddr, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len];
        frame[12..14].copy_from_slice(&kind.to_be_bytes());
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let end = (14 + at + octets.len()).min(len);
        if let Some(to) = frame.get_mut(14 + at..end) {
            to.copy_from_slice(&octets[..to.len()]);
        }
        frame
    }

    #[test]
    fn the_socket_gets_what_goes_to_its_addresses() {
        let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let own = ["10.1.0.2", "fd00::12:3456", "200.0.0.255"].map(address);
        let program = program(7, &own);
        let v4 = |text, len| frame(ethertype::IPV4, 16, address(text), len);
        let v6 = |text, len| frame(ethertype::IPV6, 24, address(text), len);
        let arp = |text, len| frame(ethertype::ARP, 24, address(text), len);
        for yes in [
            v4("10.1.0.2", 34),
            v4("200.0.0.255", 1500),
            arp("10.1.0.2", 60),
            v6("fd00::12:3456", 54),
            v6("ff02::1:ff12:3456", 100),
        ] {
            assert!(takes(&program, &yes));
        }
        for no in [
            v4("10.1.0.3", 34),
            v4("10.1.0.2", 33),
            v4("255.255.255.255", 60),
            arp("10.1.0.1", 60),
            arp("10.1.0.2", 41),
            v6("fd00::12:3457", 54),
            v6("fd01::12:3456", 54),
            v6("ff02::1", 54),
            v6("ff02::1:ff12:3456", 53),
            frame(0x88cc, 16, own[0], 60),
            vec![0; 13],
            Vec::new(),
        ] {
            assert!(!takes(&program, &no), "{no:?}");
        }
    }

    #[test]
    fn without_addresses_the_socket_gets_all() {
        let program = program(7, &[]);
        assert!(takes(&program, &[]) && takes(&program, &[1; 60]));
    }
}
