//! Two engines as `evener net run` runs them, over a wire. One test, as it looks at the processor time of the process.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use etherparse::{SlicedPacket, TransportSlice};
use evener_net::Stack;
use evener_net::layout::Sizes;
use evener_net::session::{DEFAULT_SPIN, RunOptions, SessionError, run, status};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;
use evener_testing::pcapng;
use rustix::time::{ClockId, clock_gettime};

fn options(folder: &Path, name: &str, address: &str) -> RunOptions {
    let wire = format!("wire:{}", folder.join("wire").display());
    let mirror = folder.join(format!("{name}-begin.pcapng"));
    let filter = format!("mirror {} tcp flags syn; count out tcp", mirror.display());
    RunOptions {
        device: Arc::new(wire.parse().unwrap()),
        addresses: vec![address.parse().unwrap()],
        gateways: Vec::new(),
        core: None,
        socket: folder.join(name),
        congestion: Algorithm::Bbr,
        metrics: Some("tcp:127.0.0.1:0".parse().unwrap()),
        hosts: Vec::new(),
        spin: DEFAULT_SPIN,
        pcap: Some(folder.join(format!("{name}.pcapng"))),
        filter: Some(filter.parse().unwrap()),
        sizes: Sizes::default(),
    }
}

/// Processor time of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn two_engines_over_a_wire() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancelToken::new();
    let engines = ["a", "b"].map(|name| {
        let address = if name == "a" {
            "10.3.0.1/24"
        } else {
            "10.3.0.2/24"
        };
        let options = options(folder.path(), name, address);
        let cancel = cancel.clone();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let session = run(options, cancel).unwrap();
            let line = session.to_string();
            assert!(line.contains("applications at unix:"), "{line}");
            tell.send(session.metrics_address().unwrap().to_string())
                .unwrap();
            session.run(&runtime).unwrap().to_string()
        });
        (thread, told)
    });
    let [(a, a_metrics), (b, b_metrics)] = engines;
    let metrics = [a_metrics, b_metrics].map(|told| told.recv().unwrap());

    let near = Stack::attach(folder.path().join("a")).unwrap();
    let far = Stack::attach(folder.path().join("b")).unwrap();
    let listener = far.listen("10.3.0.2:80".parse().unwrap(), 5).unwrap();
    let mut client = near.connect(listener.local_addr().unwrap()).unwrap();
    let mut server = listener.accept().unwrap();
    let echo = thread::spawn(move || {
        while let Ok(data @ [_, ..]) = server.fill_buf() {
            let len = data.len();
            let copy = data.to_vec();
            server.write_all(&copy).unwrap();
            server.consume(len);
        }
    });
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n / 3) as u8).collect();
    let (receive, send) = client.halves();
    let mut back = vec![0; bytes.len()];
    thread::scope(|scope| {
        scope.spawn(|| send.write_all(&bytes).unwrap());
        receive.read_exact(&mut back).unwrap();
    });
    assert!(back == bytes);

    let text = status(folder.path().join("a")).unwrap();
    assert!(text.contains("1 application, 1 connection\n"), "{text}");
    assert!(text.contains("10.3.0.1:"), "{text}");
    assert!(text.contains("Established"), "{text}");
    assert!(text.contains(" of rule 2: count out tcp"), "{text}");
    for address in metrics {
        let mut page = String::new();
        let mut http = TcpStream::connect(address.trim_start_matches("tcp:")).unwrap();
        http.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        http.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.0 200"), "{page}");
        assert!(page.contains("\nevener_net_applications 1\n"), "{page}");
        let metric = "\nevener_net_filter_packets_total{of=\"rule 1: mirror ";
        assert!(page.contains(metric), "{page}");
        // A page whose name leads here gets nothing.
        let mut http = TcpStream::connect(address.trim_start_matches("tcp:")).unwrap();
        let request = b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n";
        http.write_all(request).unwrap();
        page.clear();
        http.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.0 421"), "{page}");
    }
    // One that asks for nothing keeps no other waiting, nor does noise.
    let _silent = std::os::unix::net::UnixStream::connect(folder.path().join("a")).unwrap();
    let mut noise = std::os::unix::net::UnixStream::connect(folder.path().join("a")).unwrap();
    noise.write_all(b"GET / HTTP/1.0").unwrap();
    drop(Stack::attach(folder.path().join("a")).unwrap());

    // An engine that another process has is told from one that can be replaced.
    let error = run(
        options(folder.path(), "a", "10.3.0.1/24"),
        CancelToken::new(),
    )
    .err();
    assert!(matches!(error, Some(SessionError::Listen { .. })));

    // Without anything to do, nothing is done. What was begun before is over after a while.
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let before = processor_time();
        thread::sleep(Duration::from_millis(1500));
        let used = processor_time() - before;
        if used < Duration::from_millis(30) {
            break;
        }
        assert!(Instant::now() < end, "{used:?} of 1.5 s");
    }

    cancel.cancel();
    for engine in [a, b] {
        let line = engine.join().unwrap();
        assert!(line.starts_with("1 connection, "), "{line}");
    }
    client.set_read_timeout(Some(Duration::from_secs(60)));
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    echo.join().unwrap();
    assert!(!folder.path().join("a").exists());
    recorded(folder.path(), &bytes);
}

/// Both engines recorded the same packets, which carried `bytes` both ways.
fn recorded(folder: &Path, bytes: &[u8]) {
    let [a, b] = ["a", "b"].map(|name| pcapng::read(&folder.join(format!("{name}.pcapng"))));
    let out = 2;
    let directed = |recording: &pcapng::Recording, goes_out: bool| -> Vec<Vec<u8>> {
        let packets = recording.packets.iter();
        let packets = packets.filter(|packet| (packet.direction == out) == goes_out);
        packets.map(|packet| packet.bytes.clone()).collect()
    };
    for name in ["a", "b"] {
        let begin = pcapng::read(&folder.join(format!("{name}-begin.pcapng")));
        assert_eq!(begin.packets.len(), 2, "a SYN and its answer");
    }
    for (from, to) in [(&a, &b), (&b, &a)] {
        assert_eq!(from.link, 101);
        let (sent, received) = (directed(from, true), directed(to, false));
        // The last may still have been in the wire.
        assert!(received.len() <= sent.len() && received.len() + 20 > sent.len());
        assert!(sent.starts_with(&received));
        assert!(from.packets.is_sorted_by_key(|packet| packet.time));
        let mut found = vec![0; bytes.len()];
        let mut first = None;
        for packet in &sent {
            let packet = SlicedPacket::from_ip(packet).unwrap();
            let Some(TransportSlice::Tcp(segment)) = packet.transport else {
                continue;
            };
            let first = *first.get_or_insert(segment.sequence_number().wrapping_add(1));
            let at = segment.sequence_number().wrapping_sub(first) as usize;
            let payload = segment.payload();
            if !payload.is_empty() {
                found[at..at + payload.len()].copy_from_slice(payload);
            }
        }
        assert!(found == bytes);
    }
}
