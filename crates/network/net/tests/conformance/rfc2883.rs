//! RFC 2883: what came twice is told.

use crate::script::run;

#[test]
fn s4_1_a_duplicate_segment() {
    run("
        open <mss 500,sackok>
        < A 1:501 ack 1
        > A 1 ack 501
        < A 501:1001 ack 1
        > A 1 ack 1001
        < A 501:1001 ack 1
        > A 1 ack 1001 <sack 501-1001>
        < A 1001:1501 ack 1 // told once
        > A 1 ack 1501 <nosack>
    ");
}

#[test]
fn s4_1_2_a_duplicate_beyond_a_gap() {
    run("
        open <mss 500,sackok>
        < A 501:1001 ack 1
        > A 1 ack 1 <sack 501-1001>
        < A 1001:1501 ack 1
        > A 1 ack 1 <sack 501-1501>
        < A 501:1001 ack 1
        > A 1 ack 1 <sack 501-1001 501-1501>
    ");
}

#[test]
fn s4_2_part_of_a_segment() {
    run("
        open <mss 1000,sackok>
        < A 1:501 ack 1
        > A 1 ack 501
        < A 1:1001 ack 1
        > A 1 ack 1001 <sack 1-501>
    ");
}
