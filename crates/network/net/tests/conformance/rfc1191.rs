//! RFC 1191 and RFC 8201: the MTU of the path.

use crate::script::{Setup, run};

#[test]
fn s6_5_what_was_too_big_goes_out_again_at_once() {
    run("
        open <mss 1460,sackok>
        write 2000
        > A 1:1461
        write 920
        > PA 1461:2921
        icmp big 1000 1
        mss 960
        > A 1:961
        > A 961:1461
        > A 1461:2421
        > PA 2421:2921
    ");
}

#[test]
fn s6_5_only_what_is_on_its_way_counts() {
    run("
        open <mss 1460>
        write 1000
        > PA 1:1001
        icmp big 1000 1001
        mss 1460
        +10 < A 1 ack 1001
        icmp big 1000 1
        mss 1460
    ");
}

#[test]
fn s3_a_small_mtu_is_not_believed() {
    run("
        open <mss 1460>
        write 1460
        > PA 1:1461
        icmp big 68 1
        mss 536
        > A 1:537
        > A 537:1073
        > PA 1073:1461
    ");
}

#[test]
fn rfc8201_s5_4() {
    let setup = Setup {
        host: crate::network::Setup {
            v6: true,
            ..Setup::default().host
        },
        ..Setup::default()
    };
    setup.run(
        "
        open <mss 1440>
        mss 1440
        write 1440
        > PA 1:1441
        icmp big 1300 1
        mss 1240
        > A 1:1241
        > PA 1241:1441
    ",
    );
}
