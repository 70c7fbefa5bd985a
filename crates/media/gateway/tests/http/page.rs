//! The page of `/status` in a browser.

use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use super::*;

/// Looks into the page of the gateway until it is live and has rates, and says what it shows.
const LOOK: &str = "<!doctype html><iframe src=/status width=1200 height=900></iframe><script>
const text = (page, what) => [...page.querySelectorAll(what)].map(element => element.textContent);
const look = () => {
    const page = document.querySelector('iframe').contentDocument;
    const tiles = page && text(page, '#tiles dd');
    if (!page || text(page, '#state')[0] != 'live' || tiles[2].startsWith('–')) return setTimeout(look, 200);
    const found = {tiles, clients: page.querySelectorAll('#clients tbody tr').length,
        sources: text(page, '#sources tbody td'), first: text(page, '#clients tbody tr:first-child td')};
    fetch('/said/' + encodeURIComponent(JSON.stringify(found)));
};
look();
</script>";

struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers for the test, and has the gateway answer what is not for it: so both are of one origin.
fn answer(browser: TcpStream, gateway: SocketAddr, said: &mpsc::Sender<String>) -> io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(&browser);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/status") {
        let mut to = TcpStream::connect(gateway)?;
        to.write_all(head.replace("keep-alive", "close").as_bytes())?;
        io::copy(&mut to, &mut &browser)?;
        return Ok(());
    }
    if let Some(text) = path.strip_prefix("/said/") {
        let _ = said.send(text.to_owned());
    }
    let response =
        format!("HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{LOOK}");
    (&browser).write_all(response.as_bytes())
}

/// Text without percent-encoding.
fn decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).unwrap()
}

/// What a browser shows of the page.
fn shown(gateway: SocketAddr) -> Option<serde_json::Value> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("http://{}/", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let profile = format!("--user-data-dir={}", folder.path().to_str().unwrap());
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        &profile,
        &page,
    ]);
    let Ok(browser) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        evener_testing::skip("the program chromium is not installed");
        return None;
    };
    let _browser = Browser(browser);
    let (said, says) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let said = said.clone();
            thread::spawn(move || answer(stream, gateway, &said));
        }
    });
    let text = says.recv_timeout(Duration::from_secs(90)).unwrap();
    Some(serde_json::from_str(&decode(&text)).unwrap())
}

#[test]
fn a_browser_shows_a_thousand_clients_live() {
    const CLIENTS: usize = 1000;
    evener_sockets::raise_file_limit();
    gateway(Config::default(), |to, cancel| {
        let source = free_port();
        let clients: Vec<TcpStream> = (0..CLIENTS)
            .map(|_| {
                let stream = connect(to);
                let request = format!("GET /udp/{source} HTTP/1.0\r\n\r\n");
                (&stream).write_all(request.as_bytes()).unwrap();
                stream
            })
            .collect();
        wait_for(to, CLIENTS as u64);
        thread::scope(|scope| {
            scope.spawn(|| {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                for number in 0.. {
                    if cancel.is_cancelled() {
                        return;
                    }
                    let _ = socket.send_to(&datagram(7 * number), source);
                    thread::sleep(Duration::from_millis(100));
                }
            });
            clients.iter().for_each(|stream| drop(head(stream)));
            let shown = std::panic::catch_unwind(|| shown(to));
            cancel.cancel();
            let Some(shown) = shown.unwrap() else { return };
            assert_eq!(shown["clients"], CLIENTS, "{shown}");
            assert_eq!(
                (&shown["tiles"][0], &shown["tiles"][1]),
                (&"1,000".into(), &"1".into())
            );
            assert_eq!(shown["sources"][0], format!("udp {source}"));
            assert_eq!(shown["sources"][1], "1,000");
            // Ten datagrams of 1316 bytes a second.
            let rate = shown["tiles"][2].as_str().unwrap();
            let rate: f64 = rate.strip_suffix(" Mbit/s").unwrap().parse().unwrap();
            assert!((0.03..0.2).contains(&rate), "{shown}");
            assert_eq!(shown["first"][1], format!("udp {source}"));
            // How late it is, and the round-trip time of its connection.
            for column in [4, 5] {
                let text = shown["first"][column].as_str().unwrap();
                assert!(text.ends_with(" ms"), "{shown}");
            }
        });
    });
}
