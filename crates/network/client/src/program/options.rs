//! Options of sockets that mean something to a stack.

use crate::client::Choice;

/// The number that a value is, or begins with.
pub fn number(value: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
}

/// What an option that is on or off says of a connection; none if it says nothing to a stack.
pub fn choice(level: i32, name: i32, on: bool) -> Option<Choice> {
    match (level, name) {
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => Some(Choice::NoDelay(on)),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => Some(Choice::KeepAlive(on)),
        _ => None,
    }
}

/// The value of `SO_LINGER`: whether closing waits or resets, and for how many seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linger {
    /// Whether it is on.
    pub on: bool,
    /// How long closing waits.
    pub seconds: i32,
}

impl Linger {
    /// Of the bytes of a `linger` of `sys/socket.h`; none if they are too few.
    pub fn decode(value: &[u8]) -> Option<Linger> {
        Some(Linger {
            on: number(value)? != 0,
            seconds: number(value.get(4..)?)?,
        })
    }

    /// As `decode` takes it.
    pub fn encode(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&i32::from(self.on).to_ne_bytes());
        bytes[4..].copy_from_slice(&self.seconds.to_ne_bytes());
        bytes
    }

    /// Whether closing resets.
    pub fn resets(self) -> bool {
        self.on && self.seconds == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_whole_or_none() {
        let linger = |on, seconds| Linger { on, seconds };
        for (value, resets) in [
            (linger(true, 0), true),
            (linger(true, 5), false),
            (linger(false, 0), false),
        ] {
            assert_eq!(value.resets(), resets);
            assert_eq!(Linger::decode(&value.encode()), Some(value));
            assert_eq!(Linger::decode(&value.encode()[..7]), None);
        }
        assert_eq!(
            number(&7_i64.to_ne_bytes()),
            Some(if cfg!(target_endian = "little") { 7 } else { 0 })
        );
        assert_eq!(number(&[1, 0, 0]), None);
    }

    #[test]
    fn options_that_a_stack_has_are_chosen() {
        let choose = |level, name| choice(level, name, true);
        assert_eq!(
            choose(libc::IPPROTO_TCP, libc::TCP_NODELAY),
            Some(Choice::NoDelay(true))
        );
        assert_eq!(
            choose(libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            Some(Choice::KeepAlive(true))
        );
        // The same number at another level.
        assert_eq!(choose(libc::SOL_SOCKET, libc::TCP_NODELAY), None);
    }
}
