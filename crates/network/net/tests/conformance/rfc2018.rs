//! RFC 2018: selective acknowledgements.

use crate::script::run;

#[test]
fn s4_the_order_of_blocks() {
    run("
        open <mss 100,sackok>
        < A 201:301 ack 1
        > A 1 ack 1 <sack 201-301>
        < A 401:501 ack 1
        > A 1 ack 1 <sack 401-501 201-301>
        < A 601:701 ack 1
        > A 1 ack 1 <sack 601-701 401-501 201-301>
        < A 801:901 ack 1
        > A 1 ack 1 <sack 801-901 601-701 401-501 201-301>
        < A 1001:1101 ack 1
        > A 1 ack 1 <sack 1001-1101 801-901 601-701 401-501>
        < A 301:401 ack 1
        > A 1 ack 1 <sack 201-501 1001-1101 801-901 601-701>
        < A 1:201 ack 1
        > A 1 ack 501 <sack 1001-1101 801-901 601-701>
        read 500
    ");
}

#[test]
fn s3_three_blocks_beside_timestamps() {
    run("
        connect
        > S 0
        +10 < SA 0 ack 1 <mss 1460,sackok,ts 100 1000>
        > A 1 <ts 1010 100>
        < A 201:301 ack 1 <ts 110 1010>
        > A 1 ack 1 <sack 201-301,ts 1010 100>
        < A 401:501 ack 1 <ts 110 1010>
        > A 1 ack 1
        < A 601:701 ack 1 <ts 110 1010>
        > A 1 ack 1
        < A 801:901 ack 1 <ts 110 1010>
        > A 1 ack 1 <sack 801-901 601-701 401-501>
    ");
}

#[test]
fn s2_none_without_the_option() {
    run("
        open <mss 100>
        < A 201:301 ack 1
        > A 1 ack 1 <nosack>
    ");
}

#[test]
fn blocks_are_told_though_data_goes_out() {
    run("
        open <mss 1000,sackok>
        < A 1001:2001 ack 1
        write 100
        > A 1 ack 1 <sack 1001-2001>
        > PA 1:101 ack 1
    ");
}

/// A timeout whose first segment is sacked shows that the peer threw it away.
#[test]
fn s8_reneging() {
    run("
        open <mss 1000,sackok>
        write 3000
        > A 1:1001
        > A 1001:2001
        > PA 2001:3001
        +10 < A 1 ack 1 <sack 1001-2001>
        drop
        +2 < A 1 ack 1001 <sack 1001-2001>
        +30 drop
        none 150
        +60 drop
        < A 1 ack 1001
        none 1
    ");
}
