//! `evener image serve --tls-certs`, by the clients people use.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use super::serve::Server;
use super::tools::{free_port, has, is_program, nginx, run};
use super::{content, folder, image};
use crate::run::{Done, Folder};
use crate::signals::is_ignored;

/// A folder with the image and with certificates in `certs`: of an authority, of a server and of a client. In
/// `strangers` there is the same of another authority, and in `nobody` only the first authority.
fn certified() -> Option<Folder> {
    if is_ignored(Signal::INT)
        || !is_program("openssl", "version")
        || !has(&["nbdinfo", "nbdcopy", "qemu-img", "qemu-io"])
    {
        return None;
    }
    let folder = folder();
    folder.file("disk.img", &image()[..3 << 20]);
    folder.file("san", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for at in ["certs", "strangers"] {
        fs::create_dir(folder.path(at)).unwrap();
        run(
            &folder,
            &format!(
                "openssl req -x509 {new} -days 2 -subj /CN={at} -keyout {at}/ca-key.pem -out {at}/ca-cert.pem"
            ),
        );
        for who in ["server", "client"] {
            let request = format!(
                "openssl req {new} -subj /CN={who} -keyout {at}/{who}-key.pem -out {at}/{who}.csr"
            );
            run(&folder, &request);
            let sign = format!(
                "openssl x509 -req -days 2 -extfile san -in {at}/{who}.csr -out {at}/{who}-cert.pem \
                 -CA {at}/ca-cert.pem -CAkey {at}/ca-key.pem -CAcreateserial"
            );
            run(&folder, &sign);
        }
    }
    fs::create_dir(folder.path("nobody")).unwrap();
    fs::copy(
        folder.path("certs/ca-cert.pem"),
        folder.path("nobody/ca-cert.pem"),
    )
    .unwrap();
    Some(folder)
}

/// A server at a port that the system chooses, and its port.
fn serve(folder: &Folder, options: &str) -> (Server, String) {
    let line = format!("image serve disk.img --nbd tcp:127.0.0.1:0 --tls-certs certs {options}");
    let server = Server::start(folder, &line);
    let place = server.line.split("tcp:127.0.0.1:").nth(1);
    let place = place.unwrap_or_else(|| panic!("{}", server.line));
    let port = place.split(';').next().unwrap().to_owned();
    (server, port)
}

/// The URI of a client with the certificates of a folder.
fn uri(folder: &Folder, port: &str, certs: &str) -> String {
    let certs = folder.path(certs);
    format!(
        "nbds://localhost:{port}/?tls-certificates={}",
        certs.display()
    )
}

fn works(folder: &Folder, uri: &str) -> bool {
    let done = folder.command("nbdinfo").args(["--size", uri]).output();
    done.unwrap().status.success()
}

#[test]
fn clients_read_and_write_with_tls() {
    let Some(folder) = certified() else {
        return;
    };
    let (server, port) = serve(&folder, "--tls require --snapshot");
    assert!(
        server.line.contains("'nbds://127.0.0.1:"),
        "{}",
        server.line
    );
    let wanted = content(&folder, "disk.img");
    // As the line says. It does not name the folder of the server, which has its key.
    let said = &server.line;
    assert!(said.contains("where DIR has ca-cert.pem"), "{said}");
    assert!(
        !said.contains("certs\n") && !said.contains("/certs"),
        "{said}"
    );
    let command = said.split("connect with: ").nth(1).unwrap();
    let command = command.split(", where").next().unwrap();
    let certs = folder.path("nobody").display().to_string();
    let command = command.replace("copy.img", "said").replace("DIR", &certs);
    let done = folder.command("sh").args(["-c", &command]).status();
    assert!(done.unwrap().success(), "{command}");
    assert!(content(&folder, "said") == wanted, "{command}");
    let uri = uri(&folder, &port, "certs");
    run(&folder, &format!("nbdcopy {uri} copy"));
    assert!(content(&folder, "copy") == wanted, "nbdcopy");
    let creds = format!(
        "tls-creds-x509,id=t,endpoint=client,dir={}",
        folder.path("certs").display()
    );
    let disk = format!("driver=nbd,host=localhost,port={port},tls-creds=t");
    run(
        &folder,
        &format!("qemu-img convert --object {creds} --image-opts {disk} -O raw again"),
    );
    assert!(content(&folder, "again") == wanted, "qemu-img");
    folder.line("image pack disk.img wanted").succeeded();
    folder.line(&format!("image pack {uri} out")).succeeded();
    assert!(
        content(&folder, "out") == content(&folder, "wanted"),
        "evener"
    );
    // Large requests in both directions at once, and after that what was written.
    let io = [
        "-c",
        "aio_write -P 7 0 1M",
        "-c",
        "aio_read -P 0 1M 64k",
        "-c",
        "aio_write -P 9 2M 1M",
        "-c",
        "aio_flush",
        "-c",
        "flush",
        "-c",
        "read -P 7 0 1M",
        "-c",
        "read -P 9 2M 1M",
    ];
    let done = folder
        .command("qemu-io")
        .args(["--object", &creds, "--image-opts", &disk])
        .args(io)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(!said.contains("failed"), "{said}");
    let mut wanted = wanted;
    wanted[..1 << 20].fill(7);
    wanted[2 << 20..].fill(9);
    run(&folder, &format!("nbdcopy {uri} copy"));
    assert!(content(&folder, "copy") == wanted, "written");
    let (status, _) = server.end(Signal::TERM);
    assert_eq!(status, Some(0));
}

#[test]
fn who_is_served_is_as_was_said() {
    let Some(folder) = certified() else {
        return;
    };
    let plain = |port: &str| format!("nbd://localhost:{port}/");
    let (server, port) = serve(&folder, "");
    assert!(works(&folder, &plain(&port)));
    assert!(works(&folder, &uri(&folder, &port, "nobody")));
    // Signed by somebody else.
    assert!(!works(&folder, &uri(&folder, &port, "strangers")));
    let done = folder.line(&format!("image info nbds://localhost:{port}/"));
    done.failed(1, &["no known authority", "?tls-certificates=DIR"]);
    let url = uri(&folder, &port, "strangers");
    let done = folder.line(&format!("image info {url}"));
    done.failed(1, &["no known authority", "ca-cert.pem in "]);
    let url = uri(&folder, &port, "certs") + "&tls-hostname=other";
    let done = folder.line(&format!("image info {url}"));
    done.failed(1, &["for localhost", "not for other", "?tls-hostname=NAME"]);
    was_refused(server, "does not know the authority");

    let (server, port) = serve(&folder, "--tls require");
    assert!(!works(&folder, &plain(&port)));
    assert!(works(&folder, &uri(&folder, &port, "nobody")));
    let url = plain(&port);
    let done = folder.line(&format!("image pack {url} out"));
    done.failed(1, &[&url, "TLS"]);
    was_refused(server, "it has not begun TLS, which is required");

    let (server, port) = serve(&folder, "--tls require --tls-verify-peer");
    assert!(works(&folder, &uri(&folder, &port, "certs")));
    assert!(!works(&folder, &uri(&folder, &port, "nobody")));
    for certs in ["nobody", "strangers", "missing"] {
        let url = uri(&folder, &port, certs);
        let done = folder.line(&format!("image pack {url} out"));
        done.failed(1, &["nbds://localhost", "cannot be read"]);
    }
    let url = uri(&folder, &port, "nobody");
    let done = folder.line(&format!("image info {url}"));
    done.failed(1, &["wants a certificate", "client-key.pem into "]);
    let url = uri(&folder, &port, "certs");
    folder.line(&format!("image verify {url}")).succeeded();
    was_refused(server, "it shows no certificate");

    let (server, port) = serve(&folder, "--tls off");
    assert!(works(&folder, &plain(&port)));
    let url = uri(&folder, &port, "certs");
    assert!(!works(&folder, &url));
    let done = folder.line(&format!("image pack {url} out"));
    done.failed(1, &["nbds://", "no TLS"]);
    let done = folder.line(&format!("image info nbd://localhost:{port}/other"));
    done.failed(1, &["no export has this name"]);
    let said = was_refused(server, "it begins TLS, and there are no --tls-certs");
    assert!(said.contains("asks for export 'other'"), "{said}");
}

#[test]
fn a_server_says_how_to_connect_with_tls_and_without_and_who_may_read_its_key() {
    let Some(folder) = certified() else {
        return;
    };
    let key = folder.path("certs/server-key.pem");
    let mode = |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o600);
    let line = "image serve disk.img --nbd unix:socket --tls-certs certs";
    let server = Server::start(&folder, line);
    let said = &server.line;
    let plain = said.split("; without TLS: '").nth(1);
    let plain = plain.and_then(|rest| rest.split('\'').next());
    let plain = plain.unwrap_or_else(|| panic!("{said}"));
    let sealed = "nbdcopy 'nbds+unix:///?socket=";
    assert!(
        said.contains(sealed) && said.contains("&tls-certificates=DIR'"),
        "{said}"
    );
    assert!(works(&folder, plain), "{plain}");
    server.end(Signal::INT);
    mode(0o644);
    let server = Server::start(&folder, line);
    let said = "certs/server-key.pem: others than its owner may read or change it (mode 644)";
    assert!(server.line.contains(said), "{}", server.line);
    server.end(Signal::INT);
}

/// Ends a server that has to have said once for each reason why it refused clients.
#[track_caller]
fn was_refused(server: Server, reason: &str) -> String {
    let (_, said) = server.end(Signal::INT);
    let lines = said.lines();
    let lines = lines.filter(|line| line.contains("a client at 127.0.0.1 was refused: "));
    assert!(lines.clone().any(|line| line.contains(reason)), "{said}");
    assert!(lines.count() < 8, "{said}");
    said
}

#[test]
fn files_are_read_over_https() {
    let Some(folder) = certified() else {
        return;
    };
    if !is_program("nginx", "-v") {
        return;
    }
    folder.line("image pack disk.img wanted").succeeded();
    let port = free_port();
    let options =
        "ssl_certificate certs/server-cert.pem; ssl_certificate_key certs/server-key.pem;";
    let listen = format!("listen 127.0.0.1:{port} ssl; {options}");
    let _nginx = nginx(&folder, &listen, port);
    let pack = |authority: &str| {
        let url = format!("https://localhost:{port}/disk.img");
        let mut command = folder.evener(["image", "pack", &url, "out"]);
        Done::of(command.env("SSL_CERT_FILE", folder.path(authority)))
    };
    pack("strangers/ca-cert.pem").failed(1, &["https://localhost", "certificate"]);
    assert!(!folder.path("out").exists());
    pack("certs/ca-cert.pem").succeeded();
    assert!(content(&folder, "out") == content(&folder, "wanted"));
}

#[test]
fn certificates_that_cannot_be_are_said_in_a_line() {
    let Some(folder) = certified() else {
        return;
    };
    fs::create_dir(folder.path("bad")).unwrap();
    folder.file("bad/server-cert.pem", "no certificate");
    fs::create_dir(folder.path("mixed")).unwrap();
    for at in ["old", "secret", "keyless", "cut"] {
        fs::create_dir(folder.path(at)).unwrap();
    }
    for (from, to) in [
        ("certs/server-cert.pem", "mixed/server-cert.pem"),
        ("strangers/server-key.pem", "mixed/server-key.pem"),
        ("certs/server-key.pem", "old/server-key.pem"),
        ("certs/server-cert.pem", "secret/server-cert.pem"),
        ("certs/server-cert.pem", "keyless/server-cert.pem"),
        ("certs/server-cert.pem", "cut/server-cert.pem"),
    ] {
        fs::copy(folder.path(from), folder.path(to)).unwrap();
    }
    let key = content(&folder, "certs/server-key.pem");
    folder.file("cut/server-key.pem", &key[..key.len() / 2]);
    // Without extensions it has version 1.
    run(
        &folder,
        "openssl x509 -req -days 2 -in certs/server.csr -out old/server-cert.pem -CA certs/ca-cert.pem \
         -CAkey certs/ca-key.pem -CAcreateserial",
    );
    let text = run(&folder, "openssl x509 -in old/server-cert.pem -noout -text");
    assert!(text.contains("Version: 1"), "{text}");
    run(
        &folder,
        "openssl pkcs8 -topk8 -in certs/server-key.pem -out secret/server-key.pem -passout pass:secret",
    );
    for (options, status, parts) in [
        (
            "--tls-certs none",
            1,
            &["none: is not a folder", "server-cert.pem"][..],
        ),
        (
            "--tls-certs strangers/ca-key.pem",
            1,
            &["strangers/ca-key.pem: is not a folder"],
        ),
        (
            "--tls-certs nobody",
            1,
            &["nobody/server-cert.pem", "No such file"],
        ),
        (
            "--tls-certs old",
            1,
            &["old/server-cert.pem", "version 1", "version 3", "-extfile"],
        ),
        (
            "--tls-certs secret",
            1,
            &["secret/server-key.pem", "has a passphrase", "openssl pkey"],
        ),
        (
            "--tls-certs keyless",
            1,
            &["keyless/server-key.pem", "No such file"],
        ),
        (
            "--tls-certs cut",
            1,
            &["cut/server-key.pem", "private key", "cut short"],
        ),
        ("--tls-certs bad", 1, &["bad/server-cert.pem", "PEM"]),
        (
            "--tls-certs mixed",
            1,
            &["mixed/server-key.pem: is not the key of server-cert.pem"],
        ),
        (
            "--tls-certs mixed --tls-verify-peer",
            1,
            &["mixed/ca-cert.pem", "No such file"],
        ),
        ("--tls require", 2, &["--tls-certs"]),
        ("--tls maybe --tls-certs certs", 2, &["maybe", "require"]),
    ] {
        let line = format!("image serve disk.img --nbd unix:socket {options}");
        folder.line(&line).failed(status, parts);
        assert!(!folder.path("socket").exists(), "{line}");
    }
}
