//! The kernel's stack at both ends: a pair of veth, one end in a namespace of its own.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

use super::namespace::{Namespace, ip};
use super::place::End;
use super::{kernel, thousands, until};

const CONGESTION: &str = "cubic";

/// The addresses of the ends: in the namespace of the caller, and in the other.
fn ends() -> [SocketAddr; 2] {
    [([10, 3, 0, 1], 9000).into(), ([10, 3, 0, 2], 80).into()]
}

/// The other namespace, with a pair of veth whose ends are up.
fn pair() -> io::Result<Namespace> {
    let namespace = Namespace::new()?;
    let [here, there] = ends();
    ip(&format!(
        "link add evbench0 type veth peer name evbench1 netns {}",
        namespace.id()
    ))?;
    ip(&format!("address add {}/24 dev evbench0", here.ip()))?;
    ip("link set evbench0 up")?;
    namespace.within(|| {
        ip(&format!("address add {}/24 dev evbench1", there.ip()))?;
        ip("link set evbench1 up")
    })?;
    Ok(namespace)
}

/// The kernel asks the kernel, with a byte, and waits for a byte.
pub fn requests(time: Duration) -> io::Result<f64> {
    let namespace = pair()?;
    let [_, there] = ends();
    let listener = namespace.within(|| TcpListener::bind(there))?;
    thread::scope(|scope| {
        let serve = || kernel::echo(&mut kernel::accept(&listener, CONGESTION)?);
        let server = scope.spawn(move || End::Stack.run(serve));
        let count = End::Peer.run(|| {
            let mut stream = kernel::connect(there, CONGESTION)?;
            Ok(kernel::ask(&mut stream, 1, until(time))?.len() as u64)
        });
        server.join().expect("the other end does not panic")?;
        Ok(thousands(count?, time))
    })
}

/// The kernel counts datagrams that the kernel sends.
pub fn datagrams(len: usize, time: Duration) -> io::Result<f64> {
    let namespace = pair()?;
    let [here, there] = ends();
    let socket = UdpSocket::bind(here)?;
    let sender = namespace.within(|| UdpSocket::bind(there))?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| kernel::send_datagrams(&sender, here, len, until(time)));
        let count = kernel::count_datagrams(&socket, until(time))?;
        sender.join().expect("the other end does not panic")?;
        Ok(thousands(count, time))
    })
}
