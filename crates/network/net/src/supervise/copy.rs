//! Bytes between the pair of sockets and the stack.

use std::io::{BufRead, ErrorKind};
use std::net::Shutdown;
use std::os::fd::AsFd;

use rustix::io::Errno as Kernel;
use rustix::net::{RecvFlags, SendFlags, recv, send, shutdown};

use super::socket::{Ready, Stream, discard};
use super::sys::Errno;
use crate::Poller;
use crate::client::Interest;

/// Bytes in one direction after which others have their turn.
const TURN: usize = 1 << 20;
/// Bytes of one call: what is in the cache of the processor when the program reads it.
const PIECE: usize = 1 << 17;

/// What comes after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Something has to change first.
    Waits,
    /// There is more to do at once.
    More,
    /// The program has closed it, and the stack has all.
    Closed,
    /// The connection was ended by an error, and the program has all that came before.
    Broken(Errno),
}

/// Copies in both directions as far as it goes.
pub fn copy(
    stream: &mut Stream,
    near: &impl AsFd,
    ready: &mut Ready,
    (poller, name): (&Poller, u64),
) -> After {
    let more_in = to_program(stream, near, ready);
    let more_out = to_stack(stream, near, ready);
    let progress = stream.connection.link().progress();
    if progress.closed && !stream.over {
        stream.over = true;
        poller.remove(&stream.connection);
    }
    if stream.over && progress.available == 0 && progress.error != 0 && !stream.program_deaf {
        return After::Broken(progress.error);
    }
    if ready.hung_up && stream.program_ended {
        return After::Closed;
    }
    let interest = Interest {
        readable: (ready.writable || stream.program_deaf) && !stream.peer_ended,
        writable: stream.no_room || !stream.connected,
    };
    if !stream.over && interest != stream.interest {
        stream.interest = interest;
        poller.add(&stream.connection, name, interest);
    }
    match more_in || more_out {
        true => After::More,
        false => After::Waits,
    }
}

/// True if there is more.
fn to_program(stream: &mut Stream, near: &impl AsFd, ready: &mut Ready) -> bool {
    let mut left = TURN;
    while (ready.writable || stream.program_deaf) && !stream.peer_ended {
        if left == 0 {
            return true;
        }
        let progress = stream.connection.link().progress();
        if progress.available == 0 {
            if progress.finished || progress.closed && progress.error == 0 {
                stream.peer_ended = true;
                let _ = shutdown(near, rustix::net::Shutdown::Write);
            }
            return false;
        }
        let Ok(bytes) = stream.connection.fill_buf() else {
            return false;
        };
        let bytes = &bytes[..bytes.len().min(PIECE).min(left)];
        let done = match stream.program_deaf {
            true => bytes.len(),
            false => match send(near, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(n) => n,
                Err(Kernel::INTR) => 0,
                Err(Kernel::AGAIN | Kernel::NOBUFS | Kernel::NOMEM) => {
                    ready.writable = false;
                    0
                }
                Err(_) => {
                    stream.program_deaf = true;
                    0
                }
            },
        };
        stream.connection.consume(done);
        left -= done;
    }
    false
}

/// True if there is more.
fn to_stack(stream: &mut Stream, near: &impl AsFd, ready: &mut Ready) -> bool {
    let mut left = TURN;
    stream.no_room = false;
    while ready.readable && stream.connected && !stream.program_ended {
        if left == 0 {
            return true;
        }
        if !discard(near.as_fd(), &mut stream.filling) {
            ready.readable = false;
            return false;
        }
        let mut nowhere = [0; 1 << 12];
        let broken = stream.connection.link().progress().error != 0;
        let (room, goes) = match stream.connection.space() {
            Ok(room) => {
                let most = room.len().min(PIECE).min(left);
                (&mut room[..most], true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stream.no_room = true;
                return false;
            }
            // What is left there makes the program's end say that the connection was reset.
            Err(_) if broken && !ready.hung_up => return false,
            Err(_) => (&mut nowhere[..], false),
        };
        match recv(near, room, RecvFlags::DONTWAIT) {
            Ok((n, _)) if n > 0 => {
                left -= n.min(left);
                if goes {
                    stream.connection.commit(n);
                }
            }
            Err(Kernel::INTR) => {}
            Err(Kernel::AGAIN) => ready.readable = false,
            // The end, or the program has closed it without reading all.
            Ok(_) | Err(_) => {
                stream.program_ended = true;
                stream.connection.shutdown(Shutdown::Write);
            }
        }
    }
    false
}
