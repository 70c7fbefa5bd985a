//! RFC 6298: the retransmission timer.

use crate::script::run;

#[test]
fn s5_5_syns_are_sent_again_ever_later_and_given_up() {
    run("
        connect
        > S 0
        +1000 > S 0
        +2000 > S 0
        +4000 > S 0
        +8000 > S 0
        +16000 > S 0
        +32000 > S 0
        +64000 event closed
        reason timedout
    ");
}

#[test]
fn s5_5_syns_that_answer_are_sent_again() {
    run("
        listen
        < S 0 <mss 1460>
        > SA 0 ack 1
        +1000 > SA 0 ack 1
        +2000 > SA 0 ack 1
        < S 0 <mss 1460>   // the peer asks again
        > SA 0 ack 1
        +4000 > SA 0 ack 1
        +8000 > SA 0 ack 1
        +16000 > SA 0 ack 1
        none 40000
        < A 1 ack 1
        > R 1
    ");
}

#[test]
fn s5_5_data_is_sent_again_ever_later_and_given_up() {
    let mut script = String::from("open <mss 1000>\nwrite 10\n> PA 1:11\n");
    let mut timeout = 210;
    for _ in 0..15 {
        script += &format!("+{timeout} > PA 1:11\n");
        timeout = (timeout * 2).min(120_000);
    }
    run(&(script + "+120000 event closed\nreason timedout"));
}

#[test]
fn s5_a_fin_is_sent_again() {
    run("
        open <mss 1000>
        write 10
        > PA 1:11
        shutdown
        > FA 11
        +210 > PA 1:11
        > FA 11
        +420 > PA 1:11
        > FA 11
        +10 < A 1 ack 11          // the data alone
        +840 > FA 11
        +10 < A 1 ack 12
        state FinWait2
    ");
}

/// Karn's algorithm: what was sent twice gives no sample, and the longer timeout stays.
#[test]
fn s3_no_sample_of_what_went_out_twice() {
    run("
        open <mss 1000>
        rto 210
        write 10
        > PA 1:11
        +210 > PA 1:11
        +300 < A 1 ack 11
        rto 420
        write 10
        > PA 11:21
        +10 < A 1 ack 21
        rto 210
    ");
}

#[test]
fn s5_7_after_a_lost_syn_the_first_timeout_is_three_seconds() {
    run("
        connect
        > S 0
        +1000 > S 0
        +10 < SA 0 ack 1 <mss 1000>
        > A 1
        rto 3000
        write 10
        > PA 1:11
        +3000 > PA 1:11
    ");
}

/// Timestamps give a sample in any case (RFC 7323, 4).
#[test]
fn rfc7323_s4_a_sample_by_timestamps() {
    run("
        connect
        > S 0
        +1000 > S 0
        +10 < SA 0 ack 1 <mss 1000,ts 100 2000>
        > A 1
        rto 210
    ");
}
