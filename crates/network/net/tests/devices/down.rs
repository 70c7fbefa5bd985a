//! Interfaces that are set down while a device has them, and up again.

use std::net::{SocketAddr, UdpSocket};

use evener_net::device::Device;
use evener_net::packet::Offload;
use evener_testing::namespace;
use evener_testing::veth::{ip, pair};

use super::ethernet;
use super::peer::{PATIENCE, datagram_packet, open, send_datagram};

fn lost(device: &dyn Device) -> u64 {
    let mut counts = Vec::new();
    device.counts(&mut counts);
    let lost = counts
        .iter()
        .find(|count| count.name == "device_lost_total");
    lost.expect("it is counted").value
}

/// What is sent while an interface is down is lost and counted, and nothing fails. Returns how many of three were lost.
pub fn down(device: &mut dyn Device, name: &str, header_len: usize) -> u64 {
    assert!(ip(&format!("link set {name} down")));
    let ends = ["10.1.0.2:5000", "10.1.0.1:6000"].map(|text| text.parse().expect("an address"));
    let (packet, _) = datagram_packet(ends[0], ends[1], &[7; 100], Offload::default());
    let mut bytes = vec![0; header_len];
    bytes.extend(packet);
    let before = lost(device);
    for _ in 0..3 {
        device
            .receive(64, &mut |_, _| ())
            .expect("an interface that is down");
        super::peer::send(device, &bytes, header_len, Offload::default());
    }
    assert!(ip(&format!("link set {name} up")));
    lost(device) - before
}

#[test]
fn a_tun_goes_on_when_it_is_up_again() {
    namespace::run("down::a_tun_goes_on_when_it_is_up_again", || {
        let mut device = open("tun:t0,addr=10.1.0.1/24");
        assert_eq!(down(&mut *device, "t0", 0), 3);
        let socket = UdpSocket::bind("10.1.0.1:6000").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let own: SocketAddr = "10.1.0.2:5000".parse().expect("an address");
        let kernel = socket.local_addr().expect("an address");
        send_datagram(&mut *device, own, kernel, b"again", Offload::default());
        let mut bytes = [0; 100];
        let (len, from) = socket.recv_from(&mut bytes).expect("a datagram");
        assert_eq!((&bytes[..len], from), (&b"again"[..], own));
    });
}

#[test]
fn a_packet_socket_goes_on_when_its_interface_is_up_again() {
    let name = "down::a_packet_socket_goes_on_when_its_interface_is_up_again";
    namespace::run(name, || {
        if !pair() {
            return;
        }
        let mut device = open("packet:v0");
        assert_eq!(down(&mut *device, "v0", 14), 3);
        ethernet::exchange(&mut *device);
    });
}
