//! How the gateway says that it is doing.

use super::*;

#[test]
fn browsers_get_a_page_and_others_json() {
    gateway(Config::default(), |to, _| {
        let ask = |target: &str, accept: &str| {
            told(
                to,
                &format!("GET {target} HTTP/1.0\r\nAccept: {accept}\r\n\r\n"),
            )
        };
        let kind = |text: &str| header(text, "Content-Type").unwrap().to_owned();
        let page = ask("/status", "text/html,application/xhtml+xml,*/*;q=0.8");
        assert_eq!(kind(&page), "text/html; charset=utf-8");
        // Nothing comes from elsewhere.
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
        assert_eq!(kind(&ask("/status", "*/*")), "application/json");
        assert_eq!(
            kind(&ask("/status?format=json", "text/html")),
            "application/json"
        );
        assert!(ask("/status?format=xml", "*/*").starts_with("HTTP/1.1 400 "));
    });
}

#[test]
fn those_that_follow_are_told_each_second() {
    gateway(Config::default(), |to, cancel| {
        let stream = connect(to);
        (&stream)
            .write_all(b"GET /status/events HTTP/1.0\r\n\r\n")
            .unwrap();
        assert_eq!(
            header(&head(&stream), "Content-Type"),
            Some("text/event-stream")
        );
        let mut text = String::new();
        while text.matches("\n\n").count() < 3 {
            let mut bytes = [0; 4096];
            let len = (&stream).read(&mut bytes).unwrap();
            assert!(len > 0);
            text.push_str(std::str::from_utf8(&bytes[..len]).unwrap());
        }
        let times: Vec<f64> = text
            .split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").unwrap())
            .map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap())
            .map(|report| report["uptime_s"].as_f64().unwrap())
            .collect();
        for pair in times.windows(2) {
            assert!((0.9..3.0).contains(&(pair[1] - pair[0])), "{times:?}");
        }
        cancel.cancel();
        until_end(&stream);
    });
}

/// An address for metrics, and a set-up that has it.
fn with_metrics() -> (SocketAddr, Config) {
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = metrics.local_addr().unwrap();
    drop(metrics);
    let config = Config {
        metrics: Some(format!("tcp:{address}").parse().unwrap()),
        ..Config::default()
    };
    (address, config)
}

#[test]
fn status_and_metrics_have_no_secrets() {
    let (address, mut config) = with_metrics();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = silent.local_addr().unwrap();
    config.allow = vec!["127.0.0.1".parse().unwrap()];
    let url = "rtsp://user:hidden@192.0.2.1/live?key=hidden";
    config.add_origin(evener_gateway::rtsp::Url::parse(url).unwrap(), 1);
    gateway(config, |to, _| {
        let clients = ["user:hidden", "user:hid"].map(|who| {
            let stream = connect(to);
            let target = format!("/rtsp/{who}@{origin}/live?channel=1&token=hidden");
            let request = format!("GET {target} HTTP/1.0\r\n\r\n");
            (&stream).write_all(request.as_bytes()).unwrap();
            stream
        });
        wait_for(to, 2);
        let name = format!("rtsp://{origin}/live?channel=1&token=***");
        let status = told(to, "GET /status HTTP/1.0\r\n\r\n");
        assert_eq!(
            status.matches(&format!("\"{name}\"")).count(),
            2,
            "{status}"
        );
        assert!(status.contains("rtsp://192.0.2.1/live?key=***"), "{status}");
        let metrics = told(address, "GET /metrics HTTP/1.0\r\n\r\n");
        // Two of one label would make a collector refuse the page.
        let label = format!("source_clients{{source=\"{name}\"}}");
        assert_eq!(metrics.matches(&label).count(), 1, "{metrics}");
        for text in [status, metrics] {
            assert!(!text.contains("hid"), "{text}");
        }
        drop(clients);
    });
}

#[test]
fn metrics_are_those_of_prometheus() {
    let (address, config) = with_metrics();
    gateway(config, |to, _| {
        let source = free_port();
        let stream = connect(to);
        let request = format!("GET /udp/{source} HTTP/1.0\r\n\r\n");
        (&stream).write_all(request.as_bytes()).unwrap();
        wait_for(to, 1);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&datagram(0), source).unwrap();
        head(&stream);
        let text = told(address, "GET /metrics HTTP/1.0\r\n\r\n");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200 OK"), "{head}");
        for line in [
            "evener_gateway_engines 1",
            "evener_gateway_clients{engine=\"0\"} 1",
            &format!("evener_gateway_source_clients{{source=\"udp {source}\"}} 1"),
        ] {
            assert!(body.lines().any(|found| found == line), "{line}\n{body}");
        }
        // Each sample has a type, and is a number (https://prometheus.io/docs/instrumenting/exposition_formats/).
        for line in body.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.split('{').next().unwrap();
            assert!(body.contains(&format!("# TYPE {name} ")), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    });
}
