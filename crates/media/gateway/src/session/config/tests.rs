//! Files of TOML, and the words of a command line.

use std::time::Duration;

use super::*;

const WHOLE: &str = r#"
listen = "tcp:0.0.0.0:8080"
metrics = "127.0.0.1:9100"
host = ["gateway.lan"]
engines = 2
lag = 1.5
cross-origin = true

allow = ["camera.example", "192.0.2.0/24", "239.0.0.0/8"]

[origin.north]
url = "rtsp://user:secret@192.0.2.10:8554/live"
weight = 2

[origin.south]
url = "rtsp://192.0.2.11/live/"

[pool.cameras]
origins = ["south", "north"]
"#;

#[test]
fn all_keys_are_read() {
    let config = Config::parse("gateway.toml", WHOLE).unwrap();
    assert_eq!(
        config.listen.as_ref().unwrap().to_string(),
        "tcp:0.0.0.0:8080"
    );
    assert_eq!(
        config.metrics.as_ref().unwrap().to_string(),
        "tcp:127.0.0.1:9100"
    );
    assert_eq!(config.hosts, ["gateway.lan".parse().unwrap()]);
    assert_eq!(config.engines.to_string(), "2");
    assert_eq!(config.lag, Duration::from_millis(1500));
    assert!(config.cross_origin);
    assert_eq!(config.allow.len(), 3);
    let pool = config.pool("cameras").unwrap();
    let members: Vec<(&str, u32, u16)> = (pool.origins.iter())
        .map(|&at| &config.origins[at])
        .map(|origin| (origin.name.as_str(), origin.weight, origin.url.port()))
        .collect();
    assert_eq!(members, [("south", 1, 554), ("north", 2, 8554)]);
    assert!(config.pool("others").is_none());
}

#[test]
fn an_empty_file_leaves_all_as_it_is() {
    let config = Config::parse("empty.toml", "").unwrap();
    assert_eq!(config.engines, Engines::Auto);
    assert_eq!(config.lag, LAG);
    assert!(config.listen.is_none() && config.allow.is_empty() && config.pools.is_empty());
}

#[test]
fn what_is_wrong_is_told_in_a_line_with_its_place() {
    for (text, line) in [
        (
            "lisen = 1",
            "f:1:1: unknown key `lisen`, expected one of `listen`",
        ),
        (
            "engines = 0",
            "f:1:11: '0': how many engines there are is auto, or 1 to 256",
        ),
        ("engines = \"all\"", "f:1:11: 'all': how many"),
        (
            "listen = \"8080\"",
            "f:1:10: '8080': clients of HTTP come to tcp:HOST:PORT",
        ),
        (
            "metrics = \"8080\"",
            "f:1:11: '8080': not a host and a port",
        ),
        (
            "metrics = \"tcp:127.0.0.1:9100\"",
            "f:1:11: 'tcp:127.0.0.1:9100': not a host and a port",
        ),
        ("engines = 100000", "f:1:11: '100000': how many"),
        (
            "[origin.a]\nurl = \"rtsp://a/\"\nweight = \"2\"",
            "f:3:10: invalid type: string \"2\", expected a whole number",
        ),
        (
            "allow = \"a\"",
            "f:1:9: invalid type: string \"a\", expected a list",
        ),
        ("\nlag = 0", "f:2:7: lag: 0 is not 0.1 to 60 seconds"),
        (
            "lag = \"long\"",
            "f:1:7: invalid type: string \"long\", expected a number",
        ),
        ("allow = [\"a\", \"b c\"]", "f:1:15: b c: not a host"),
        (
            "host = [\"a:80\"]",
            "f:1:9: 'a:80': not the name of a host, as in gateway.example",
        ),
        ("[origin.a]\nweight = 1", "f:1:1: there is no key `url`"),
        (
            "[origin.a]\nurl = \"http://a/\"",
            "f:2:7: origin 'a': 'http://a/': the address of an origin begins with rtsp://",
        ),
        (
            "[origin.a]\nurl = \"rtsp://a/\"\nweight = 0",
            "f:3:10: origin 'a': weight=0: a weight is 1 to 1000",
        ),
        (
            "[pool.p]\norigins = []",
            "f:1:1: pool 'p': it has no origins",
        ),
        (
            "[pool.p]\norigins = [\"a\"]",
            "f:2:12: pool 'p': there is no [origin.a]",
        ),
        (
            "[origin.a]\nurl = \"rtsp://a/\"\n[pool.p]\norigins = [\"a\", \"a\"]",
            "f:4:17: pool 'p': 'a' is named twice",
        ),
        (
            "[origin.\"a/b\"]\nurl = \"rtsp://a/\"",
            "f:1:1: 'a/b' cannot be the name",
        ),
        ("listen", "f:1:7: "),
    ] {
        let error = Config::parse("f", text).unwrap_err().to_string();
        assert!(error.starts_with(line), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::read("/nonexistent/gateway.toml".as_ref()).unwrap_err();
    assert!(
        error.to_string().starts_with("/nonexistent/gateway.toml: "),
        "{error}"
    );
}

#[test]
fn origins_of_a_command_line_are_a_pool() {
    let mut config = Config::default();
    let url = |text| origin_url(text).unwrap();
    config.add_origin(url("rtsp://one.example/live"), 1);
    config.add_origin(url("rtsp://one.example:8554/live"), 3);
    let names: Vec<&str> = config
        .origins
        .iter()
        .map(|origin| origin.name.as_str())
        .collect();
    assert_eq!(names, ["one.example", "one.example-1"]);
    assert_eq!(config.pool(DEFAULT_POOL).unwrap().origins, [0, 1]);
    assert!(origin_url("http://one.example/").is_err());
}

#[test]
fn engines_are_auto_or_a_number() {
    for text in ["auto", "1", "16"] {
        assert_eq!(text.parse::<Engines>().unwrap().to_string(), text);
    }
    assert!("0".parse::<Engines>().is_err());
    assert!("many".parse::<Engines>().is_err());
}
