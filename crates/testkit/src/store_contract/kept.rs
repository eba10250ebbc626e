//! Kept rounds: found by their owner and user alone, for a time, within a size.

use std::sync::Arc;

use store::{KeptRounds, KeptScope, PruneKept, RecallKept, Store};

const TTL: i64 = 1_000;
const TRACE: i64 = 10_000;

fn scope(owner: &str, user: &str, session: &str) -> KeptScope {
    let [owner, user, session, dialect] = [owner, user, session, "chat"].map(str::to_owned);
    KeptScope { owner, user, session, dialect }
}

fn mine() -> KeptScope {
    scope("key-1", "ann", "s-1")
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Rounds of [`mine`] at time 0, without a trace.
fn rounds(keys: &[&str], payload: &str) -> KeptRounds {
    KeptRounds {
        scope: mine(),
        keys: texts(keys),
        payload: payload.as_bytes().to_vec(),
        trace: None,
        now_ms: 0,
        owner_bytes: 1_000,
    }
}

/// What is found at a time: the keys and the payload.
async fn find(store: &Arc<dyn Store>, scope: KeptScope, keys: &[&str], now_ms: i64) -> Vec<(String, String)> {
    let recall = RecallKept { scope, keys: texts(keys), anywhere: Vec::new(), now_ms, ttl_ms: TTL };
    let found = store.recall_rounds(recall).await.unwrap();
    found.into_iter().map(|one| (one.keys.join(" "), String::from_utf8(one.payload).unwrap())).collect()
}

fn found(keys: &str, payload: &str) -> (String, String) {
    (keys.to_owned(), payload.to_owned())
}

async fn prune(store: &Arc<dyn Store>, now_ms: i64) -> u64 {
    store.prune_rounds(PruneKept { now_ms, ttl_ms: TTL, trace_ms: TRACE, batch: 100 }).await.unwrap()
}

/// Each rounds once, with the keys that led there.
pub async fn what_is_kept_is_found_by_every_key(store: Arc<dyn Store>) {
    store.keep_rounds(rounds(&["a", "b"], "one")).await.unwrap();
    store.keep_rounds(rounds(&["c"], "two \u{1f600} \u{0}")).await.unwrap();
    assert_eq!(find(&store, mine(), &["a"], 1).await, [found("a", "one")]);
    let all = find(&store, mine(), &["x", "b", "c", "a", "A"], 1).await;
    assert_eq!(all, [found("b a", "one"), found("c", "two \u{1f600} \u{0}")]);
    assert_eq!(find(&store, mine(), &[], 1).await, []);
}

/// Owner, user, session and dialect must all be the same.
pub async fn nobody_else_finds_it(store: Arc<dyn Store>) {
    store.keep_rounds(rounds(&["a"], "secret")).await.unwrap();
    let other_dialect = KeptScope { dialect: "messages".to_owned(), ..mine() };
    let others = [
        scope("key-2", "ann", "s-1"),
        scope("key-1", "bob", "s-1"),
        scope("key-1", "", "s-1"),
        other_dialect,
    ];
    for other in others {
        assert_eq!(find(&store, other.clone(), &["a"], 1).await, [], "{other:?}");
        let recall = RecallKept {
            scope: other,
            anywhere: texts(&["a"]),
            now_ms: 1,
            ttl_ms: TTL,
            ..RecallKept::default()
        };
        assert_eq!(store.recall_rounds(recall).await.unwrap(), []);
    }
    assert_eq!(find(&store, scope("key-1", "ann", "s-2"), &["a"], 1).await, []);
    assert_eq!(find(&store, mine(), &["a"], 1).await.len(), 1);
}

/// The same key again is no conflict.
pub async fn a_key_leads_to_the_last_rounds_and_what_no_key_leads_to_is_gone(store: Arc<dyn Store>) {
    store.keep_rounds(rounds(&["a", "b"], "old")).await.unwrap();
    store.keep_rounds(rounds(&["a"], "new")).await.unwrap();
    assert_eq!(find(&store, mine(), &["a", "b"], 1).await, [found("a", "new"), found("b", "old")]);
    store.keep_rounds(rounds(&["b", "b"], "newest")).await.unwrap();
    assert_eq!(find(&store, mine(), &["a", "b"], 1).await, [found("a", "new"), found("b", "newest")]);
    assert_eq!(prune(&store, TTL).await, 2, "the first rounds are gone");
}

/// This session first, then the last used.
pub async fn some_keys_lead_to_any_session(store: Arc<dyn Store>) {
    for (session, now_ms) in [("s-2", 10), ("s-3", 20), ("s-4", 15)] {
        let kept = KeptRounds { scope: scope("key-1", "ann", session), now_ms, ..rounds(&["a"], session) };
        store.keep_rounds(kept).await.unwrap();
    }
    let ask = async |session: &str| {
        let scope = scope("key-1", "ann", session);
        let recall =
            RecallKept { scope, keys: texts(&["a"]), anywhere: texts(&["a"]), now_ms: 30, ttl_ms: TTL };
        let recalled = store.recall_rounds(recall).await.unwrap();
        recalled.into_iter().map(|one| (one.session, one.keys.len())).collect::<Vec<_>>()
    };
    assert_eq!(ask("s-1").await, [("s-3".to_owned(), 1)]);
    assert_eq!(ask("s-2").await, [("s-2".to_owned(), 2)]);
}

/// Before and after somebody prunes.
pub async fn what_is_not_used_expires_and_leaves_its_trace(store: Arc<dyn Store>) {
    let traced = KeptRounds { trace: Some(b"gone".to_vec()), ..rounds(&["a"], "one") };
    store.keep_rounds(traced).await.unwrap();
    store.keep_rounds(rounds(&["b"], "two")).await.unwrap();
    assert_eq!(find(&store, mine(), &["a", "b"], TTL).await, [found("a", "gone")]);
    assert_eq!(prune(&store, TTL - 1).await, 0);
    assert_eq!(prune(&store, TTL).await, 2);
    assert_eq!(prune(&store, TTL).await, 0);
    assert_eq!(find(&store, mine(), &["a", "b"], 1).await, [found("a", "gone")]);
    assert_eq!(prune(&store, TRACE).await, 1);
    assert_eq!(find(&store, mine(), &["a", "b"], 1).await, []);
}

/// Their time begins anew with each use.
pub async fn what_is_used_lives_on(store: Arc<dyn Store>) {
    store.keep_rounds(rounds(&["a"], "one")).await.unwrap();
    for step in 1..6 {
        assert_eq!(find(&store, mine(), &["a"], step * TTL / 2).await, [found("a", "one")], "{step}");
    }
    prune(&store, 3 * TTL).await;
    assert_eq!(find(&store, mine(), &["a"], 3 * TTL).await, [found("a", "one")]);
    assert_eq!(find(&store, mine(), &["a"], 5 * TTL).await, []);
}

/// Only the owner's own.
pub async fn the_least_recently_used_make_room(store: Arc<dyn Store>) {
    let kept = |owner: &str, key: &str, now_ms: i64| KeptRounds {
        scope: scope(owner, "ann", "s-1"),
        trace: (key == "b").then(|| b"gone".to_vec()),
        now_ms,
        owner_bytes: 10,
        ..rounds(&[key], "12345")
    };
    store.keep_rounds(kept("key-2", "z", 0)).await.unwrap();
    for (key, now_ms) in [("a", 1), ("b", 2)] {
        store.keep_rounds(kept("key-1", key, now_ms)).await.unwrap();
    }
    assert_eq!(find(&store, mine(), &["a"], 200).await.len(), 1);
    store.keep_rounds(kept("key-1", "c", 201)).await.unwrap();
    let left = [found("a", "12345"), found("b", "gone"), found("c", "12345")];
    assert_eq!(find(&store, mine(), &["a", "b", "c"], 202).await, left);
    store.keep_rounds(KeptRounds { owner_bytes: 3, ..kept("key-1", "d", 203) }).await.unwrap();
    assert_eq!(find(&store, mine(), &["a", "b", "c", "d"], 204).await, [found("b", "gone")]);
    assert_eq!(find(&store, scope("key-2", "ann", "s-1"), &["z"], 204).await.len(), 1);
}

/// A full batch says that there may be more.
pub async fn pruning_goes_in_batches(store: Arc<dyn Store>) {
    for n in 0..5 {
        store.keep_rounds(rounds(&[&n.to_string()], "x")).await.unwrap();
    }
    let batch = PruneKept { now_ms: TTL, ttl_ms: TTL, trace_ms: TRACE, batch: 2 };
    let mut touched = Vec::new();
    for _ in 0..4 {
        touched.push(store.prune_rounds(batch).await.unwrap());
    }
    assert_eq!(touched, [2, 2, 1, 0]);
}

/// Whatever a client's ids hold.
pub async fn odd_keys_are_only_text(store: Arc<dyn Store>) {
    let odd = ["call:' OR 1=1 --", "call:\"],[\"", "call:%", "call:\u{0}x", "call:\u{1f600}", ""];
    for key in odd {
        store.keep_rounds(rounds(&[key], key)).await.unwrap();
    }
    let expected: Vec<_> = odd.iter().map(|key| found(key, key)).collect();
    assert_eq!(find(&store, mine(), &odd, 1).await, expected);
    assert_eq!(find(&store, mine(), &["call:", "call:x", "%"], 1).await, []);
    let many: Vec<String> = (0..5_000).map(|n| format!("call:{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(find(&store, mine(), &many, 1).await, []);
}
