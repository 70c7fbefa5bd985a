//! RFC 5482: the user timeout, as the socket option.

use crate::script::run;

#[test]
fn s3_data_that_is_not_acknowledged() {
    run("
        open <mss 1000>
        set timeout 1000
        write 1000
        > PA 1:1001
        +210 > PA 1:1001
        +420 > PA 1:1001
        none 369
        +2 event closed
        reason timedout
    ");
}

#[test]
fn s3_it_is_longer_than_the_retransmissions() {
    let mut script = String::from("open <mss 1000>\nset timeout 3000000\nwrite 10\n> PA 1:11\n");
    let mut timeout = 210;
    for _ in 0..20 {
        script += &format!("+{timeout} > PA 1:11\n");
        timeout = (timeout * 2).min(120_000);
    }
    run(&(script + "state Established"));
}

#[test]
fn s3_a_window_that_stays_shut() {
    run("
        open <mss 1000>
        set timeout 1000
        write 1000
        > PA 1:1001
        +10 < A 1 ack 1001 win 0
        write 1000
        +210 > A 1000
        < A 1 ack 1001 win 0
        +420 > A 1000
        < A 1 ack 1001 win 0
        +581 event closed
        reason timedout
    ");
}
