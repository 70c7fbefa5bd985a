//! Pools with many origins and sessions, in virtual time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::rendezvous::cost;
use super::*;

fn member(number: usize, weight: f64) -> Member {
    Member {
        name: number.to_string(),
        url: Url::parse(&format!("rtsp://10.0.0.{number}/live")).unwrap(),
        weight,
        drains: false,
    }
}

fn members(weights: &[f64]) -> Vec<Member> {
    (1..)
        .zip(weights)
        .map(|(number, &weight)| member(number, weight))
        .collect()
}

fn key(number: usize) -> String {
    format!("channel/{number}")
}

/// The first of all origins for a key, whatever their load.
fn first(key: &str, members: &[Member]) -> String {
    let names = members
        .iter()
        .map(|member| (member.url.to_string(), member.weight));
    names
        .min_by(|(a, x), (b, y)| cost(key, a, *x).total_cmp(&cost(key, b, *y)))
        .unwrap()
        .0
}

fn place(pool: &mut Pool, key: &str, now: Instant) -> OriginId {
    pool.place(key, &[], now).unwrap().0
}

fn take_down(pool: &mut Pool, id: OriginId, now: Instant) {
    pool.session_failed(id, "no packets", now);
    pool.probed(id, Err("connection refused"), now);
}

/// No origin that takes sessions has more than its bound, at the time when a session was placed with it.
fn check_bound(pool: &Pool, placed: OriginId, now: Instant) {
    let able = || {
        pool.origins
            .iter()
            .filter(|origin| origin.takes_sessions() && origin.health.state() == State::Up)
    };
    let weights: f64 = able().map(|origin| origin.weight(now)).sum();
    let sessions: usize = able().map(|origin| origin.sessions).sum();
    let origin = able().find(|origin| origin.id == placed).unwrap();
    let bound = (1.25 * sessions as f64 * origin.weight(now) / weights).ceil() as usize;
    assert!(
        origin.sessions <= bound,
        "{} sessions, bound {bound}",
        origin.sessions
    );
}

#[test]
fn keys_are_shared_by_weight() {
    let members = members(&[1.0, 2.0, 1.0, 4.0]);
    let mut counts: HashMap<String, f64> = HashMap::new();
    const KEYS: usize = 40_000;
    for number in 0..KEYS {
        *counts.entry(first(&key(number), &members)).or_default() += 1.0;
    }
    for member in &members {
        let expected = KEYS as f64 * member.weight / 8.0;
        let count = counts[&member.url.to_string()];
        // Five standard deviations of a binomial distribution.
        assert!(
            (count - expected).abs() < 5.0 * expected.sqrt(),
            "{count} {expected}"
        );
    }
}

proptest! {
    #[test]
    fn a_removed_origin_moves_only_its_own_keys(
        weights in prop::collection::vec(0.1..10.0, 2..12),
        removed: prop::sample::Index,
    ) {
        let all = members(&weights);
        let mut rest = all.clone();
        let gone = rest.remove(removed.index(all.len())).url.to_string();
        for number in 0..200 {
            let (before, after) = (first(&key(number), &all), first(&key(number), &rest));
            prop_assert!(before == after || before == gone);
            prop_assert!(after != gone);
        }
    }

    #[test]
    fn a_weight_that_grows_moves_keys_only_to_its_origin(
        weights in prop::collection::vec(0.1..10.0, 2..12),
        grows: prop::sample::Index,
        by in 1.0..20.0,
    ) {
        let before = members(&weights);
        let mut after = before.clone();
        let grown = &mut after[grows.index(before.len())];
        grown.weight *= by;
        let name = grown.url.to_string();
        for number in 0..200 {
            let (before, after) = (first(&key(number), &before), first(&key(number), &after));
            prop_assert!(before == after || after == name);
        }
    }

    /// Sessions come and go, origins fail and return, drain and are removed.
    #[test]
    fn no_origin_has_more_than_its_bound(
        weights in prop::collection::vec(0.1..10.0, 1..10),
        steps in prop::collection::vec((0..20u8, any::<prop::sample::Index>()), 0..400),
    ) {
        let mut now = Instant::now();
        let mut all = members(&weights);
        let mut pool = Pool::new(all.clone(), now);
        let mut sessions: Vec<OriginId> = Vec::new();
        for (number, (what, index)) in steps.into_iter().enumerate() {
            now += Duration::from_millis(100);
            let ids: Vec<_> = pool.origins.iter().map(|origin| origin.id).collect();
            match what {
                0..12 => match pool.place(&key(number), &[], now) {
                    Ok((id, _)) => {
                        sessions.push(id);
                        if pool.origins.iter().any(|origin| origin.takes_sessions() && origin.health.state() == State::Up) {
                            check_bound(&pool, id, now);
                        }
                    }
                    Err(_) => {
                        let able = |origin: &Origin| origin.takes_sessions() && origin.health.state() != State::Down;
                        prop_assert!(!pool.origins.iter().any(able));
                    }
                },
                12..16 if !sessions.is_empty() => {
                    pool.release(sessions.swap_remove(index.index(sessions.len())));
                }
                16 if !ids.is_empty() => take_down(&mut pool, ids[index.index(ids.len())], now),
                17 | 18 => ids.iter().for_each(|&id| {
                    pool.probed(id, Ok(()), now);
                }),
                19 => {
                    let member = index.index(all.len());
                    all[member].drains ^= true;
                    let mut kept = all.clone();
                    if number % 3 == 0 {
                        kept.remove(member);
                    }
                    pool.configure(kept, now);
                }
                _ => {}
            }
            let counted: usize = pool.origins.iter().map(|origin| origin.sessions).sum();
            prop_assert_eq!(counted, sessions.len());
        }
    }

    /// The others keep what they have, and take what the failed one had.
    #[test]
    fn a_failed_origin_moves_only_its_own_sessions(count in 10..300usize, fails: prop::sample::Index) {
        let now = Instant::now();
        let mut pool = Pool::new(members(&[1.0; 5]), now);
        let placed: Vec<_> = (0..count).map(|number| place(&mut pool, &key(number), now)).collect();
        let failed = pool.origins[fails.index(5)].id;
        take_down(&mut pool, failed, now);
        for (number, &id) in placed.iter().enumerate() {
            if id == failed {
                pool.release(id);
                let next = pool.place(&key(number), &[id], now).unwrap().0;
                prop_assert!(next != failed);
                check_bound(&pool, next, now);
            }
        }
        for origin in pool.status(now) {
            let most = if origin.state == State::Down { 0.0 } else { (1.25 * count as f64 / 4.0).ceil() };
            prop_assert!(origin.sessions as f64 <= most);
        }
    }
}

#[test]
fn a_draining_origin_keeps_its_sessions_and_takes_none() {
    let now = Instant::now();
    let mut all = members(&[1.0, 1.0]);
    let mut pool = Pool::new(all.clone(), now);
    for number in 0..10 {
        pool.place(&key(number), &[], now).unwrap();
    }
    let before = pool.status(now)[0].sessions;
    assert!(before >= 3);
    all[0].drains = true;
    pool.configure(all.clone(), now);
    for number in 10..20 {
        let (_, url) = pool.place(&key(number), &[], now).unwrap();
        assert_eq!(url, all[1].url);
    }
    let status = pool.status(now);
    assert_eq!((status[0].sessions, status[0].drains), (before, true));
    assert_eq!(status[1].sessions, 20 - before);
}

#[test]
fn a_removed_origin_goes_with_its_last_session() {
    let now = Instant::now();
    let mut pool = Pool::new(members(&[1.0]), now);
    let id = place(&mut pool, "a", now);
    pool.configure(vec![member(2, 1.0)], now);
    assert_eq!(pool.status(now).len(), 2);
    // It is probed no more.
    assert_eq!(pool.probes(now).len(), 1);
    pool.release(id);
    assert_eq!(pool.status(now).len(), 1);
    // The same address again is another origin.
    pool.configure(members(&[1.0]), now);
    assert_ne!(place(&mut pool, "a", now), id);
}

#[test]
fn suspects_are_taken_last_and_those_that_are_down_never() {
    let now = Instant::now();
    let mut pool = Pool::new(members(&[1.0, 1.0, 1.0]), now);
    let ids: Vec<_> = pool.origins.iter().map(|origin| origin.id).collect();
    pool.session_failed(ids[0], "no packets", now);
    take_down(&mut pool, ids[1], now);
    for number in 0..10 {
        assert_eq!(place(&mut pool, &key(number), now), ids[2]);
    }
    assert_eq!(pool.place("a", &ids[2..], now).unwrap().0, ids[0]);
    take_down(&mut pool, ids[0], now);
    let error = pool.place("a", &ids[2..], now).unwrap_err().to_string();
    assert_eq!(
        error,
        "no origin can be asked: rtsp://10.0.0.1/live: connection refused; \
         rtsp://10.0.0.2/live: connection refused; rtsp://10.0.0.3/live: was tried"
    );
    let none = Pool::new(Vec::new(), now).place("a", &[], now).unwrap_err();
    assert_eq!(none.to_string(), "no origin can be asked: there is none");
}

#[test]
fn probes_come_in_turn_and_at_once_after_a_failure() {
    let begun = Instant::now();
    let mut pool = Pool::new(members(&[1.0, 1.0]), begun);
    let sent = pool.probes(begun);
    assert_eq!(sent.len(), 2);
    assert_eq!((pool.probes(begun).len(), pool.next_probe()), (0, None));
    for (id, _) in &sent {
        pool.probed(*id, Ok(()), begun);
    }
    let next = begun + PROBE_INTERVAL;
    assert_eq!(pool.next_probe(), Some(next));
    let failed = begun + Duration::from_millis(300);
    pool.session_failed(sent[1].0, "closed", failed);
    assert_eq!(pool.next_probe(), Some(failed));
    let urgent = pool.probes(failed);
    assert_eq!(urgent.len(), 1);
    assert_eq!(urgent[0].0, sent[1].0);
}

/// However many sessions come, the origin's load grows with its weight. Those that run stay where they are.
#[test]
fn an_origin_returns_slowly() {
    let begun = Instant::now();
    let mut pool = Pool::new(members(&[1.0, 1.0]), begun);
    let back = pool.origins[0].id;
    take_down(&mut pool, back, begun);
    for number in 0..1000 {
        pool.place(&key(number), &[], begun).unwrap();
    }
    pool.probed(back, Ok(()), begun);
    pool.probed(back, Ok(()), begun);
    assert_eq!(pool.status(begun)[0].state, State::Up);
    let other = pool.origins[1].id;
    let mut loads = Vec::new();
    for seconds in [0, 5, 10, 30] {
        let now = begun + Duration::from_secs(seconds);
        assert_eq!(
            pool.status(now)[1].sessions,
            1000 - loads.last().copied().unwrap_or(0)
        );
        // Each session of the other ends once, and comes again.
        for number in 0..pool.status(now)[1].sessions {
            pool.release(other);
            pool.place(&key(number), &[], now).unwrap();
        }
        loads.push(pool.status(now)[0].sessions);
    }
    // 1.25 * 1000 * w / (1 + w) for w of 1/20, 1/6 and 1/3.
    assert!(
        loads[0] <= 60 && loads[1] <= 179 && loads[2] <= 313,
        "{loads:?}"
    );
    assert!(
        loads[0] >= 20 && loads[1] >= 100 && loads[2] >= 200 && loads[3] >= 375,
        "{loads:?}"
    );
}

#[test]
fn the_bound_of_silence_follows_the_stream() {
    let millis = Duration::from_millis;
    assert_eq!(silence(millis(5)), millis(200));
    assert_eq!(silence(millis(100)), millis(400));
    assert_eq!(silence(millis(400)), millis(1000));
    // A picture a second is no failure.
    assert_eq!(silence(millis(1000)), millis(2000));
}
