//! AF_XDP over a pair of veth.

use std::io;
use std::net::UdpSocket;
use std::time::Instant;

use evener_net::device::{Context, Device, Specification};
use evener_net::packet::{Offload, Outgoing};
use evener_testing::namespace;
use evener_testing::veth::{complete_checksums, ip, pair};

use super::down::down;
use super::ethernet::exchange;
use super::peer::{PATIENCE, open};

fn xdp(addresses: &[&str]) -> Option<Box<dyn Device>> {
    let context = Context {
        addresses: addresses
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect(),
        ..Context::default()
    };
    let specification = Specification::parse("xdp:v0").expect("a specification");
    match specification.open_with(&context) {
        Ok(device) => Some(device),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            evener_testing::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn frames_are_exchanged_with_the_kernel() {
    let name = "xdp::frames_are_exchanged_with_the_kernel";
    namespace::run_as_administrator(name, || {
        if pair()
            && complete_checksums()
            && let Some(mut device) = xdp(&["10.1.0.2", "fd00::2"])
        {
            // One waits in the ring until the interface is up again.
            assert_eq!(down(&mut *device, "v0", 14), 2);
            exchange(&mut *device);
            assert!(ip("link del v0"));
            let start = Instant::now();
            let error = loop {
                device.before_wait();
                match device.receive(64, &mut |_, _| ()) {
                    Ok(_) => assert!(start.elapsed() < PATIENCE),
                    Err(error) => break error,
                }
            };
            assert!(
                error.to_string().contains("the interface is gone"),
                "{error}"
            );
        }
    });
}

/// Datagrams of the kernel to an address, of which a device gets some.
fn taken(device: &mut dyn Device, to: &str) -> usize {
    let socket = UdpSocket::bind("10.1.0.1:6000").expect("a socket");
    // What came before.
    while device.receive(64, &mut |_, _| ()).expect("a device") > 0 {}
    for _ in 0..5 {
        socket.send_to(b"find me", (to, 7)).expect("sent");
    }
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed().as_millis() < 300 {
        let mut each = |bytes: &[u8], _| count += usize::from(bytes.ends_with(b"find me"));
        device.receive(64, &mut each).expect("a device");
    }
    count
}

#[test]
fn the_kernel_keeps_what_goes_to_other_addresses() {
    let name = "xdp::the_kernel_keeps_what_goes_to_other_addresses";
    namespace::run_as_administrator(name, || {
        if !pair() {
            return;
        }
        for host in ["10.1.0.2", "10.1.0.9"] {
            assert!(ip(&format!(
                "neigh add {host} lladdr 02:00:00:00:00:09 dev v1"
            )));
        }
        if let Some(mut device) = xdp(&["10.1.0.2"]) {
            // A packet socket sees what comes to the kernel's stack.
            let mut kernel = open("packet:v0,offload=off");
            assert_eq!(taken(&mut *device, "10.1.0.2"), 5);
            assert_eq!(taken(&mut *kernel, "10.1.0.2"), 0);
            assert_eq!(taken(&mut *kernel, "10.1.0.9"), 5);
            assert_eq!(taken(&mut *device, "10.1.0.9"), 0);
        }
        // When it is closed, the kernel has all again.
        let mut kernel = open("packet:v0,offload=off");
        assert_eq!(taken(&mut *kernel, "10.1.0.2"), 5);
        if let Some(mut device) = xdp(&[]) {
            assert_eq!(taken(&mut *device, "10.1.0.9"), 5);
        }
    });
}

fn frame(number: u32) -> Vec<u8> {
    let len = 60 + (number.wrapping_mul(2_654_435_761) >> 16) as usize % 1455;
    let mut frame = vec![number as u8; len];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    // A type for experiments (IEEE 802), which the kernel does not answer.
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_le_bytes());
    frame
}

/// Sends far more frames than there are places, a window at a time.
fn many(from: &mut dyn Device, to: &mut dyn Device) {
    const COUNT: u32 = 20_000;
    let (mut sent, mut received) = (0, 0);
    let mut moved = Instant::now();
    while received < COUNT {
        while sent < COUNT && sent - received < 100 {
            let bytes = frame(sent);
            let (header, payload) = bytes.split_at(14);
            let (first, second) = payload.split_at(payload.len() / 3);
            let packet = Outgoing {
                header,
                payload: [first.into(), second.into()],
                offload: Offload::default(),
            };
            if !from.send(packet).expect("a device") {
                break;
            }
            sent += 1;
        }
        from.flush().expect("a device");
        let mut each = |bytes: &[u8], _| {
            if bytes[12..14] == [0x88, 0xb5] {
                assert!(bytes == frame(received), "frame {received}");
                received += 1;
                moved = Instant::now();
            }
        };
        to.receive(64, &mut each).expect("a device");
        assert!(moved.elapsed() < PATIENCE, "{received} of {sent} frames");
    }
}

#[test]
fn many_frames_pass_both_ways() {
    let name = "xdp::many_frames_pass_both_ways";
    namespace::run_as_administrator(name, || {
        if pair()
            && let Some(mut device) = xdp(&[])
        {
            let mut other = open("packet:v1,offload=off");
            many(&mut *device, &mut *other);
            many(&mut *other, &mut *device);
        }
    });
}
