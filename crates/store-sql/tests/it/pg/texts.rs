//! Texts that `PostgreSQL` cannot hold as they are, and texts that are too long for an index.

use domain::{Execution, TurnRecord};
use serde_json::json;
use store::{
    Audit as _, AuditFilter, ExecutionFilter, KeptRounds, KeptScope, PageRequest, RecallKept, Store as _,
    TurnFilter, Turns as _,
};
use testkit::postgres::Schema;
use testkit::store_contract::sample;

const FIRST: PageRequest = PageRequest { page: 1, limit: 10 };

/// A NUL, and what is written in its place.
const ODD: [&str; 6] = ["a\0b", "a\u{2400}0b", "a\u{2400}b", "\0", "\u{2400}\u{2400}0", "a\u{2400}\0"];

/// Nothing in it repeats, so that no index can pack it.
fn long() -> String {
    let mut text = String::new();
    let mut seed = String::from("x");
    while text.len() < 100_000 {
        seed = domain::ids::sha256_hex(&seed);
        text.push_str(&seed);
    }
    text
}

#[tokio::test]
async fn odd_texts_come_back_and_stay_apart() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    for odd in ODD {
        let odd = || Some(odd.to_owned());
        let execution = Execution {
            user: odd(),
            session_id: odd(),
            input: json!({ odd().unwrap(): odd() }),
            error_message: odd(),
            ..sample::execution()
        };
        store.create_execution(&execution).await.unwrap();
        assert_eq!(store.execution(&execution.id).await.unwrap(), Some(execution.clone()));
        let filter = ExecutionFilter { session_id: odd(), ..ExecutionFilter::default() };
        let page = store.executions(&filter, FIRST).await.unwrap();
        assert_eq!((page.total, &page.data[0].id), (1, &execution.id));
        store.set_value(&odd().unwrap(), &odd().unwrap()).await.unwrap();
    }
    for odd in ODD {
        assert_eq!(store.value(odd).await.unwrap().as_deref(), Some(odd));
        assert_eq!(store.execution(odd).await.unwrap(), None);
    }
}

#[tokio::test]
async fn users_with_odd_names_find_their_own() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let long = long();
    let users: Vec<&str> = ODD.into_iter().chain([long.as_str()]).collect();
    let scope = |user: &str| KeptScope {
        owner: "key-1".to_owned(),
        user: user.to_owned(),
        session: user.to_owned(),
        dialect: "openai_chat".to_owned(),
    };
    for user in &users {
        let rounds = KeptRounds {
            scope: scope(user),
            keys: vec!["key".to_owned(), long.clone()],
            payload: user.as_bytes().to_vec(),
            trace: None,
            now_ms: 0,
            owner_bytes: 1_000_000,
        };
        store.keep_rounds(rounds).await.unwrap();
    }
    for user in &users {
        let recall = RecallKept {
            scope: scope(user),
            anywhere: vec!["key".to_owned(), long.clone()],
            now_ms: 1,
            ttl_ms: 1_000,
            ..RecallKept::default()
        };
        let found = store.recall_rounds(recall).await.unwrap();
        assert_eq!(found.len(), 1, "{user:?}");
        assert_eq!((found[0].payload.as_slice(), &found[0].session), (user.as_bytes(), &(*user).to_owned()));
    }
}

#[tokio::test]
async fn long_texts_are_kept_and_found() {
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let long = long();
    let other = format!("{long}x");
    for text in [&long, &other] {
        let execution =
            Execution { session_id: Some(text.clone()), user: Some(text.clone()), ..sample::execution() };
        store.create_execution(&execution).await.unwrap();
        let turn = TurnRecord { model: text.clone(), session_id: Some(text.clone()), ..sample::turn() };
        store.record_turn(turn.clone()).await.unwrap();
        let mut entry = sample::audit(text);
        entry.target = text.clone();
        store.append_audit(&entry).await.unwrap();

        let filter = ExecutionFilter { session_id: Some(text.clone()), ..ExecutionFilter::default() };
        assert_eq!(store.executions(&filter, FIRST).await.unwrap().total, 1);
        let filter = TurnFilter { model: Some(text.clone()), ..TurnFilter::default() };
        assert_eq!(store.turns(&filter, FIRST).await.unwrap().data[0].id, turn.id);
        let filter =
            AuditFilter { target: Some(text.clone()), action: Some(text.clone()), ..AuditFilter::default() };
        assert_eq!(store.audit(&filter, FIRST).await.unwrap().data, [entry]);
    }
}
