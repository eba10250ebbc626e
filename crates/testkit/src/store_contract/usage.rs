//! What was used over time.

use std::sync::Arc;

use domain::{Execution, Status, StopReason, TurnRecord};
use store::{Database, Spending, UsageBy, UsageQuery, UsageRow};

use super::sample;

fn query(by: UsageBy) -> UsageQuery {
    UsageQuery { by, api_key_id: None, since: None, until: None }
}

async fn turn(store: &Arc<dyn Database>, key: &str, model: &str, created_at: &str, stop_reason: StopReason) {
    let turn = TurnRecord {
        api_key_id: key.to_owned(),
        model: model.to_owned(),
        created_at: created_at.to_owned(),
        stop_reason,
        ..sample::turn()
    };
    store.record_turn(turn).await.unwrap();
}

/// So many sample turns, of which some failed.
fn turns(group: &str, turns: u64, errors: u64) -> UsageRow {
    UsageRow {
        group: group.to_owned(),
        turns,
        executions: 2 * turns,
        errors,
        input_tokens: 31 * turns,
        output_tokens: 11 * turns,
        duration_ms: 99 * turns,
    }
}

async fn three_turns(store: &Arc<dyn Database>) {
    turn(store, "key-1", "small", "2026-01-01T23:59:59.999Z", StopReason::Completed).await;
    turn(store, "key-1", "large", "2026-01-02T00:00:00Z", StopReason::UpstreamError).await;
    turn(store, "key-2", "large", "2026-01-02T12:00:00Z", StopReason::Completed).await;
}

/// The largest group first, days the newest first.
pub async fn turns_add_up_by_key_model_and_day(store: Arc<dyn Database>) {
    assert_eq!(store.usage(&query(UsageBy::Key)).await.unwrap(), []);
    three_turns(&store).await;
    let by_key = [turns("key-1", 2, 1), turns("key-2", 1, 0)];
    assert_eq!(store.usage(&query(UsageBy::Key)).await.unwrap(), by_key);
    let by_model = [turns("large", 2, 1), turns("small", 1, 0)];
    assert_eq!(store.usage(&query(UsageBy::Model)).await.unwrap(), by_model);
    let by_day = [turns("2026-01-02", 2, 1), turns("2026-01-01", 1, 0)];
    assert_eq!(store.usage(&query(UsageBy::Day)).await.unwrap(), by_day);
}

/// Without tokens; a turn that ran a skill twice counts once.
pub async fn executions_add_up_by_skill(store: Arc<dyn Database>) {
    for (version, turn, failed) in
        [(1, Some("a"), false), (1, Some("a"), true), (1, None, false), (2, Some("a"), false)]
    {
        let execution = Execution {
            version: domain::Version::new(version, 0, 0),
            turn_id: turn.map(str::to_owned),
            status: Status::Running,
            ..sample::execution()
        };
        store.create_execution(&execution).await.unwrap();
        let outcome = if failed { sample::failure("no") } else { sample::outcome() };
        store.finish_execution(&execution.id, outcome).await.unwrap();
    }
    let row = |group: &str, turns, executions, errors| UsageRow {
        group: group.to_owned(),
        turns,
        executions,
        errors,
        duration_ms: 12 * executions,
        ..UsageRow::default()
    };
    let expected = [row("reverse-text@1.0.0", 1, 3, 1), row("reverse-text@2.0.0", 1, 1, 0)];
    assert_eq!(store.usage(&query(UsageBy::Skill)).await.unwrap(), expected);
    store.create_execution(&Execution { turn_id: None, ..sample::execution() }).await.unwrap();
    let open = row("reverse-text@1.2.3", 0, 1, 0);
    let found = store.usage(&query(UsageBy::Skill)).await.unwrap();
    assert_eq!(found.last(), Some(&UsageRow { duration_ms: 0, ..open }), "what has not ended is no error");
}

/// Each alone and together.
pub async fn bounds_of_time_and_owner_restrict(store: Arc<dyn Database>) {
    three_turns(&store).await;
    let second = Some("2026-01-02T00:00:00Z".to_owned());
    let since = UsageQuery { since: second.clone(), ..query(UsageBy::Key) };
    assert_eq!(store.usage(&since).await.unwrap(), [turns("key-1", 1, 1), turns("key-2", 1, 0)]);
    let until = UsageQuery { until: second.clone(), ..query(UsageBy::Key) };
    assert_eq!(store.usage(&until).await.unwrap(), [turns("key-1", 1, 0)]);
    let owner = UsageQuery { api_key_id: Some("key-1".to_owned()), since: second, ..query(UsageBy::Model) };
    assert_eq!(store.usage(&owner).await.unwrap(), [turns("large", 1, 1)]);
    let nonsense = UsageQuery { since: Some("x".to_owned()), ..query(UsageBy::Skill) };
    assert!(store.usage(&nonsense).await.is_err());
}

/// Tokens of turns, and executions whether a turn ran them or not.
pub async fn spending_counts_from_a_time_on(store: Arc<dyn Database>) {
    three_turns(&store).await;
    store.create_execution(&Execution { turn_id: None, ..sample::execution() }).await.unwrap();
    let since = |time: &'static str| store.spent_since("key-1", time);
    let all = Spending { tokens: 84, executions: 1 };
    assert_eq!(since("2026-01-01T00:00:00Z").await.unwrap(), all);
    assert_eq!(since("2026-01-02T00:00:00Z").await.unwrap(), Spending { tokens: 42, executions: 1 });
    assert_eq!(since("2026-01-03T00:00:00Z").await.unwrap(), Spending::default());
    assert_eq!(store.spent_since("nobody", "2026-01-01T00:00:00Z").await.unwrap(), Spending::default());
    assert!(since("x").await.is_err());
}

/// An upstream may report anything.
pub async fn huge_numbers_do_not_fail(store: Arc<dyn Database>) {
    for _ in 0..3 {
        let turn = TurnRecord {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            duration_ms: u64::MAX,
            ..sample::turn()
        };
        store.record_turn(turn).await.unwrap();
    }
    let used = store.usage(&query(UsageBy::Key)).await.unwrap();
    assert!(used[0].input_tokens >= i64::MAX.unsigned_abs() / 2, "{used:?}");
    let spent = store.spent_since("key-1", "2026-01-01T00:00:00Z").await.unwrap();
    assert!(spent.tokens >= i64::MAX.unsigned_abs() / 2, "{spent:?}");
}
