//! RFC 3168: explicit congestion notification.

use crate::script::{Setup, run};
use evener_net::engine::SocketOptions;

fn with_ecn(script: &str) {
    let setup = Setup {
        options: SocketOptions {
            ecn: true,
            ..SocketOptions::default()
        },
        ..Setup::default()
    };
    setup.run(script);
}

const OPEN: &str = "
    connect
    > SEW 0 not-ect
    +10 < SAE 0 ack 1 <mss 1000,sackok>
    > A 1 ack 1 not-ect
";

#[test]
fn s6_1_1_what_is_agreed_on() {
    with_ecn(&format!(
        "{OPEN}
        write 1000
        > PA 1:1001 ect
    "
    ));
    with_ecn(
        "
        connect
        > SEW 0
        +10 < SA 0 ack 1 <mss 1000>
        > A 1
        write 1000
        > PA 1:1001 not-ect
    ",
    );
    // A reflection of both flags is not an answer.
    with_ecn(
        "
        connect
        > SEW 0
        +10 < SAEW 0 ack 1 <mss 1000>
        > A 1
        write 1000
        > PA 1:1001 not-ect
    ",
    );
    run("
        listen
        < SEW 0 <mss 1000>
        > SAE 0 ack 1 not-ect
        < A 1 ack 1
        write 1000
        > PA 1:1001 ect
    ");
}

#[test]
fn s6_1_1_1_a_syn_that_is_lost_goes_out_without_the_offer() {
    with_ecn(
        "
        connect
        > SEW 0
        +1000 > S 0
        +10 < SAE 0 ack 1 <mss 1000>
        > A 1
        write 1000
        > PA 1:1001 not-ect
    ",
    );
}

#[test]
fn s6_1_2_the_sender_answers_once_a_window() {
    with_ecn(&format!(
        "{OPEN}
        write 20000
        > A 1:1001
        drop
        +10 < AE 1 ack 1001
        ssthresh 7
        drop
        < AE 1 ack 2001
        ssthresh 7
        drop
        < AE 1 ack 6001
        ssthresh 7
        drop
    "
    ));
    with_ecn(&format!(
        "{OPEN}
        write 30000
        drop
        +10 < AE 1 ack 1001
        > AW 10001:11001 ect
        < A 1 ack 2001
        < A 1 ack 3001
        > A 11001:12001 // two for three, as seven to ten
        < A 1 ack 4001
        drop
        < A 1 ack 5001
        drop
        < A 1 ack 11001
        cwnd 7
        drop
    "
    ));
}

#[test]
fn s6_1_3_the_receiver_repeats_the_mark_until_the_sender_knows() {
    with_ecn(&format!(
        "{OPEN}
        < A 1:1001 ack 1 ce
        > AE 1 ack 1001
        < A 1001:2001 ack 1
        > AE 1 ack 2001
        < AW 2001:3001 ack 1
        > A 1 ack 3001
        < AW 3001:4001 ack 1 ce
        > AE 1 ack 4001
    "
    ));
}

#[test]
fn s6_1_5_what_goes_out_again_may_not_be_marked() {
    with_ecn(&format!(
        "{OPEN}
        write 1000
        > PA 1:1001 ect
        +210 > PA 1:1001 not-ect
    "
    ));
}
