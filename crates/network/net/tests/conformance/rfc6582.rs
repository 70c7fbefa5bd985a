//! RFC 6582: recovery without selective acknowledgements.

use crate::script::run;

#[test]
fn s3_2_three_duplicates_and_partial_acknowledgements() {
    run("
        open <mss 1000>
        write 10000
        drop
        +10 < A 1 ack 1
        < A 1 ack 1
        none 1
        < A 1 ack 1
        > A 1:1001
        ssthresh 7
        < A 1 ack 1
        +10 < A 1 ack 4001 // another is missing
        > A 4001:5001
        +10 < A 1 ack 10001
        cwnd 7
    ");
}

#[test]
fn s3_2_a_window_update_is_no_duplicate() {
    run("
        open win 20000 <mss 1000>
        write 10000
        drop
        +10 < A 1 ack 1 win 20001
        < A 1 ack 1 win 20002
        < A 1 ack 1 win 20003
        < A 1 ack 1 win 20004
        none 5
    ");
}
