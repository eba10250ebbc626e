//! Records of turns.

use std::sync::Arc;

use domain::{StopReason, TurnRecord};
use store::{Database, PageRequest, StoreError, TurnFilter};

use super::sample;

const FIRST: PageRequest = PageRequest { page: 1, limit: 50 };

async fn record(store: &Arc<dyn Database>, change: impl FnOnce(&mut TurnRecord)) -> TurnRecord {
    let mut turn = sample::turn();
    change(&mut turn);
    store.record_turn(turn.clone()).await.unwrap();
    turn
}

/// What lists show of it.
fn listed(turn: &TurnRecord) -> TurnRecord {
    TurnRecord { candidates: Vec::new(), rounds: Vec::new(), ..turn.clone() }
}

/// With everything absent that may be absent, too.
pub async fn a_record_comes_back_whole(store: Arc<dyn Database>) {
    let full = record(&store, |_| {}).await;
    let bare = record(&store, |turn| {
        turn.user = None;
        turn.session_id = None;
        turn.upstream_status = None;
        turn.first_byte_ms = None;
        turn.stop_reason = StopReason::UpstreamError;
        turn.error_code = Some("upstream_unreachable".to_owned());
        turn.candidates.clear();
        turn.rounds.clear();
    })
    .await;
    assert_eq!(store.turn(&full.id).await.unwrap(), Some(full));
    assert_eq!(store.turn(&bare.id).await.unwrap(), Some(bare));
    assert_eq!(store.turn("nothing").await.unwrap(), None);
}

/// By their time, and those of one time in the order in which they were written.
pub async fn pages_are_newest_first_without_details(store: Arc<dyn Database>) {
    let mut all = vec![record(&store, |turn| turn.created_at = "2027-01-01T00:00:00Z".to_owned()).await];
    let mut same = Vec::new();
    for _ in 0..4 {
        same.push(record(&store, |_| {}).await);
    }
    all.extend(same.into_iter().rev());
    let all: Vec<_> = all.iter().map(listed).collect();
    for (page, rows) in [(1, &all[..2]), (2, &all[2..4]), (3, &all[4..]), (4, &[][..])] {
        let found = store.turns(&TurnFilter::default(), PageRequest { page, limit: 2 }).await.unwrap();
        assert_eq!((found.data, found.total, found.total_pages), (rows.to_vec(), 5, 3));
    }
    let odd = store.turns(&TurnFilter::default(), PageRequest { page: 0, limit: u32::MAX }).await.unwrap();
    assert_eq!((odd.page, odd.limit, odd.data.len()), (1, domain::limits::PAGE_MAX, 5));
}

/// Each alone and all together.
pub async fn every_filter_restricts(store: Arc<dyn Database>) {
    let other = record(&store, |turn| {
        turn.api_key_id = "key-2".to_owned();
        turn.model = "other".to_owned();
        turn.session_id = Some("session-2".to_owned());
        turn.stop_reason = StopReason::MaxRounds;
        turn.created_at = "2026-06-01T00:00:00.5Z".to_owned();
    })
    .await;
    let usual = record(&store, |_| {}).await;
    let none = TurnFilter::default;
    let filters = [
        TurnFilter { api_key_id: Some("key-2".to_owned()), ..none() },
        TurnFilter { model: Some("other".to_owned()), ..none() },
        TurnFilter { session_id: Some("session-2".to_owned()), ..none() },
        TurnFilter { stop_reason: Some(StopReason::MaxRounds), ..none() },
        TurnFilter { since: Some("2026-06-01T00:00:00.5Z".to_owned()), ..none() },
        TurnFilter {
            api_key_id: Some("key-2".to_owned()),
            model: Some("other".to_owned()),
            session_id: Some("session-2".to_owned()),
            stop_reason: Some(StopReason::MaxRounds),
            since: Some("2026-06-01T00:00:00Z".to_owned()),
            until: Some("2026-06-01T00:00:01Z".to_owned()),
        },
    ];
    for filter in filters {
        let page = store.turns(&filter, FIRST).await.unwrap();
        assert_eq!((page.data, page.total), (vec![listed(&other)], 1), "{filter:?}");
    }
    for filter in [
        TurnFilter { stop_reason: Some(StopReason::Completed), ..none() },
        TurnFilter { until: Some("2026-06-01T00:00:00.5Z".to_owned()), ..none() },
    ] {
        assert_eq!(store.turns(&filter, FIRST).await.unwrap().data, [listed(&usual)], "{filter:?}");
    }
    let nonsense = TurnFilter { until: Some("tomorrow".to_owned()), ..none() };
    assert!(store.turns(&nonsense, FIRST).await.is_err());
}

/// And the first one stays.
pub async fn the_same_id_twice_is_a_conflict(store: Arc<dyn Database>) {
    let first = record(&store, |_| {}).await;
    let second = TurnRecord { model: "other".to_owned(), ..first.clone() };
    assert!(matches!(store.record_turn(second).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.turn(&first.id).await.unwrap(), Some(first));
}
