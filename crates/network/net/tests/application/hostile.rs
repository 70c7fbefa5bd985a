//! Applications that write nonsense into their memory: they are cut off, and no other notices.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evener_net::handshake::request_file;
use evener_net::layout::{Control, Layout};
use evener_net::memory::{Region, Span};
use evener_net::{Connection, Stack};

use crate::common::{Host, connected, eventually, hosts};

/// The memory of an application, all of it.
struct Intruder {
    socket: UnixStream,
    region: Arc<Region>,
    layout: Layout,
}

impl Intruder {
    fn new(host: &Host) -> Intruder {
        let mut socket = host.socket();
        let file = request_file(&mut socket).unwrap();
        let layout = Layout::of_file(&file).unwrap();
        let region = Region::of_file(&file, layout.bytes()).unwrap();
        Intruder {
            socket,
            region,
            layout,
        }
    }

    fn all(&self) -> Span {
        Span::new(&self.region, 0, self.layout.bytes())
    }

    fn ring(&mut self) {
        let _ = self.socket.write(&[1]);
    }

    /// The engine has closed the socket.
    fn is_cut_off(&mut self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let mut bytes = [0; 64];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    }
}

fn still_works((near, far): &mut (Connection, Connection)) {
    near.write_all(b"ping").unwrap();
    let mut bytes = [0; 4];
    far.read_exact(&mut bytes).unwrap();
    far.write_all(&bytes).unwrap();
    near.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping");
}

#[test]
fn requests_that_cannot_be_end_an_application() {
    let hosts = hosts();
    let mut others = connected(&hosts);
    for (at, value) in [
        // More requests than there is room for; fewer than there were; one that is none.
        (128, 257_u64),
        (128, u64::MAX),
        (128, 1),
    ] {
        let mut intruder = Intruder::new(&hosts[0]);
        intruder.all().write(at, &value.to_ne_bytes());
        intruder.ring();
        eventually("it is cut off", || intruder.is_cut_off());
        still_works(&mut others);
    }
}

#[test]
fn a_ring_that_cannot_be_ends_an_application_and_its_connections() {
    let hosts = hosts();
    let mut others = connected(&hosts);
    for produced in [true, false] {
        let server = hosts[1].attach();
        let listener = server.listen(hosts[1].at(0), 5).unwrap();
        let to = listener.local_addr().unwrap();
        // The same memory twice: once as the library has it, once as an intruder.
        let mut socket = hosts[0].socket();
        let file = request_file(&mut socket).unwrap();
        let layout = Layout::of_file(&file).unwrap();
        let region = Region::of_file(&file, layout.bytes()).unwrap();
        let mut waker = socket.try_clone().unwrap();
        let stack = Stack::with_file(socket, file).unwrap();
        let mut near = stack.connect(to).unwrap();
        let mut far = listener.accept().unwrap();
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(60)));
        let slot = (0..4)
            .find(|&slot| {
                let send = layout.slots().send(&region, slot);
                let mut word = [0; 8];
                send.read(0, &mut word);
                word != [0; 8]
            })
            .unwrap();
        let ring = if produced {
            layout.slots().send(&region, slot)
        } else {
            layout.slots().receive(&region, slot)
        };
        // The word that the application advances.
        let at = if produced { 0 } else { 128 };
        ring.write(at, &(u64::MAX / 2).to_ne_bytes());
        // All connections have news.
        let all = Span::new(&region, 0, layout.slots().start);
        all.write(1024, &[0xFF; 8]);
        all.write(640, &u64::MAX.to_ne_bytes());
        let _ = waker.write(&[1]);
        let end = far.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset);
        near.set_read_timeout(Some(Duration::from_secs(60)));
        let error = near.read_to_end(&mut Vec::new()).unwrap_err();
        assert_ne!(error.kind(), std::io::ErrorKind::TimedOut);
        still_works(&mut others);
    }
}

/// A library that cleans up after a listener must not meet another that has its number.
#[test]
fn numbers_of_listeners_are_not_used_again() {
    let hosts = hosts();
    let mut socket = hosts[0].socket();
    let file = request_file(&mut socket).unwrap();
    let layout = Layout::of_file(&file).unwrap();
    let region = Region::of_file(&file, layout.bytes()).unwrap();
    let control = Control::new(Span::new(&region, 0, layout.slots().start), layout);
    let mut next = 0;
    let mut call = |kind: u8, number: u32| {
        let mut request = [0; 64];
        request[0] = kind;
        request[4..8].copy_from_slice(&number.to_ne_bytes());
        // The address 10.0.0.1, port 80.
        request[16] = 4;
        request[18..20].copy_from_slice(&80_u16.to_ne_bytes());
        request[24..28].copy_from_slice(&[10, 0, 0, 1]);
        control.set_request(next, &request);
        next += 1;
        control.submitted().store(next, Ordering::Release);
        (&socket).write_all(&[1]).unwrap();
        eventually("there is a reply", || {
            control.replied().load(Ordering::Acquire) == next
        });
        let reply = control.reply(next - 1);
        let word = |at: usize| u32::from_ne_bytes(reply[at..at + 4].try_into().unwrap());
        (word(0) as i32, word(4))
    };
    let (listen, unlisten) = (1, 2);
    let mut numbers = Vec::new();
    for _ in 0..5 {
        let (error, listener) = call(listen, 1);
        assert_eq!(error, 0);
        assert!(!numbers.contains(&listener));
        numbers.push(listener);
        assert_eq!(call(unlisten, listener).0, 0);
        // It ends no other.
        assert_eq!(call(unlisten, listener).0, libc::EBADF);
    }
}

#[test]
fn noise_ends_no_engine() {
    let hosts = hosts();
    let mut others = connected(&hosts);
    let mut state = 0x1234_5678_9ABC_DEF1_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..60 {
        let mut intruder = Intruder::new(&hosts[0]);
        let all = intruder.all();
        // The control part, and the beginnings of some slots.
        let control = intruder.layout.slots().start;
        for _ in 0..40 {
            for _ in 0..50 {
                let at = match random() % 4 {
                    0 => {
                        intruder.layout.slots().at(random() as u32 % 256) + random() as usize % 512
                    }
                    _ => random() as usize % control,
                };
                let bits = random() % 64;
                all.write(at, &(random() >> bits).to_ne_bytes());
            }
            // Requests that can be, of slots that are not there.
            for number in 0..256 {
                let at = control - 2 * 256 * 64 + number * 64;
                let mut entry = [0; 64];
                entry[0] = 1 + (random() % 9) as u8;
                entry[4..8].copy_from_slice(&(random() as u32 % 300).to_ne_bytes());
                entry[16] = 4;
                entry[40] = 4;
                entry[24..28].copy_from_slice(&[10, 0, 0, 1 + (random() % 3) as u8]);
                entry[48..52].copy_from_slice(&[10, 0, 0, 2]);
                entry[42..44].copy_from_slice(&(random() as u16).to_ne_bytes());
                if at + 64 <= control {
                    all.write(at, &entry);
                }
            }
            let submitted = random() % 200;
            all.write(128, &submitted.to_ne_bytes());
            intruder.ring();
        }
        still_works(&mut others);
    }
    eventually("all intruders are gone", || {
        hosts[0].commands.inspect(false).unwrap().applications == 1
    });
    eventually("their connections are gone", || hosts[0].flows() == 1);
}
