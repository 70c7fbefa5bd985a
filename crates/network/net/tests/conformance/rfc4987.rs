//! RFC 4987: floods of SYNs. More requests than the backlog are answered by cookies.

use crate::script::run;

#[test]
fn s3_6_cookies_without_timestamps() {
    run("
        listen 1
        < S 0 <mss 1460,sackok,ws 7>
        > SA 0 ack 1 <mss 1460,sackok,ws 1>
        port 4001
        again
        < S 0 <mss 1300,sackok,ws 7>
        > SA 0 ack 1 <mss 1460,nosack,nows,nots> // only the size of segments has room
    ");
    run("
        listen 0
        < S 0 <mss 1300,sackok,ws 7>
        > SA 0 ack 1
        none 30000 // nothing is kept, and nothing sent again
        < A 1 ack 1
        event connected
        mss 1220
        write 1220
        > PA 1:1221
    ");
}

#[test]
fn s3_6_cookies_with_timestamps() {
    run("
        listen 0
        < S 0 <mss 1460,sackok,ws 7,ts 77 0>
        > SA 0 ack 1 <mss 1460,sackok,ws 1,ts 1000 77>
        +10 < A 1 ack 1 win 100 <ts 87 1000>
        event connected
        mss 1448
        write 12800            // the window is scaled
        > A 1:1449
        drop
        flight 8
        < A 2001:3001 ack 1 <ts 87 1000>
        > A ack 1 <sack 2001-3001>
    ");
}

#[test]
fn s3_6_a_cookie_that_is_none() {
    run("
        listen 0
        < S 0 <mss 1460>
        > SA 0 ack 1
        < A 1 ack 2      // not answered, for it may follow an answer that was lost
        < A 2 ack 1
        none 100000
        +100000 < A 2 ack 1
        > R 1
    ");
}

#[test]
fn s3_6_old_cookies_are_not_taken() {
    run("
        listen 0
        < S 0 <mss 1460>
        > SA 0 ack 1
        +130000 < A 1 ack 1
        > R 1
    ");
}
