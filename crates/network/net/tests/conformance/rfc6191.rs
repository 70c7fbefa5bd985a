//! RFC 6191: new connections in TIME-WAIT.

use crate::script::run;

fn closed(options: &str, rest: &str) {
    run(&format!(
        "
        listen
        < S 0 {}
        > SA 0 ack 1
        < A 1 ack 1 {}
        shutdown
        > FA 1
        +10 < FA 1 ack 2 {}
        > A 2 ack 2
        close
        {rest}
    ",
        if options.is_empty() {
            "<mss 1460>"
        } else {
            "<mss 1460,ts 100 0>"
        },
        if options.is_empty() {
            ""
        } else {
            "<ts 100 1000>"
        },
        if options.is_empty() {
            ""
        } else {
            "<ts 110 1000>"
        }
    ));
}

#[test]
fn s2_a_later_timestamp() {
    closed(
        "ts",
        "
        again
        +10 < S 0 <mss 1460,ts 120 0>   // whatever its sequence number
        > SA 0 ack 1
        +1 < A 1 ack 1 <ts 121 1020>
        event connected
    ",
    );
}

#[test]
fn s2_an_earlier_timestamp() {
    closed(
        "ts",
        "
        +10 < S 5000 <mss 1460,ts 90 0>
        > A 2 ack 2
    ",
    );
}

#[test]
fn s2_a_later_sequence_number() {
    closed(
        "",
        "
        again
        +10 < S 2 <mss 1460>
        > SA 0 ack 3
    ",
    );
}

#[test]
fn s2_an_earlier_sequence_number() {
    closed(
        "",
        "
        +10 < S 0 <mss 1460>
        > A 2 ack 2
    ",
    );
}
