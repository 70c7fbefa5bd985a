//! `evener image serve --ublk`, as far as it goes without the driver. The guest test has the rest.

use std::path::Path;

use super::folder;
use super::serve::Server;

#[test]
fn what_cannot_go_together() {
    let folder = folder();
    let serve = |flags: &str| folder.line(&format!("image serve disk.img {flags}"));
    serve("").failed(2, &["--nbd <ADDRESS>"]);
    serve("--ublk --nbd unix:socket").failed(2, &["--ublk", "--nbd"]);
    serve("--ublk --metrics 127.0.0.1:0").failed(2, &["--ublk", "--metrics"]);
    for flag in ["--queues 1", "--depth 1", "--recover 0"] {
        let name = flag.split(' ').next().unwrap();
        serve(&format!("--nbd unix:socket {flag}")).failed(2, &["--nbd", name]);
    }
    serve("--ublk --recover 0 --queues 1").failed(2, &["--recover", "--queues"]);
    serve("--ublk --queues 0").failed(2, &["0 is not in 1..=4096"]);
    serve("--ublk --depth 4097").failed(2, &["4097 is not in 1..=4096"]);
    serve("--ublk --recover x").failed(2, &["--recover"]);
}

#[test]
fn without_the_driver_it_says_how_to_load_it() {
    if Path::new("/dev/ublk-control").exists() {
        evener_testing::skip("the driver ublk is loaded");
        return;
    }
    let folder = folder();
    folder
        .line("image serve disk.img --ublk")
        .failed(1, &["/dev/ublk-control", "modprobe ublk_drv"]);
    let done = folder.line("image serve disk.img --ublk --overlay changes");
    done.failed(1, &["modprobe ublk_drv"]);
    assert!(!folder.path("changes").exists());
    // One that was there stays.
    let server = Server::start(
        &folder,
        "image serve disk.img --nbd unix:s --overlay changes",
    );
    drop(server);
    let done = folder.line("image serve disk.img --ublk --overlay changes");
    done.failed(1, &["modprobe ublk_drv"]);
    assert!(folder.path("changes").exists());
    // The image comes first: without one no driver helps.
    folder
        .line("image serve nothing.img --ublk")
        .failed(1, &["nothing.img"]);
}
