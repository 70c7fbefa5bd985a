//! RFC 1122: what hosts have to do.

use crate::script::run;

/// The first segments are acknowledged at once; then every second, or after 40 ms.
#[test]
fn s4_2_3_2_delayed_acknowledgements() {
    let mut script = String::from("open <mss 1000>\n");
    for segment in 0..16 {
        let start = 1 + segment * 1000;
        script += &format!("< A {start}:{} ack 1\n", start + 1000);
        script += &format!("> A 1 ack {}\n", start + 1000);
    }
    script += "
        read 16000
        < A 16001:17001 ack 1
        none 5
        < A 17001:18001 ack 1
        > A 1 ack 18001
        < A 18001:18101 ack 1
        +40 > A 1 ack 18101
        < A 18101:18201 ack 1
        write 10
        > PA 1:11 ack 18201 // data takes it along
        none 100
    ";
    run(&script);
}

#[test]
fn s4_2_3_2_what_is_out_of_order_is_acknowledged_at_once() {
    run("
        open <mss 1000,sackok>
        < A 1001:2001 ack 1
        > A 1 ack 1 <sack 1001-2001>
        < A 1:1001 ack 1
        > A 1 ack 2001 <nosack>
    ");
}

#[test]
fn s4_2_3_6_keep_alive() {
    run("
        open <mss 1460>
        set keepalive 10000 1000 3
        +10000 > A 0 ack 1
        +10 < A 1 ack 1
        +10000 > A 0 ack 1
        +1000 > A 0 ack 1
        +1000 > A 0 ack 1
        +1000 > RA 1
        event closed
        reason timedout
    ");
}

#[test]
fn s4_2_3_6_keep_alives_are_answered() {
    run("
        open <mss 1460>
        < A 1:11 ack 1
        > A 1 ack 11
        +5000 < A 10 ack 1
        > A 1 ack 11
        +5000 < A 10:11 ack 1 // with a byte of old data
        > A 1 ack 11
    ");
}

#[test]
fn s4_2_3_6_keep_alive_waits_while_data_is_on_its_way() {
    run("
        open <mss 1460>
        set keepalive 100 100 2
        write 10
        > PA 1:11
        +210 > PA 1:11
        +420 > PA 1:11
        +10 < A 1 ack 11
        +100 > A 10
    ");
}

#[test]
fn s4_2_3_9_messages_about_a_connection_that_is_being_opened() {
    run("
        connect
        > S 0
        icmp host 0
        none 900
        state SynSent
        icmp port 5          // about nothing that is on its way
        state SynSent
        icmp port 0
        event closed
        reason refused
    ");
}

#[test]
fn s4_2_3_9_messages_do_not_end_what_is_established() {
    run("
        open <mss 1460>
        write 10
        > PA 1:11
        icmp port 1
        icmp host 1
        +10 < A 1 ack 11
        state Established
    ");
}
