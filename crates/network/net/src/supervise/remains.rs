//! Sockets whose connection was reset: the program still has its end of the pair, and the other end is gone.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// How many are remembered.
const MOST: usize = 1024;

/// The addresses of the latest of them: nothing tells when the program closes one.
#[derive(Debug, Default)]
pub struct Remains(VecDeque<(u64, SocketAddr, bool)>);

impl Remains {
    /// Adds one: its name, its address, and whether that is told as one of IPv6.
    pub fn add(&mut self, name: u64, local: SocketAddr, six: bool) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((name, local, six));
    }

    /// The address of one, and whether it is told as one of IPv6.
    pub fn get(&self, name: u64) -> Option<(SocketAddr, bool)> {
        let found = self.0.iter().rev().find(|(other, ..)| *other == name);
        found.map(|&(_, local, six)| (local, six))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let mut remains = Remains::default();
        let local = "10.1.0.2:80".parse().unwrap();
        for name in 0..2000 {
            remains.add(name, local, name % 2 == 0);
        }
        assert_eq!(remains.get(1998), Some((local, true)));
        assert_eq!(remains.get(976), Some((local, true)));
        assert_eq!(remains.get(975), None);
    }
}
