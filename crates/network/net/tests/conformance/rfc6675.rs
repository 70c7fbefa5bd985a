//! RFC 6675: recovery with selective acknowledgements.

use crate::script::run;

#[test]
fn s5_what_is_missing_goes_out_again_and_nothing_else() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        +10 < A 1 ack 1001
        cwnd 11
        < A 1 ack 1001 <sack 2001-3001>
        < A 1 ack 1001 <sack 2001-3001 4001-5001>
        < A 1 ack 1001 <sack 2001-3001 4001-6001>
        > A 1001:2001
        < A 1 ack 1001 <sack 2001-3001 4001-7001>
        > A 3001:4001
        < A 1 ack 1001 <sack 2001-3001 4001-8001>
        < A 1 ack 1001 <sack 2001-3001 4001-9001>
        < A 1 ack 1001 <sack 2001-3001 4001-10001>
        +10 < A 1 ack 3001 <sack 4001-10001>
        < A 1 ack 10001
        cwnd 8      // 7.7
        ssthresh 8
        flight 0
    ");
}

/// What was sacked is not sent again after a timeout.
#[test]
fn s5_1_after_a_timeout() {
    run("
        open <mss 1000,sackok>
        write 5000
        drop
        +10 < A 1 ack 1 <sack 4001-5001>
        +190 drop      // they go out again, in vain
        +200 drop
        cwnd 1
        +10 < A 1 ack 1001 <sack 4001-5001>
        drop
        +10 < A 1 ack 4001 <sack 4001-5001>
        none 150
    ");
}
