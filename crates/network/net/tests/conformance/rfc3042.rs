//! RFC 3042: limited transmit.

use crate::script::run;

#[test]
fn s2_the_first_two_duplicates_let_a_segment_out_each() {
    for options in ["<mss 1000,sackok>", "<mss 1000>"] {
        let sack = if options.contains("sack") {
            ["<sack 1001-2001>", "<sack 1001-3001>"]
        } else {
            ["", ""]
        };
        run(&format!(
            "
            open {options}
            write 30000
            > A 1:1001
            drop
            flight 10
            +5 < A 1 ack 1 {}
            > A 10001:11001
            < A 1 ack 1 {}
            > A 11001:12001
            cwnd 10
        ",
            sack[0], sack[1]
        ));
    }
}
