//! The filter: which system calls are heard of. All others cost what they did.

use libc::sock_filter;

/// The architecture whose system calls the filter knows, as `linux/audit.h` has it. Calls of another, such as those of 32
/// bits, go to the kernel.
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xC000_003E
} else if cfg!(target_arch = "aarch64") {
    0xC000_00B7
} else {
    0
};

/// Whether there is a filter for this architecture.
pub const SUPPORTED: bool = ARCHITECTURE != 0;

/// The calls that are heard of: those that make connections, and those whose answer a pair of Unix sockets has not.
pub const CALLS: [libc::c_long; 9] = [
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
];

/// A tenth call, if its second argument is `EPOLL_CTL_ADD`: a socket may be in an epoll before it is one of the stack.
pub const EPOLL: libc::c_long = libc::SYS_epoll_ctl;

/// Where `struct seccomp_data` has the number of the call, and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The lower half of the second argument, where numbers begin with their lowest byte.
const SECOND_AT: u32 = 24;

/// Instructions of BPF.
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

const LENGTH: usize = CALLS.len() + 8;

fn instruction(code: u32, k: u32, if_equal: usize, if_not: usize) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: if_equal as u8,
        jf: if_not as u8,
        k,
    }
}

/// The program. It is made without memory of the heap, as it is in a child of `fork`.
pub fn program() -> [sock_filter; LENGTH] {
    let mut program = [instruction(0, 0, 0, 0); LENGTH];
    let (allow, notify) = (LENGTH - 2, LENGTH - 1);
    program[0] = instruction(LOAD, ARCHITECTURE_AT, 0, 0);
    program[1] = instruction(JUMP_IF_EQUAL, ARCHITECTURE, 0, allow - 2);
    program[2] = instruction(LOAD, NUMBER_AT, 0, 0);
    for (at, call) in (3..).zip(CALLS) {
        program[at] = instruction(JUMP_IF_EQUAL, call as u32, notify - at - 1, 0);
    }
    let epoll = CALLS.len() + 3;
    program[epoll] = instruction(JUMP_IF_EQUAL, EPOLL as u32, 0, allow - epoll - 1);
    program[epoll + 1] = instruction(LOAD, SECOND_AT, 0, 0);
    let add = libc::EPOLL_CTL_ADD as u32;
    program[epoll + 2] = instruction(JUMP_IF_EQUAL, add, 1, 0);
    program[allow] = instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
    program[notify] = instruction(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program says of a call, by a machine that knows these instructions.
    fn verdict(architecture: u32, call: u32, second: u32) -> u32 {
        let program = program();
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match u32::from(step.code) {
                LOAD => {
                    accumulator = match step.k {
                        NUMBER_AT => call,
                        ARCHITECTURE_AT => architecture,
                        SECOND_AT => second,
                        other => panic!("loads {other}"),
                    }
                }
                JUMP_IF_EQUAL if accumulator == step.k => at += usize::from(step.jt),
                JUMP_IF_EQUAL => at += usize::from(step.jf),
                RETURN => return step.k,
                other => panic!("instruction {other}"),
            }
        }
    }

    #[test]
    fn control_calls_are_heard_of_and_no_others() {
        for call in 0..600 {
            let heard = CALLS.contains(&libc::c_long::from(call));
            for second in 0..4 {
                let adds = libc::c_long::from(call) == EPOLL && second == 1;
                let expected = match heard || adds {
                    true => libc::SECCOMP_RET_USER_NOTIF,
                    false => libc::SECCOMP_RET_ALLOW,
                };
                let found = verdict(ARCHITECTURE, call as u32, second);
                assert_eq!(found, expected, "{call} {second}");
            }
            // The same numbers mean other things where calls have 32 bits.
            let other = verdict(0x4000_0003, call as u32, 1);
            assert_eq!(other, libc::SECCOMP_RET_ALLOW, "{call}");
        }
    }
}
