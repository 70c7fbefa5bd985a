//! RFC 9438: CUBIC.

use crate::script::run;

#[test]
fn s4_6_seven_tenths_are_left() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        +10 < A 1 ack 1 <sack 1001-4001>
        > A 1:1001
        ssthresh 7
        +10 < A 1 ack 10001
        cwnd 7
    ");
}
