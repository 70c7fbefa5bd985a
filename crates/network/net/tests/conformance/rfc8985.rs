//! RFC 8985: RACK and the tail loss probe.

use crate::script::run;

#[test]
fn s6_2_reordering_is_waited_for() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        recovery open
        +10 < A 1 ack 1 <sack 1001-2001>
        recovery disorder
        none 2                            // a quarter of the round trip
        +0.5 > A 1:1001
        recovery recovery
        +10 < A 1 ack 5001
        recovery open
    ");
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +10 < A 1 ack 1 <sack 1001-2001>
        +2 < A 1 ack 2001                 // it was only late
        none 5
    ");
}

#[test]
fn s6_2_three_segments_beyond_are_enough() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +10 < A 1 ack 1 <sack 1001-4001>
        > A 1:1001
    ");
}

/// After reordering was seen, it is waited for though three are beyond.
#[test]
fn s6_2_reordering_is_remembered() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +10 < A 1 ack 1 <sack 1001-2001>
        +1 < A 1 ack 2001
        < A 1 ack 5001
        write 5000
        drop
        +10 < A 1 ack 5001 <sack 6001-9001>
        none 2
        +0.5 > A 5001:6001
    ");
}

#[test]
fn s6_2_a_lost_retransmission_is_found() {
    run("
        open <mss 1000,sackok>
        write 20000
        drop
        +10 < A 1 ack 1 <sack 1001-4001>
        > A 1:1001
        drop
        +1 < A 1 ack 1 <sack 1001-8001>
        drop                              // new data after it
        +12 < A 1 ack 1 <sack 1001-12001>
        > A 1:1001
        drop
    ");
}

#[test]
fn s7_2_the_probe_sends_something_new() {
    run("
        open <mss 1000,sackok>
        write 12000
        drop
        +20 > A 10001:11001
        +210 > A 1:1001
    ");
}

#[test]
fn s7_2_or_the_last_segment_again() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +20 > PA 4001:5001
        +10 < A 1 ack 3001 <sack 4001-5001>
        > A 3001:4001                     // long before the probe
        < A 1 ack 5001
    ");
}

#[test]
fn s7_2_one_segment_waits_for_a_delayed_acknowledgement() {
    run("
        open <mss 1000,sackok>
        write 1000
        > PA 1:1001
        +210 > PA 1:1001
        cwnd 10             // a probe, not a timeout
        +210 > PA 1:1001
        cwnd 1
    ");
}

#[test]
fn s7_4_2_the_probe_repaired_a_loss() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +20 > PA 4001:5001
        +10 < A 1 ack 5001
        ssthresh none
        write 1000
        > PA 5001:6001
        +10 < A 1 ack 6001
        ssthresh 7
    ");
}

#[test]
fn s7_4_2_the_probe_was_not_needed() {
    for second in ["< A 1 ack 5001", "< A 1 ack 5001 <sack 4001-5001>"] {
        run(&format!(
            "
            open <mss 1000,sackok>
            write 5000
            drop
            +20 > PA 4001:5001
            +10 < A 1 ack 5001
            {second}
            write 1000
            > PA 5001:6001
            +10 < A 1 ack 6001
            ssthresh none
        "
        ));
    }
}

/// What is found to be lost is not probed for: the timeout is what is waited for then.
#[test]
fn s7_2_no_probe_in_a_recovery() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +10 < A 1 ack 1 <sack 1001-2001>
        +2.5 > A 1:1001
        none 190
        +20 > A 1:1001
        cwnd 1
    ");
}
