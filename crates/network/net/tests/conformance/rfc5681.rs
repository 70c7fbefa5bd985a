//! RFC 5681 and RFC 6928: congestion control.

use crate::script::run;

#[test]
fn rfc6928_s2_ten_segments_at_first() {
    run("
        open <mss 1000>
        write 30000
        > A 1:1001
        drop 9
        none 5
        cwnd 10
        flight 10
    ");
}

#[test]
fn s3_1_slow_start_doubles_the_window() {
    run("
        open <mss 1000>
        write 60000
        drop
        +10 < A 1 ack 10001
        cwnd 20
        drop
        +10 < A 1 ack 30001
        cwnd 40
        drop
    ");
}

#[test]
fn s3_1_more_than_one_lost_syn_leaves_one_segment() {
    run("
        connect
        > S 0
        +1000 > S 0
        +2000 > S 0
        +10 < SA 0 ack 1 <mss 1000>
        > A 1
        write 5000
        > A 1:1001
        none 50
        cwnd 1
    ");
    run("
        connect
        > S 0
        +1000 > S 0
        +10 < SA 0 ack 1 <mss 1000>
        > A 1
        cwnd 10
    ");
}

#[test]
fn s4_1_after_a_pause_the_window_is_no_longer_known() {
    run("
        open <mss 1000>
        write 40000
        drop
        +10 < A 1 ack 10001
        drop
        +10 < A 1 ack 30001
        drop
        +10 < A 1 ack 40001
        cwnd 40
        +60000 write 40000
        drop
        flight 10
    ");
}

#[test]
fn rfc7661_a_window_that_is_not_used_does_not_grow() {
    run("
        open <mss 1000>
        write 1000
        drop
        +10 < A 1 ack 1001
        write 1000
        drop
        +10 < A 1 ack 2001
        cwnd 10
    ");
}

/// RFC 7661, 4.3: it grows in slow start while what was on its way in the last round was at least half of it.
#[test]
fn rfc7661_s4_3_a_window_of_which_half_is_used_grows() {
    run("
        open <mss 1000>
        write 6000
        drop
        +10 < A 1 ack 2001
        cwnd 12
        < A 1 ack 4001
        cwnd 12     // six is half of it
        < A 1 ack 6001
        cwnd 12
        write 7000
        drop
        +10 < A 1 ack 13001
        cwnd 19
    ");
    run("
        open <mss 1000>
        write 10000 // all of it, and nothing waits
        drop
        +10 < A 1 ack 5001
        cwnd 15
        < A 1 ack 10001
        cwnd 20
    ");
}

#[test]
fn s3_1_a_timeout_leaves_one_segment() {
    run("
        open <mss 1000>
        write 30000
        drop
        +210 > A 1:1001
        recovery loss
        cwnd 1
        ssthresh 7
        none 100
        +10 < A 1 ack 1001
        > A 1001:2001
        > A 2001:3001
        cwnd 2
        +420 > A 1001:2001  // not sampled, so the timeout is still doubled
        cwnd 1
    ");
}
