//! RFC 9293: TCP.

use crate::script::{Setup, run};

#[test]
fn s3_5_active_open() {
    run("
        connect
        > S 0 <mss 1460,sackok,ts 1000 0,ws 1>
        +10 < SA 0 ack 1 <mss 1000,sackok>
        > A 1 ack 1 <nots>
        event connected
        state Established
        mss 1000
    ");
}

#[test]
fn s3_5_passive_open() {
    run("
        listen
        < S 0 <mss 1400>
        > SA 0 ack 1 win 65535 <mss 1460,nosack,nots,nows>
        +10 < A 1 ack 1
        event connected
        state Established
        rto 210
        write 1400
        > PA 1:1401 ack 1
    ");
}

#[test]
fn s3_5_data_with_the_last_segment_of_the_handshake() {
    run("
        listen
        < S 0 <mss 1460>
        > SA 0 ack 1
        +10 < PA 1:101 ack 1
        event connected
        event readable
        > A 1 ack 101
        read 100
    ");
}

#[test]
fn s3_5_the_last_segment_of_the_handshake_is_lost() {
    run("
        listen
        < S 0 <mss 1460,sackok>
        > SA 0 ack 1
        +10 < A 1001:2001 ack 1 // and so is the first of data
        event connected
        > A 1 ack 1 <sack 1001-2001>
        +5 < A 1:1001 ack 1
        > A 1 ack 2001
    ");
}

#[test]
fn s3_5_simultaneous_open() {
    run("
        connect
        > S 0
        +5 < S 0 <mss 1460,sackok>
        > SA 0 ack 1
        +5 < SA 0 ack 1 <mss 1460,sackok>
        event connected
        state Established
        > A 1 ack 1
        write 100
        > PA 1:101 ack 1
    ");
}

#[test]
fn s3_5_simultaneous_open_with_a_bare_acknowledgement() {
    run("
        connect
        > S 0
        +5 < S 0 <mss 1460>
        > SA 0 ack 1
        +5 < A 1 ack 1
        event connected
        state Established
    ");
}

#[test]
fn s3_10_7_1_nothing_listens() {
    run("
        < S 0
        > RA 0:0 ack 1
    ");
    run("
        < A 5 ack 7
        > R 7
        < RA 5 ack 7
        none 1000
    ");
}

#[test]
fn s3_10_7_2_listening() {
    run("
        listen
        < R 0
        none 100
        < A 5 ack 7
        > R 7
        < SA 5 ack 7
        > R 7
        < F 5
        none 100
    ");
}

#[test]
fn s3_10_7_3_a_bad_acknowledgement_of_the_syn() {
    run("
        connect
        > S 0
        +10 < SA 0 ack 5
        > R 5
        state SynSent
        +10 < A 0 ack 0
        > R 0
        < RA 0 ack 9 // a reset that acknowledges nothing is dropped
        < R 0
        none 100
        state SynSent
    ");
}

#[test]
fn s3_10_7_3_refused() {
    run("
        connect
        > S 0
        +10 < RA 0 ack 1
        event closed
        reason refused
        none 5000
    ");
}

#[test]
fn s3_10_7_3_data_with_the_syn_that_answers() {
    run("
        connect
        > S 0
        +10 < SA 0 ack 1 <mss 1460>
        > A 1 ack 1
        < A 1:11 ack 1
        > A 1 ack 11
        read 10
    ");
}

/// The table of acceptability: what is not gets an acknowledgement and nothing else.
#[test]
fn s3_4_acceptability() {
    run("
        open <mss 1460,sackok>
        < A 1:101 ack 1
        > A 1 ack 101
        < A 1:101 ack 1                // old
        > A 1 ack 101 <sack 1-101>
        < A 51:151 ack 1               // its second half is new
        > A 1 ack 151 <sack 51-101>
        +1000 < A 70000 ack 1          // beyond the window, without data
        > A 1 ack 151
        < A 65636:65700 ack 1          // the last byte of the window, and more
        > A 1 ack 151
        +1000 < A 80000:80100 ack 1    // beyond it
        > A 1 ack 151 win 65385
    ");
}

#[test]
fn s3_10_7_4_an_acknowledgement_of_what_was_not_sent() {
    run("
        open <mss 1460>
        < A 1 ack 1000
        > A 1 ack 1
        < A 1 ack 1000 // not so soon again
        none 100
    ");
}

#[test]
fn s3_6_the_peer_closes_first() {
    run("
        open <mss 1460>
        < FA 1 ack 1
        > A 1 ack 2
        event finished
        state CloseWait
        write 100
        > PA 1:101 ack 2
        +10 < A 2 ack 101
        shutdown
        > FA 101 ack 2
        state LastAck
        +10 < A 2 ack 102
        event closed
        reason none
        state Closed
    ");
}

#[test]
fn s3_6_we_close_first() {
    run("
        open <mss 1460>
        write 100
        > PA 1:101 ack 1
        shutdown
        > FA 101 ack 1
        state FinWait1
        +10 < A 1 ack 102
        state FinWait2
        < A 1:1001 ack 102  // the other direction is still open
        > A 102 ack 1001
        read 1000
        +10 < FA 1001 ack 102
        > A 102 ack 1002
        event finished
        state TimeWait
        none 59000
        +1000 event closed
    ");
}

#[test]
fn s3_6_simultaneous_close() {
    run("
        open <mss 1460>
        shutdown
        > FA 1 ack 1
        +5 < FA 1 ack 1
        > A 2 ack 2
        state Closing
        +5 < A 2 ack 2
        state TimeWait
        close
        none 59990
        +11 gone
    ");
}

#[test]
fn s3_6_a_fin_that_acknowledges_ours() {
    run("
        open <mss 1460>
        shutdown
        > FA 1 ack 1
        +5 < FA 1 ack 2
        > A 2 ack 2
        state TimeWait
    ");
}

#[test]
fn s3_10_7_4_a_late_fin_in_time_wait_is_acknowledged_again() {
    run("
        open <mss 1460>
        shutdown
        > FA 1 ack 1
        +5 < FA 1 ack 2
        > A 2 ack 2
        close
        +30000 < FA 1 ack 2
        > A 2 ack 2
        none 59000 // the wait began again
        +1001 gone
    ");
}

#[test]
fn s3_6_1_data_after_close_is_answered_by_a_reset() {
    run("
        open <mss 1460>
        close
        > FA 1 ack 1
        +10 < A 1 ack 2
        < A 1:101 ack 2
        > R 2
        gone
    ");
}

/// RFC 2525, 2.17 too.
#[test]
fn s3_6_1_closing_with_unread_data_resets() {
    run("
        open <mss 1460>
        < A 1:101 ack 1
        > A 1 ack 101
        close
        > RA 1 ack 101
        gone
    ");
}

#[test]
fn s3_10_5_abort() {
    run("
        open <mss 1460>
        write 100
        > PA 1:101
        abort
        > RA 101 ack 1
        gone
    ");
}

#[test]
fn s3_10_4_closing_what_is_not_yet_open() {
    run("
        connect
        > S 0
        close
        gone
        +10 < SA 0 ack 1
        > R 1
    ");
}

#[test]
fn s3_10_7_4_fin_out_of_order() {
    run("
        open <mss 1460,sackok>
        < FA 101:201 ack 1
        > A 1 ack 1 <sack 101-201>
        < A 1:101 ack 1
        > A 1 ack 202
        event finished
        read 200
    ");
}

#[test]
fn s3_10_7_4_data_beyond_the_fin_is_dropped() {
    run("
        open <mss 1460>
        < FA 1:11 ack 1
        > A 1 ack 12
        < A 12:22 ack 1
        > A 1 ack 12
        read 10
        state CloseWait
    ");
}

#[test]
fn s3_8_6_1_zero_windows_are_probed() {
    run("
        open <mss 1460>
        write 1000
        > PA 1:1001
        +10 < A 1 ack 1001 win 0
        write 1000
        none 209
        +1 > A 1000 ack 1      // the probe
        +10 < A 1 ack 1001 win 0
        +410 > A 1000
        +10 < A 1 ack 1001 win 0
        +830 > A 1000
        < A 1 ack 1001 win 5000
        > PA 1001:2001
    ");
}

#[test]
fn s3_8_6_1_a_peer_that_answers_probes_is_not_given_up() {
    run("
        open <mss 1460>
        write 10
        > PA 1:11
        +10 < A 1 ack 11 win 0
        write 10
        +210 > A 10
        < A 1 ack 11 win 0
        +420 > A 10
        < A 1 ack 11 win 0
        +840 > A 10
        < A 1 ack 11 win 0
        +1680 > A 10
        < A 1 ack 11 win 0
        +3360 > A 10
        < A 1 ack 11 win 0
        +6720 > A 10
        < A 1 ack 11 win 0
        +13440 > A 10
        < A 1 ack 11 win 0
        +26880 > A 10
        < A 1 ack 11 win 0
        +53760 > A 10
        < A 1 ack 11 win 0
        +107520 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 0
        +120000 > A 10
        < A 1 ack 11 win 100
        > PA 11:21
    ");
}

#[test]
fn s3_8_6_1_a_fin_waits_for_a_window() {
    run("
        open <mss 1460>
        write 1000
        > PA 1:1001
        +10 < A 1 ack 1001 win 0
        shutdown
        +210 > A 1000
        +10 < A 1 ack 1001 win 1
        > FA 1001
    ");
}

#[test]
fn s3_8_6_a_window_that_shrinks() {
    run("
        open <mss 1000>
        write 3000
        > A 1:1001
        > A 1001:2001
        > PA 2001:3001
        +10 < A 1 ack 1001 win 500
        write 1000
        none 30
        +10 < A 1 ack 3001 win 5000
        > PA 3001:4001
    ");
}

#[test]
fn s3_8_6_2_1_the_sender_waits_for_a_segment_of_room() {
    run("
        open win 10000 <mss 1000>
        write 5000
        > A 1:1001
        > A 1001:2001
        > A 2001:3001
        > A 3001:4001
        > PA 4001:5001
        +10 < A 1 ack 5001 win 300
        write 5000
        none 209
        +1 > A 5001:5301       // the wait is over
        +10 < A 1 ack 5301 win 6000
        > A 5301:6301
        > A 6301:7301
        > A 7301:8301
        > A 8301:9301
        +10 < A 1 ack 9301 win 6000
        > PA 9301:10001
    ");
}

#[test]
fn s3_8_6_2_1_half_of_a_small_window_is_enough() {
    run("
        open win 800 <mss 1000>
        write 5000
        > A 1:801
        +10 < A 1 ack 801 win 500
        > A 801:1301
        +10 < A 1 ack 1301 win 300
        none 100
    ");
}

#[test]
fn s3_8_6_2_2_the_receiver_opens_its_window_by_segments() {
    let setup = Setup {
        host: crate::network::Setup {
            ring: 4096,
            ..Setup::default().host
        },
        ..Setup::default()
    };
    setup.run(
        "
        open <mss 1460>
        < A 1:1001 ack 1
        > A 1 ack 1001 win 3096
        < A 1001:2001 ack 1
        > A 1 ack 2001 win 2096
        < A 2001:3001 ack 1
        > A 1 ack 3001 win 1096
        < A 3001:4001 ack 1
        > A 1 ack 4001 win 96
        < A 4001:4097 ack 1
        > A 1 ack 4097 win 0
        read 500
        none 100
        +1000 < A 4096 ack 1   // a probe
        > A 1 ack 4097 win 0
        read 500
        > A 1 ack 4097 win 1000
        read 3096
        > A 1 ack 4097 win 4096
    ",
    );
}

#[test]
fn s3_7_4_nagle() {
    run("
        open <mss 1000>
        write 100
        > PA 1:101
        write 100
        write 100
        none 5
        +5 < A 1 ack 101
        > PA 101:301
        write 1100     // a whole segment goes out
        > A 301:1301
        +10 < A 1 ack 1301
        > PA 1301:1401
    ");
}

#[test]
fn s3_7_4_nagle_is_turned_off() {
    run("
        open <mss 1000>
        set nodelay
        write 100
        > PA 1:101
        write 100
        > PA 101:201
    ");
}

#[test]
fn corked_segments_wait() {
    run("
        open <mss 1000>
        set cork
        write 500
        none 150
        write 600
        > A 1:1001
        +10 < A 1 ack 1001
        none 50
        set uncork
        > PA 1001:1101
    ");
}

#[test]
fn s3_7_1_a_peer_that_names_no_segment_size() {
    run("
        open
        mss 536
    ");
}

#[test]
fn s3_8_5_urgent_data_is_data() {
    // The script writes no pointer; the flag alone must change nothing.
    run("
        open <mss 1460>
        < A 1:11 ack 1
        > A 1 ack 11
        read 10
    ");
}

#[test]
fn s3_10_7_4_segments_without_ack_are_dropped() {
    run("
        open <mss 1460>
        < P 1:101
        none 100
    ");
}

/// RFC 6429: a peer that has no room does not keep what no application has any more.
#[test]
fn s3_8_6_1_a_closed_connection_is_not_probed_for_ever() {
    let mut script = String::from(
        "open <mss 1460>
        write 10
        > PA 1:11
        +10 < A 1 ack 11 win 0
        write 10
        close
        ",
    );
    let mut timeout = 210;
    for _ in 0..13 {
        script += &format!("+{timeout} > A 10\n< A 1 ack 11 win 0\n");
        timeout = (timeout * 2).min(120_000);
    }
    run(&(script + "+121000 gone"));
}

/// RFC 1122, 4.2.2.13: the sequence numbers of a connection that begins in TIME-WAIT are beyond those of the old one.
#[test]
fn s3_6_1_numbers_after_time_wait() {
    let mut script = String::from(
        "listen
        < S 0 <mss 1460>
        > SA 0 ack 1
        < A 1 ack 1
        ",
    );
    // More than the clock of the numbers goes on by.
    for segment in 0..300 {
        let start = 1 + segment * 1000;
        script += &format!(
            "write 1000\n> PA {start}:{0}\n< A 1 ack {0}\n",
            start + 1000
        );
    }
    script += "shutdown
        > FA 300001
        < FA 1 ack 300002
        > A 300002 ack 2
        close
        < S 2 <mss 1460>
        > SA 365538 ack 3";
    run(&script);
}

/// What nothing reads or writes any more takes no rings, though the peer has not closed yet.
#[test]
fn s3_6_rings_go_back_when_our_end_is_acknowledged() {
    run("
        open <mss 1000>
        write 10
        > PA 1:11
        < A 1 ack 11
        close
        > FA 11:11 ack 1
        rings 1
        +10 < A 1 ack 12
        rings 0
        state FinWait2
        +100 < FA 1:1 ack 12
        > A 12 ack 2
        state TimeWait
    ");
    run("
        open <mss 1000>
        close
        > FA 1:1
        +10 < A 1 ack 2
        rings 0
        < A 1:11 ack 2
        > R 2
    ");
    run("
        open <mss 1000>
        close
        > FA 1:1
        +10 < A 1 ack 2
        none 61000
        gone
    ");
    // Half of it is closed, and the other half is read.
    run("
        open <mss 1000>
        shutdown
        > FA 1:1
        +10 < A 1 ack 2
        rings 1
        < A 1:11 ack 2
        > A 2 ack 11
        read 10
    ");
}

/// A FIN has no data, and the congestion window is of data.
#[test]
fn s3_10_4_a_fin_does_not_wait_for_the_congestion_window() {
    run("
        open <mss 1000,sackok>
        write 10000
        drop
        flight 10
        +10 shutdown
        > FA 10001:10001
        +20 > FA 10001:10001    // the probe of the tail
    ");
    run("
        open <mss 1000,sackok>
        write 10500             // data does
        drop
        +10 shutdown
        +5 < A 1 ack 1001
        > FPA 10001:10501
    ");
}

/// Without a scale a window has 65,535 bytes, however much room there is.
#[test]
fn s3_8_6_2_2_a_window_that_cannot_be_larger_is_not_told_again() {
    let setup = Setup {
        host: crate::network::Setup {
            ring: 1 << 23,
            ..Setup::default().host
        },
        ..Setup::default()
    };
    setup.run(
        "
        listen
        < S 0 win 20000 <mss 1000,sackok>
        > SA 0
        +100 < A 1 ack 1 win 20000
        < PA 1:1001 ack 1 win 257
        > A 1 ack 1001
        +20 read 1000
        none 100
    ",
    );
}

/// Flags that say no one thing: as Linux, neither answered nor taken.
#[test]
fn s3_10_7_2_nonsense_to_a_listener_is_dropped() {
    run("
        listen
        < SF 0 <mss 1460>
        < SFP 0 <mss 1460>
        < SR 0
        < SFR 0
        < F 0
        < P 0
        < SFW 0
        none 100
        < S 0 <mss 1460>
        > SA 0 ack 1
        < SF 0 <mss 1460>
        none 100
        < A 1 ack 1
        event connected
    ");
    run("
        listen
        < SA 0 ack 7
        > R 7
    ");
}

#[test]
fn s3_10_7_3_a_syn_with_a_fin_opens_nothing() {
    run("
        connect
        > S 0
        < SF 0 <mss 1460>
        state SynSent
        none 100
        < SA 0 ack 1 <mss 1460>
        > A 1 ack 1
    ");
}

/// Only a bare SYN begins another connection.
#[test]
fn s3_10_7_4_nonsense_does_not_end_time_wait() {
    run("
        listen
        < S 0 <mss 1460>
        > SA 0 ack 1
        < A 1 ack 1
        close
        > FA 1
        < FA 1 ack 2
        > A 2 ack 2
        < SA 900 ack 2
        drop
        < SF 900
        drop
        state TimeWait
    ");
}
