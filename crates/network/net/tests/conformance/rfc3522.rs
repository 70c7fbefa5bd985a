//! RFC 3522 and RFC 4015: retransmissions that were not needed.

use crate::script::run;

const OPEN: &str = "
    connect
    > S 0
    +10 < SA 0 ack 1 <mss 1012,sackok,ts 100 1000>
    > A 1
";

#[test]
fn s3_2_a_timeout_that_was_too_early_is_undone() {
    run(&format!(
        "{OPEN}
        write 20000
        drop
        cwnd 10
        +20 > A 10001:11001 // the probe of the tail
        +210 > A 1:1001
        cwnd 1
        +10 < A 1 ack 3001 <ts 330 1010> // of the first transmission
        undone 1
        ssthresh none
        drop
        cwnd 13
    "
    ));
}

#[test]
fn s3_2_a_timeout_that_was_right_is_not() {
    run(&format!(
        "{OPEN}
        write 20000
        drop
        +20 > A 10001:11001
        +210 > A 1:1001
        +10 < A 1 ack 1001 <ts 330 1240>
        undone 0
        ssthresh 7
        drop
        < A 1 ack 3001 <ts 330 1010> // later ones say nothing
        undone 0
        drop
    "
    ));
}
