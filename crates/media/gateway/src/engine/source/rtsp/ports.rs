//! Pairs of ports for RTP and RTCP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::engine::source::udp::Udp;
use crate::engine::wait::{Token, Waiter};

/// How often a pair is looked for: the neighbour of a free port may be in use.
const TRIES: usize = 32;

/// The sockets of a track.
#[derive(Debug)]
pub struct Ports {
    /// At an even port.
    pub rtp: Udp,
    /// At the next.
    pub rtcp: Udp,
}

impl Ports {
    /// A free pair (RFC 3550, section 11) at an address of this machine. Their tokens are `first` and the next.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(local: IpAddr, source: u32, first: u8, waiter: &Waiter) -> io::Result<Ports> {
        let mut failure = None;
        // Ports that are not used are kept until the end, so that the system gives others.
        let mut unused = Vec::new();
        for _ in 0..TRIES {
            let one = Udp::bind(SocketAddr::new(local, 0))?;
            let port = one.local()?.port();
            match Udp::bind(SocketAddr::new(local, port ^ 1)) {
                Ok(other) => {
                    let is_even = port.is_multiple_of(2);
                    let (rtp, rtcp) = if is_even { (one, other) } else { (other, one) };
                    waiter.add(Token::Source(source, first), rtp.as_fd())?;
                    waiter.add(Token::Source(source, first + 1), rtcp.as_fd())?;
                    return Ok(Ports { rtp, rtcp });
                }
                Err(error) => failure = Some(error),
            }
            unused.push(one);
        }
        Err(failure.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    /// Their numbers.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn numbers(&self) -> io::Result<(u16, u16)> {
        Ok((self.rtp.local()?.port(), self.rtcp.local()?.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_an_even_port_and_the_next() {
        let waiter = Waiter::new().unwrap();
        let open = |_| Ports::open([127, 0, 0, 1].into(), 0, 1, &waiter).unwrap();
        let pairs: Vec<Ports> = (0..20).map(open).collect();
        for pair in &pairs {
            let (rtp, rtcp) = pair.numbers().unwrap();
            assert_eq!((rtp % 2, rtcp), (0, rtp + 1));
        }
    }
}
