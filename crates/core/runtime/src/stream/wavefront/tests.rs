//! Which line comes next, without a service.

use super::layout::{Chunk, Layout};
use super::lines::{Lines, Room};
use crate::service::{Need, Shape, Work};
use crate::structure::fixtures::WAVEFRONT;

fn lines(passes: &[u32], of_each: &[u32], units: u32, first: u64) -> Lines {
    let shape = Shape {
        lines: of_each.to_vec(),
        units,
        ..Shape::new(&WAVEFRONT, passes.to_vec(), 1, Work::default())
    };
    Lines::new(Layout::new(&shape).unwrap(), first)
}

fn begin(lines: &Lines, unit: u64, needs: impl Fn(usize, u32) -> Vec<Need>) {
    assert_eq!(lines.may_begin(), Room::Yours);
    assert_eq!(lines.may_begin(), Room::Taken);
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for line in lines.layout.of(unit) {
        all.extend(needs(line.pass, line.line));
        ends.push(all.len());
    }
    lines.begin(unit, 1, &all, &ends);
}

fn take(lines: &Lines) -> (u64, usize, u32) {
    let line = lines.take().unwrap().line;
    (line.unit, line.pass, line.line)
}

#[test]
fn the_oldest_unit_comes_first_and_then_its_last_pass() {
    let lines = lines(&[4, 2], &[2, 1], 2, 7);
    begin(&lines, 7, |_, _| Vec::new());
    begin(&lines, 8, |_, _| Vec::new());
    assert_eq!(lines.may_begin(), Room::None);
    let order: Vec<_> = (0..6).map(|_| take(&lines)).collect();
    let of = |unit| [(unit, 1, 0), (unit, 0, 0), (unit, 0, 1)];
    assert_eq!(order, [of(7), of(8)].concat());
    assert!(lines.take().is_none());
}

#[test]
fn a_worker_parts_from_its_line_for_an_older_unit() {
    let lines = lines(&[2], &[1], 2, 0);
    let need = |unit, steps| Need {
        unit,
        pass: 0,
        line: 0,
        steps,
    };
    begin(&lines, 0, |_, _| vec![need(1, 1)]);
    begin(&lines, 1, |_, _| Vec::new());
    let young = lines.take().unwrap();
    assert!(!lines.should_part(young.line));
    lines.publish(&young);
    assert!(lines.should_part(young.line));
    let next = Chunk {
        steps: 1..2,
        ..young.clone()
    };
    assert!(!lines.suspend(&next, &[]));
    let old = lines.take().unwrap();
    assert_eq!(old.line.unit, 0);
    assert_eq!(lines.take(), Some(next));
}

#[test]
fn units_before_the_first_and_after_the_end_are_done() {
    let lines = lines(&[2], &[1], 3, 5);
    let need = |unit| Need {
        unit,
        pass: 0,
        line: 0,
        steps: 2,
    };
    begin(&lines, 5, |_, _| vec![need(4), need(6), need(7)]);
    assert!(!lines.is_met(&need(6)));
    assert!(lines.take().is_none());
    begin(&lines, 6, |_, _| Vec::new());
    let next = lines.take().unwrap();
    assert_eq!(next.line.unit, 6);
    for steps in [0..1, 1..2] {
        lines.publish(&Chunk {
            line: next.line,
            steps,
        });
    }
    assert!(lines.is_met(&need(6)) && !lines.is_met(&need(7)));
    assert!(lines.take().is_none());
    lines.end();
    assert!(lines.is_met(&need(7)));
    assert_eq!(take(&lines).0, 5);
    assert!(!lines.is_leaving());
}

#[test]
fn a_slot_is_used_again_when_its_unit_is_done() {
    let lines = lines(&[1], &[1], 2, 0);
    let need = |unit| Need {
        unit,
        pass: 0,
        line: 0,
        steps: 1,
    };
    let finish = |unit| {
        let chunk = lines.take().unwrap();
        assert_eq!(chunk.line.unit, unit);
        lines.publish(&chunk);
        assert!(lines.end_line(unit));
        lines.retire(unit);
    };
    begin(&lines, 0, |_, _| Vec::new());
    begin(&lines, 1, |_, _| Vec::new());
    // Unit 1 is done before unit 0.
    let first = lines.take().unwrap();
    finish(1);
    assert_eq!(lines.may_begin(), Room::None);
    assert_eq!(lines.progress(), 0.0);
    lines.publish(&first);
    assert!(lines.end_line(0));
    lines.retire(0);
    begin(&lines, 2, |_, _| Vec::new());
    assert!([0, 1].map(need).iter().all(|need| lines.is_met(need)));
    assert!(!lines.is_met(&need(2)) && lines.stuck().is_none());
    finish(2);
    begin(&lines, 3, |_, _| vec![need(3)]);
    lines.drain();
    assert_eq!(lines.stuck(), Some((3, false)));
    lines.fail(3);
    assert!(lines.is_leaving() && lines.is_over());
}

/// Two units of a pass for devices, of two lines, and one of a line that needs it.
fn with_lanes(lanes: usize) -> Lines {
    let shape = Shape {
        lines: vec![2, 1],
        units: 3,
        device_pass: Some(0),
        ..Shape::new(&WAVEFRONT, vec![4, 1], 1, Work::default())
    };
    let mut lines = Lines::new(Layout::new(&shape).unwrap(), 0);
    lines.resume(lanes);
    lines
}

fn after_search(unit: u64) -> impl Fn(usize, u32) -> Vec<Need> {
    let need = move |line| Need {
        unit,
        pass: 0,
        line,
        steps: 2,
    };
    move |pass, _| match pass {
        1 => vec![need(0), need(1)],
        _ => Vec::new(),
    }
}

#[test]
fn an_idle_lane_gets_a_pass_when_all_its_lines_are_ready() {
    let lines = with_lanes(1);
    assert_eq!(lines.take_pass(false), None);
    let seen = lines.lane_news.seen();
    begin(&lines, 0, after_search(0));
    assert_ne!(lines.lane_news.seen(), seen);
    assert!(lines.take().is_none() && lines.stuck().is_none());
    assert_eq!(lines.take_pass(true), Some(0));
    // The lane is busy, so workers may have this one, and the lane until one has begun it.
    begin(&lines, 1, after_search(1));
    begin(&lines, 2, after_search(2));
    assert_eq!(take(&lines), (1, 0, 0));
    assert!(!lines.end_pass(0));
    assert_eq!(lines.take_pass(false), Some(2));
    assert_eq!(take(&lines), (0, 1, 0));
    assert_eq!(take(&lines), (1, 0, 1));
    assert!(lines.take().is_none());
}

#[test]
fn lines_wait_for_a_lane_until_all_are_ready() {
    let lines = with_lanes(1);
    assert_eq!(lines.take_pass(false), None);
    begin(&lines, 0, after_search(0));
    assert_eq!(lines.take_pass(true), Some(0));
    assert!(!lines.end_pass(0));
    assert_eq!(lines.take_pass(false), None);
    // The second line of unit 1 needs the last pass of unit 0.
    let last = Need {
        unit: 0,
        pass: 1,
        line: 0,
        steps: 1,
    };
    begin(&lines, 1, |pass, line| match (pass, line) {
        (0, 1) => vec![last],
        _ => after_search(1)(pass, line),
    });
    let chunk = lines.take().unwrap();
    assert_eq!(chunk.line.unit, 0);
    assert!(lines.take().is_none());
    lines.publish(&chunk);
    assert_eq!(lines.take_pass(true), Some(1));
}

#[test]
fn what_lanes_leave_is_for_workers() {
    let mut lines = with_lanes(2);
    assert_eq!(lines.take_pass(false), None);
    assert_eq!(lines.take_pass(false), None);
    begin(&lines, 0, after_search(0));
    // One that had a pass returns it and goes, and so does one that waits for a pass.
    assert_eq!(lines.take_pass(true), Some(0));
    lines.return_pass(0);
    lines.remove_lane(false);
    assert_eq!([take(&lines), take(&lines)], [(0, 0, 0), (0, 0, 1)]);
    begin(&lines, 1, after_search(1));
    assert!(lines.take().is_none());
    lines.remove_lane(true);
    assert_eq!([take(&lines), take(&lines)], [(1, 0, 0), (1, 0, 1)]);
    // A lane had no time to take its pass before lanes came out.
    lines.resume(1);
    assert_eq!(lines.take_pass(false), None);
    begin(&lines, 2, after_search(2));
    assert!(lines.take().is_none());
    lines.resume(0);
    assert_eq!([take(&lines), take(&lines)], [(2, 0, 0), (2, 0, 1)]);
}
