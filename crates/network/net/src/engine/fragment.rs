//! Datagrams that are larger than a packet, as fragments (RFC 791, section 3.2; RFC 8200, section 4.5).

use std::io;
use std::net::SocketAddr;

use super::output::{Exit, Packet};
use crate::memory::Shared;
use crate::wire::checksum::Sum;
use crate::wire::ip::{self, Fragment, protocol};
use crate::wire::udp;

/// A datagram that is being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fragments {
    /// All fragments of the datagram have it.
    pub identification: u32,
    /// Bytes of the datagram that have gone out, its header included. 0: it has not begun.
    done: usize,
}

impl Fragments {
    pub fn is_new(&self) -> bool {
        self.done == 0
    }
}

impl Exit<'_> {
    /// Sends a datagram from where it was left. Returns how many fragments that were, and whether it was all: if not, the
    /// device is full.
    ///
    /// The checksum is of the bytes as they are now. If an application changes them before the rest is sent, the peer drops
    /// the datagram.
    pub fn send_fragments(
        &mut self,
        (local, remote): &(SocketAddr, SocketAddr),
        [first, second]: [Shared<'_>; 2],
        mtu: usize,
        fragments: &mut Fragments,
    ) -> io::Result<(u64, bool)> {
        let len = udp::LEN + first.len() + second.len();
        let scratch = std::mem::take(&mut self.scratch);
        let datagram = &mut scratch[..len];
        let header = udp::Header {
            source_port: local.port(),
            destination_port: remote.port(),
            length: len as u16,
            checksum: 0,
        };
        udp::write(&header, datagram);
        let (to_first, to_second) = datagram[udp::LEN..].split_at_mut(first.len());
        first.copy_to(to_first);
        second.copy_to(to_second);
        let pseudo = Sum::pseudo(local.ip(), remote.ip(), protocol::UDP, len as u32);
        let checksum = udp::field(pseudo.add(datagram).folded());
        datagram[udp::CHECKSUM_AT..udp::LEN].copy_from_slice(&checksum.to_be_bytes());

        let sent = self.send_parts(local, remote, datagram, mtu, fragments);
        self.scratch = scratch;
        sent
    }

    fn send_parts(
        &mut self,
        local: &SocketAddr,
        remote: &SocketAddr,
        datagram: &mut [u8],
        mtu: usize,
        fragments: &mut Fragments,
    ) -> io::Result<(u64, bool)> {
        let mut count = 0;
        while fragments.done < datagram.len() {
            let mut header = ip::Header::new(local.ip(), remote.ip(), protocol::UDP);
            header.dont_fragment = false;
            header.fragment = Some(Fragment {
                identification: fragments.identification,
                offset: fragments.done as u16,
                more: true,
            });
            let rest = &mut datagram[fragments.done..];
            // All but the last have a multiple of eight bytes.
            let room = (mtu - header.len()) & !7;
            let (len, left) = (rest.len().min(room), rest.len());
            if let Some(fragment) = &mut header.fragment {
                fragment.more = len < left;
            }
            // The first has the header of UDP.
            let headers = if fragments.done == 0 { udp::LEN } else { 0 };
            let (transport, payload) = rest[..len].split_at_mut(headers);
            let packet = Packet {
                ip: header,
                header: transport,
                checksum_at: None,
                payload: [Shared::from(&*payload), Shared::EMPTY],
                segment: 0,
            };
            if !self.send(packet)? {
                return Ok((count, false));
            }
            count += 1;
            fragments.done += len;
        }
        *fragments = Fragments::default();
        Ok((count, true))
    }
}
