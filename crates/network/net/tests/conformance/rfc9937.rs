//! RFC 9937: proportional rate reduction.

use crate::script::run;

/// The window shrinks by three of ten segments, and seven go out for ten that are delivered.
#[test]
fn s3_what_goes_out_is_in_proportion() {
    run("
        open <mss 1000,sackok>
        write 60000
        drop
        +10 < A 1 ack 10001
        drop
        flight 20
        +10 < A 1 ack 10001 <sack 11001-12001>
        > A 30001:31001
        < A 1 ack 10001 <sack 11001-13001>
        > A 31001:32001
        < A 1 ack 10001 <sack 11001-14001>
        > A 10001:11001
        ssthresh 14
        < A 1 ack 10001 <sack 11001-15001>
        drop
        < A 1 ack 10001 <sack 11001-18001>
        drop
        < A 1 ack 10001 <sack 11001-21001>
        drop
        < A 1 ack 10001 <sack 11001-26001>
        drop
        < A 1 ack 10001 <sack 11001-30001>
        drop
        flight 14
        +10 < A 1 ack 32001
        cwnd 14
        drop
    ");
}

/// Less than the target is on its way after heavy losses. As much goes out as is delivered, though the first retransmission
/// went out before anything of the recovery was.
#[test]
fn what_is_delivered_is_sent_below_the_target() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        +10 < A 1 ack 1 <sack 7001-8001>
        +2.5 > A 1:1001                      // seven of ten are lost
        flight 3
        +1 < A 1 ack 1 <sack 3001-4001 7001-8001>
        > A 1001:2001
        +1 < A 1 ack 1 <sack 3001-5001 7001-8001>
        > A 2001:3001
    ");
}

/// What is acknowledged without another loss lets one more out.
#[test]
fn an_acknowledgement_that_advances_lets_one_more_out() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        +10 < A 1 ack 1 <sack 1001-2001>
        < A 1 ack 1 <sack 1001-3001>
        < A 1 ack 1 <sack 8001-10001 1001-3001>
        > A 1:1001
        > A 3001:4001
        +12 < A 1 ack 4001 <sack 8001-10001>
        cwnd 3                               // two are delivered
        > A 4001:5001
        > A 5001:6001
        > A 6001:7001
    ");
}
