//! Many connections and threads of one application.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::common::{SIZES, eventually, hosts};

#[test]
fn threads_of_an_application_wait_side_by_side() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let listener = server.listen(other.at(0), 64).unwrap();
    let to = listener.local_addr().unwrap();
    let acceptor = thread::spawn(move || {
        let echoes: Vec<_> = (0..24)
            .map(|_| {
                let mut connection = listener.accept().unwrap();
                thread::spawn(move || {
                    let mut byte = [0];
                    while connection.read(&mut byte).unwrap() == 1 {
                        connection.write_all(&byte).unwrap();
                    }
                })
            })
            .collect();
        echoes.into_iter().for_each(|echo| echo.join().unwrap());
    });
    let clients: Vec<_> = (0..24u8)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || {
                let mut connection = client.connect(to).unwrap();
                for round in 0..100u8 {
                    if round % 25 == number {
                        // Long enough that all sleep.
                        thread::sleep(Duration::from_millis(2));
                    }
                    let byte = round.wrapping_mul(number);
                    connection.write_all(&[byte]).unwrap();
                    let mut back = [0];
                    connection.read_exact(&mut back).unwrap();
                    assert_eq!(back, [byte]);
                }
            })
        })
        .collect();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    acceptor.join().unwrap();
}

#[test]
fn slots_are_used_again_and_never_mixed_up() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let listener = Arc::new(server.listen(other.at(0), 64).unwrap());
    let to = listener.local_addr().unwrap();
    let servers: Vec<_> = (0..2)
        .map(|_| {
            let listener = Arc::clone(&listener);
            thread::spawn(move || {
                loop {
                    let mut connection = listener.accept().unwrap();
                    let mut name = Vec::new();
                    connection.read_to_end(&mut name).unwrap();
                    if name == b"end" {
                        return;
                    }
                    connection.write_all(&name).unwrap();
                }
            })
        })
        .collect();
    let clients: Vec<_> = (0..2)
        .map(|thread| {
            let client = client.clone();
            thread::spawn(move || {
                for number in 0..2 * SIZES.connections {
                    let mut connection = client.connect(to).unwrap();
                    let name = format!("{thread} {number}");
                    connection.write_all(name.as_bytes()).unwrap();
                    connection.shutdown(std::net::Shutdown::Write);
                    let mut back = String::new();
                    connection.read_to_string(&mut back).unwrap();
                    assert_eq!(back, name);
                }
            })
        })
        .collect();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    for _ in &servers {
        client.connect(to).unwrap().write_all(b"end").unwrap();
    }
    servers
        .into_iter()
        .for_each(|server| server.join().unwrap());
}

#[test]
fn an_application_has_so_many_connections_and_no_more() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let listener = server.listen(other.at(0), 64).unwrap();
    let to = listener.local_addr().unwrap();
    let mut pairs = Vec::new();
    for _ in 0..SIZES.connections {
        let near = client.connect(to).unwrap();
        pairs.push((near, listener.accept().unwrap()));
    }
    let error = client.connect(to).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOBUFS));
    pairs.drain(..10);
    eventually("there is room again", || client.connect(to).is_ok());
}
