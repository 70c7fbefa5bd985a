//! RFC 7323: window scaling and timestamps.

use crate::script::{Setup, run};

#[test]
fn s2_2_windows_of_syns_are_not_scaled() {
    let setup = Setup {
        host: crate::network::Setup {
            ring: 1 << 20,
            ..Setup::default().host
        },
        ..Setup::default()
    };
    setup.run(
        "
        connect
        > S 0 win 65535 <ws 5>
        +10 < SA 0 ack 1 win 1000 <mss 1000,ws 10>
        > A 1 ack 1 win 32768
        write 30000
        > A 1:1001
        none 5      // a thousand bytes, not a million
        +5 < A 1 ack 1001 win 100
        > A 1001:2001
        drop
        flight 10
    ",
    );
}

#[test]
fn s2_3_an_exponent_above_14_is_14() {
    run("
        open win 1 <mss 1000,ws 15>
        write 20000
        > A 1:2
        +10 < A 1 ack 2 win 1
        > A 2:1002
        drop
        flight 10
    ");
}

#[test]
fn s2_2_no_scaling_unless_both_do() {
    run("
        listen
        < S 0 win 1000 <mss 1000>
        > SA 0 win 65535 <nows>
        < A 1 ack 1 win 1000
        < A 1:101 ack 1
        > A 1 ack 101 win 65435
    ");
}

const OPEN: &str = "
    connect
    > S 0 <ts 1000 0>
    +10 < SA 0 ack 1 <mss 1012,sackok,ts 100 1000>
    > A 1 <ts 1010 100>
";

#[test]
fn s5_3_old_timestamps_are_not_taken() {
    run(&format!(
        "{OPEN}
        < A 1:101 ack 1 <ts 200 1010>
        > A 1 ack 101 <ts 1010 200>
        < A 101:201 ack 1 <ts 150 1010>
        > A 1 ack 101
        < R 101 // resets are
        event closed
    "
    ));
}

#[test]
fn s4_3_which_timestamp_is_echoed() {
    run(&format!(
        "{OPEN}
        < A 1:101 ack 1 <ts 200 1010>
        > A 1 ack 101 <ts 1010 200>
        < A 201:301 ack 1 <ts 210 1010>   // out of order: that of before the gap
        > A 1 ack 101 <ts 1010 200>
        < A 101:201 ack 1 <ts 220 1010>   // it fills the gap
        > A 1 ack 301 <ts 1010 220>
    "
    ));
}

#[test]
fn s5_5_a_timestamp_that_is_very_old_is_forgotten() {
    run(&format!(
        "{OPEN}
        +2200000000 < A 1:101 ack 1 <ts 50 1010>
        > A 1 ack 101 <ts * 50>
    "
    ));
}

#[test]
fn s3_2_none_unless_both_have_them() {
    run("
        open <mss 1000>
        < A 1:101 ack 1 <ts 5 5>
        > A 1 ack 101 <nots>
    ");
}

#[test]
fn s3_2_resets_have_timestamps_too() {
    for (agreed, option) in [(",ts 100 1000", "<ts 1025 101>"), ("", "<nots>")] {
        run(&format!(
            "
            connect
            > S 0
            +10 < SA 0 ack 1 <mss 1000{agreed}>
            > A 1
            +5 < A 1:501 ack 1 {}
            > A 1
            +10 abort
            > RA 1 ack 501 {option}
        ",
            if agreed.is_empty() {
                ""
            } else {
                "<ts 101 1010>"
            }
        ));
    }
}

/// What a segment that acknowledges what was not sent says of time is not taken (RFC 9293, 3.10.7.4; section 4.3).
#[test]
fn s4_3_a_segment_that_is_not_acceptable_has_no_time() {
    run("
        connect
        > S 0
        +10 < SA 0 ack 1 <mss 1000,ts 100 1000>
        > A 1
        < FA 1 ack 9999 <ts 200000 1000>
        > A 1 ack 1 <ts 1010 100>
        < A 1:1001 ack 1 <ts 101 1010>
        > A 1 ack 1001 <ts 1010 101>
    ");
}
