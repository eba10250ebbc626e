//! The front desk under any order of coming, waiting, giving up and ending.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;

use crate::places::{Bounds, Place, Places, Slot};

type Waiting = Pin<Box<dyn Future<Output = Slot>>>;

/// One run: waiting, or running.
enum Run {
    Waits(Waiting),
    Runs { _slot: Slot },
}

fn places(slots: usize, queue: usize, owner_queue: usize) -> Places {
    Places::new(Bounds { slots, queue, owner_queue })
}

fn enter(places: &Places, owner: &str, limit: usize) -> Option<Waiting> {
    let place: Place = places.enter(owner, limit).ok()?;
    Some(Box::pin(async move { place.slot().await }))
}

fn poll(waiting: &mut Waiting) -> Option<Slot> {
    match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(slot) => Some(slot),
        Poll::Pending => None,
    }
}

#[test]
fn one_of_another_owner_does_not_wait_behind_a_hundred() {
    let places = places(4, 1000, 1000);
    let mut greedy: Vec<_> = (0..100).map(|_| enter(&places, "greedy", 4).unwrap()).collect();
    let mut running: Vec<_> = greedy.iter_mut().filter_map(poll).collect();
    assert_eq!(running.len(), 4, "alone it has everything");
    let mut modest: Vec<_> = (0..2).map(|_| enter(&places, "modest", 4).unwrap()).collect();
    assert_eq!(modest.iter_mut().filter_map(poll).count(), 0);
    running.pop();
    let first = poll(&mut modest[0]);
    assert!(first.is_some(), "the first slot that is free is the other's");
    running.pop();
    let mut turns =
        [poll(&mut modest[1]).is_some(), greedy.iter_mut().skip(4).any(|run| poll(run).is_some())];
    turns.sort_unstable();
    assert_eq!(turns, [false, true], "and then they take turns");
}

#[test]
fn a_limit_below_all_leaves_room_for_others_at_once() {
    let places = places(4, 1000, 1000);
    let mut greedy: Vec<_> = (0..100).map(|_| enter(&places, "greedy", 2).unwrap()).collect();
    let running: Vec<_> = greedy.iter_mut().filter_map(poll).collect();
    assert_eq!(running.len(), 2);
    assert!(poll(&mut enter(&places, "modest", 2).unwrap()).is_some());
}

#[test]
fn full_queues_refuse_but_never_an_owner_that_has_nothing() {
    let places = places(1, 2, 1);
    let _first = [enter(&places, "a", 1).unwrap(), enter(&places, "a", 1).unwrap()];
    assert!(places.enter("a", 1).is_err(), "its own queue is full");
    let _second = enter(&places, "b", 1).unwrap();
    assert!(places.enter("b", 1).is_err(), "everybody's queue is full");
    assert!(places.enter("c", 1).is_ok(), "who has nothing is let in");
}

#[tokio::test(start_paused = true)]
async fn a_refused_owner_is_told_when_those_before_it_have_run() {
    let places = places(2, 100, 3);
    let mut first = enter(&places, "a", 2).unwrap();
    let slot = poll(&mut first).unwrap();
    tokio::time::advance(Duration::from_secs(4)).await;
    drop((slot, first));
    let _full: Vec<_> = (0..5).map(|_| enter(&places, "a", 2).unwrap()).collect();
    assert_eq!(places.enter("a", 2).err(), Some(8), "five before it, two at a time, four seconds each");
}

#[test]
fn a_larger_limit_counts_at_once() {
    let places = places(4, 100, 100);
    let mut waiting: Vec<_> = (0..4).map(|_| enter(&places, "a", 1).unwrap()).collect();
    let running: Vec<_> = waiting.iter_mut().filter_map(poll).collect();
    assert_eq!(running.len(), 1);
    let mut more = enter(&places, "a", 3).unwrap();
    let running: usize = waiting.iter_mut().skip(1).filter_map(poll).map(std::mem::forget).count();
    assert_eq!((running, poll(&mut more).is_some()), (2, false));
}

#[derive(Clone, Debug)]
enum Step {
    Come(u8),
    /// The nth of those that wait gives up, unheard of what it may just have been given.
    GiveUp(prop::sample::Index),
    End(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u8..4).prop_map(Step::Come),
        1 => any::<prop::sample::Index>().prop_map(Step::GiveUp),
        2 => any::<prop::sample::Index>().prop_map(Step::End),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bounds_hold_order_is_kept_and_no_slot_is_lost(slots in 1usize..5, limit in 1usize..5, steps in steps()) {
        let places = places(slots, 1000, 1000);
        let limit = limit.min(slots);
        // In order of coming, by owner.
        let mut owners: HashMap<u8, Vec<Run>> = HashMap::new();
        for step in steps {
            match step {
                Step::Come(owner) => {
                    let waiting = enter(&places, &owner.to_string(), limit).unwrap();
                    owners.entry(owner).or_default().push(Run::Waits(waiting));
                }
                Step::GiveUp(which) => forget(&mut owners, which, |run| matches!(run, Run::Waits(_))),
                Step::End(which) => forget(&mut owners, which, |run| matches!(run, Run::Runs { .. })),
            }
            // Twice: the second round must find nothing new, or a wake-up came late.
            for round in 0..2 {
                for runs in owners.values_mut() {
                    for run in runs.iter_mut() {
                        if let Run::Waits(waiting) = run && let Some(slot) = poll(waiting) {
                            prop_assert_eq!(round, 0);
                            *run = Run::Runs { _slot: slot };
                        }
                    }
                }
            }
            let running = |runs: &Vec<Run>| runs.iter().filter(|run| matches!(run, Run::Runs { .. })).count();
            let all: usize = owners.values().map(running).sum();
            prop_assert!(all <= slots);
            for runs in owners.values() {
                prop_assert!(running(runs) <= limit);
                let first_that_waits = runs.iter().position(|run| matches!(run, Run::Waits(_)));
                let last_that_runs = runs.iter().rposition(|run| matches!(run, Run::Runs { .. }));
                if let (Some(waits), Some(runs)) = (first_that_waits, last_that_runs) {
                    prop_assert!(runs < waits, "first come, first served");
                }
                let could_run = running(runs) < limit && running(runs) < runs.len();
                prop_assert!(!could_run || all == slots, "a free slot, and somebody waits for it");
            }
        }
        drop(owners);
        let mut again: Vec<_> = (0..slots).map(|n| enter(&places, &format!("new {n}"), 1).unwrap()).collect();
        prop_assert_eq!(again.iter_mut().filter_map(poll).map(std::mem::forget).count(), slots, "all is free again");
    }
}

fn forget(owners: &mut HashMap<u8, Vec<Run>>, which: prop::sample::Index, is: impl Fn(&Run) -> bool) {
    let mut found: Vec<(u8, usize)> = Vec::new();
    for (owner, runs) in &*owners {
        found.extend(runs.iter().enumerate().filter(|(_, run)| is(run)).map(|(n, _)| (*owner, n)));
    }
    found.sort_unstable();
    if !found.is_empty() {
        let (owner, n) = *which.get(&found);
        owners.get_mut(&owner).unwrap().remove(n);
    }
}
