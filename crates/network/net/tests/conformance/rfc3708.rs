//! RFC 3708: retransmissions that the peer tells to have been none.

use crate::script::run;

#[test]
fn s3_a_recovery_of_which_all_came_twice_is_undone() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        cwnd 10
        +10 < A 1 ack 1 <sack 2001-7001>   // the first two are late
        > A 1:1001
        > A 1001:2001
        ssthresh 7
        +5 < A 1 ack 10001                 // they have come
        cwnd 7
        +5 < A 1 ack 10001 <sack 1-1001>   // and again
        cwnd 7
        undone 0
        < A 1 ack 10001 <sack 1001-2001>
        undone 1
        ssthresh none
        cwnd 10
    ");
}

#[test]
fn s3_a_timeout_of_which_all_came_twice_is_undone() {
    run("
        open <mss 1000,sackok>
        write 3000
        drop
        +20 > A 2001:3001                  // the probe of the tail
        +210 > A 1:1001
        cwnd 1
        < A 1 ack 3001 <sack 1-1001>
        undone 1
        cwnd 13                            // what it was, and what this acknowledges
    ");
}

#[test]
fn s3_what_came_twice_once_of_two_is_not_undone() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        +10 < A 1 ack 1 <sack 2001-7001>
        drop
        +5 < A 1 ack 10001 <sack 1-1001>
        undone 0
        ssthresh 7
    ");
}

/// RFC 2883, 4: the first block tells of a duplicate, and the others of what is beyond a gap.
#[test]
fn s3_a_duplicate_is_told_beside_other_blocks() {
    run("
        open <mss 1000,sackok>
        write 6000
        drop
        +10 < A 1 ack 1 <sack 2001-5001>
        > A 1:1001
        > A 1001:2001
        +5 < A 1 ack 2001 <sack 1-1001 3001-6001>
        flight 0                           // the second block counts
        +1 < A 1 ack 6001 <sack 1001-2001>
        undone 1                           // and so did the first
    ");
}

/// A mark of congestion is an answer of its own.
#[test]
fn s3_a_mark_is_not_undone() {
    let mut setup = crate::script::Setup::default();
    setup.options.ecn = true;
    setup.run(
        "
        connect
        > SEW 0
        +10 < SAE 0 ack 1 <mss 1000,sackok>
        > A 1
        write 10000
        drop
        +10 < A 1 ack 1 <sack 1001-7001>
        drop
        +5 < AE 1 ack 8001
        drop
        < A 1 ack 10001 <sack 1-1001>
        undone 0
    ",
    );
}
