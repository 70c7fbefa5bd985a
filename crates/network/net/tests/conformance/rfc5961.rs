//! RFC 5961: attacks from outside the path.

use crate::script::run;

#[test]
fn s3_2_a_reset_in_the_window_is_challenged() {
    run("
        open <mss 1460>
        < R 100
        > A 1 ack 1
        state Established
        < R 70000          // beyond it: dropped
        none 100
        < R 1              // right there
        event closed
        reason reset
    ");
}

#[test]
fn s4_2_a_syn_is_challenged() {
    run("
        open <mss 1460>
        < S 50
        > A 1 ack 1
        +600 < S 0         // the old one
        > A 1 ack 1
        +600 < SA 0 ack 1
        > A 1 ack 1
        +600 < S 90000
        > A 1 ack 1
        state Established
    ");
}

#[test]
fn s5_2_old_acknowledgements() {
    run("
        open win 2000 <mss 1000>
        write 2000
        > A 1:1001
        > PA 1001:2001
        +10 < A 1 ack 2001 win 2000
        write 2000
        > A 2001:3001
        > PA 3001:4001
        +10 < A 1 ack 4001 win 2000
        < A 1:11 ack 2001 win 2000       // the largest window before: data is taken
        > A 4001 ack 11
        +600 < A 11:21 ack 1000 win 2000 // before it
        > A 4001 ack 11
    ");
}

#[test]
fn s7_challenges_are_few() {
    run("
        open <mss 1460>
        < R 100
        > A 1 ack 1
        < R 101
        < R 102
        < S 50
        none 499
        +2 < R 100
        > A 1 ack 1
    ");
}

#[test]
fn s3_2_resets_of_each_state() {
    run("
        open <mss 1460>
        shutdown
        > FA 1
        < RA 1 ack 2
        event closed
        reason reset
    ");
    run("
        open <mss 1460>
        < FA 1 ack 1
        > A 1 ack 2
        shutdown
        > FA 1
        < RA 2 ack 1
        event closed
    ");
}
