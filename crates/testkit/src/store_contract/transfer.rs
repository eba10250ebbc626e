//! Rows that move from one database to another.

use std::sync::Arc;

use domain::{Approval, ApprovalState, SkillDefault, Version};
use serde_json::{Value, json};
use store::{ApprovalDecision, AuditFilter, Database, ExecutionFilter, PageRequest, Table, TurnFilter};

use super::{Place, sample};

const FIRST: PageRequest = PageRequest { page: 1, limit: 200 };

/// Something of every kind.
async fn fill(store: &Arc<dyn Database>) {
    for (name, version) in [("a", 1), ("a", 2), ("b", 1)] {
        store.insert_skill(sample::skill("key-1", name, Version::new(version, 0, 0)), false).await.unwrap();
    }
    store.sync_builtins(vec![sample::builtin("c")]).await.unwrap();
    store.put_set(sample::set("mine")).await.unwrap();
    for owner in ["system", "key-1"] {
        let default =
            SkillDefault { api_key_id: owner.to_owned(), name: "a".to_owned(), constraint: "^1".to_owned() };
        store.put_default(default).await.unwrap();
    }
    let key = store.create_key(sample::key("aa")).await.unwrap();
    store.touch_key(&key.id, sample::CHANGED).await.unwrap();
    store.create_key(sample::key("bb")).await.unwrap();
    store.create_token(&sample::token("ci"), "cc").await.unwrap();
    store.set_value("skills_enabled", "false").await.unwrap();
    let done = sample::execution();
    store.create_execution(&done).await.unwrap();
    store.finish_execution(&done.id, sample::outcome()).await.unwrap();
    let mut null = sample::outcome();
    null.output = Some(Value::Null);
    let nothing = sample::execution();
    store.create_execution(&nothing).await.unwrap();
    store.finish_execution(&nothing.id, null).await.unwrap();
    let approval = Approval::waiting("2036-01-01T00:00:00Z".to_owned());
    for call in ["waits", "denied"] {
        let row = domain::Execution { approval: Some(approval.clone()), ..sample::execution() };
        store.await_approval(&row, call).await.unwrap();
        if call == "denied" {
            let denied = Approval { state: ApprovalState::Denied, ..approval.clone() };
            let decision = ApprovalDecision { approval: denied, input: None, message: Some("no".to_owned()) };
            store.decide_approval(&row.id, decision).await.unwrap();
            assert!(store.take_outcome(&row.id).await.unwrap());
        }
    }
    for _ in 0..3 {
        store.record_turn(sample::turn()).await.unwrap();
    }
    let bytes: Vec<u8> = (0..=255).collect();
    store.put_artifact(&sample::artifact(&done.id, &bytes), bytes).await.unwrap();
    store.append_audit(&sample::audit("skill.update")).await.unwrap();
}

/// Every row, in pages of so many.
async fn export(store: &Arc<dyn Database>, table: Table, limit: u32) -> Vec<Value> {
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        let page = store.export_rows(table, from.as_deref(), limit).await.unwrap();
        assert!(page.rows.len() <= limit as usize);
        all.extend(page.rows);
        from = page.next;
        if from.is_none() {
            return all;
        }
    }
}

async fn move_all(from: &Arc<dyn Database>, to: &Arc<dyn Database>) {
    for table in Table::ALL {
        let rows = export(from, table, 2).await;
        assert!(!rows.is_empty(), "{table:?} has a sample");
        let written = to.import_rows(table, rows.clone()).await.unwrap();
        assert_eq!(written, rows.len() as u64, "{table:?}");
    }
}

/// What comes out at the other end is what comes out here.
pub async fn every_table_moves_whole(one: Box<dyn Place>, two: Box<dyn Place>) {
    let (from, to) = (one.open().await, two.open().await);
    fill(&from).await;
    move_all(&from, &to).await;
    for table in Table::ALL {
        assert_eq!(export(&to, table, 100).await, export(&from, table, 100).await, "{table:?}");
    }
    let (mut here, mut there) = (from.load_skills().await.unwrap(), to.load_skills().await.unwrap());
    here.skills.sort_by(|a, b| a.id.cmp(&b.id));
    there.skills.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(there.skills, here.skills);
    assert_eq!((there.sets, there.defaults, there.broken), (here.sets, here.defaults, Vec::new()));
    assert_eq!(to.keys().await.unwrap(), from.keys().await.unwrap());
    assert_eq!(to.key_by_hash("aa").await.unwrap(), from.key_by_hash("aa").await.unwrap());
    assert_eq!(to.tokens().await.unwrap(), from.tokens().await.unwrap());
    assert!(to.token_by_hash("cc").await.unwrap().is_some());
    assert_eq!(to.value("skills_enabled").await.unwrap().as_deref(), Some("false"));
    let none = ExecutionFilter::default();
    let (here, there) =
        (from.executions(&none, FIRST).await.unwrap(), to.executions(&none, FIRST).await.unwrap());
    assert_eq!(there, here);
    for row in &here.data {
        assert_eq!(to.execution(&row.id).await.unwrap(), from.execution(&row.id).await.unwrap());
        let artifacts = to.artifacts_of(&row.id).await.unwrap();
        assert_eq!(artifacts, from.artifacts_of(&row.id).await.unwrap());
        for artifact in artifacts {
            let content = to.artifact_content(&artifact.id).await.unwrap();
            assert_eq!(content, from.artifact_content(&artifact.id).await.unwrap());
        }
    }
    let (here, there) = (
        from.turns(&TurnFilter::default(), FIRST).await.unwrap(),
        to.turns(&TurnFilter::default(), FIRST).await.unwrap(),
    );
    assert_eq!(there, here);
    for turn in &here.data {
        assert_eq!(to.turn(&turn.id).await.unwrap(), from.turn(&turn.id).await.unwrap());
    }
    let none = AuditFilter::default();
    assert_eq!(to.audit(&none, FIRST).await.unwrap(), from.audit(&none, FIRST).await.unwrap());
}

/// Of any size, and always in the same order; a place that no export gave out is an error.
pub async fn rows_come_in_pages(one: Box<dyn Place>, _: Box<dyn Place>) {
    let store = one.open().await;
    for table in Table::ALL {
        let empty = store.export_rows(table, None, 10).await.unwrap();
        assert!(empty.rows.is_empty() && empty.next.is_none(), "{table:?}");
    }
    fill(&store).await;
    for table in Table::ALL {
        let all = export(&store, table, 100).await;
        for limit in 1..=4 {
            assert_eq!(export(&store, table, limit).await, all, "{table:?} in pages of {limit}");
        }
        for place in ["", "nonsense", "[]", "[1]", "[\"a\", \"b\", \"c\"]", "{}"] {
            assert!(store.export_rows(table, Some(place), 10).await.is_err(), "{table:?} from {place:?}");
        }
    }
}

/// By its key, and where another row stands in its way.
pub async fn what_is_here_stays_as_it_is(one: Box<dyn Place>, two: Box<dyn Place>) {
    let (from, to) = (one.open().await, two.open().await);
    fill(&from).await;
    to.set_value("skills_enabled", "true").await.unwrap();
    let own = sample::skill("key-1", "a", Version::new(1, 0, 0));
    to.insert_skill(own.clone(), false).await.unwrap();
    to.create_token(&sample::token("ci"), "dd").await.unwrap();
    for table in Table::ALL {
        let rows = export(&from, table, 100).await;
        let all = rows.len() as u64;
        let new = match table {
            Table::Values | Table::Tokens | Table::Skills => all - 1,
            _ => all,
        };
        assert_eq!(to.import_rows(table, rows.clone()).await.unwrap(), new, "{table:?}");
        assert_eq!(to.import_rows(table, rows).await.unwrap(), 0, "{table:?} a second time");
    }
    assert_eq!(to.value("skills_enabled").await.unwrap().as_deref(), Some("true"));
    assert!(to.load_skills().await.unwrap().skills.contains(&own));
    assert!(to.token_by_hash("dd").await.unwrap().is_some());
    assert!(to.token_by_hash("cc").await.unwrap().is_none());
}

/// The error names it, and what came before it is not written either.
pub async fn a_row_that_does_not_fit_writes_nothing(one: Box<dyn Place>, two: Box<dyn Place>) {
    let (from, to) = (one.open().await, two.open().await);
    fill(&from).await;
    for table in Table::ALL {
        let good = export(&from, table, 1).await.remove(0);
        let members: Vec<String> = good.as_object().unwrap().keys().cloned().collect();
        let mut bad = vec![json!("text"), json!([1]), json!(null)];
        for member in &members {
            let mut wrong = good.clone();
            wrong[member] = json!({"never": "fits"});
            // Any JSON fits into a column of JSON, unless somebody looks into it.
            if !wrong_is_json(table, member) {
                bad.push(wrong);
            }
        }
        let mut missing = good.clone();
        missing.as_object_mut().unwrap().remove(&members[0]);
        let mut more = good.clone();
        more["unknown"] = json!(1);
        bad.extend([missing, more]);
        for row in bad {
            let refused = to.import_rows(table, vec![good.clone(), row.clone()]).await;
            assert!(refused.is_err(), "{table:?} took {row}");
        }
        assert_eq!(export(&to, table, 10).await, Vec::<Value>::new(), "{table:?}");
    }
    let mut execution = export(&from, Table::Executions, 1).await.remove(0);
    execution["status"] = json!("asleep");
    let error = to.import_rows(Table::Executions, vec![execution.clone()]).await.unwrap_err();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert!(reason.contains(execution["id"].as_str().unwrap()), "{reason}");
    execution["status"] = json!("success");
    execution["created_at"] = json!("yesterday");
    assert!(to.import_rows(Table::Executions, vec![execution]).await.is_err());
}

fn wrong_is_json(table: Table, member: &str) -> bool {
    match table {
        Table::Approvals | Table::Turns => false,
        _ => matches!(
            member,
            "schema"
                | "annotations"
                | "tags"
                | "skills"
                | "scopes"
                | "settings"
                | "input"
                | "output"
                | "parts"
                | "before"
                | "after"
        ),
    }
}

/// Filters, calls and bounds of time find what came from elsewhere.
pub async fn nothing_derived_is_lost(one: Box<dyn Place>, two: Box<dyn Place>) {
    let (from, to) = (one.open().await, two.open().await);
    fill(&from).await;
    move_all(&from, &to).await;
    for call in ["waits", "denied", "nobody's"] {
        assert_eq!(to.execution_of_call(call).await.unwrap(), from.execution_of_call(call).await.unwrap());
    }
    for state in [ApprovalState::Waiting, ApprovalState::Denied, ApprovalState::Approved] {
        let filter = ExecutionFilter { approval: Some(state), ..ExecutionFilter::default() };
        assert_eq!(
            to.executions(&filter, FIRST).await.unwrap(),
            from.executions(&filter, FIRST).await.unwrap()
        );
    }
    let overdue = to.overdue_approvals("2037-01-01T00:00:00Z", 10).await.unwrap();
    assert_eq!(overdue.len(), 1);
    assert_eq!(overdue, from.overdue_approvals("2037-01-01T00:00:00Z", 10).await.unwrap());
    let filter = ExecutionFilter { since: Some(sample::CREATED.to_owned()), ..ExecutionFilter::default() };
    assert_eq!(to.executions(&filter, FIRST).await.unwrap(), from.executions(&filter, FIRST).await.unwrap());
    let spent = to.spent_since("key-1", "2026-01-01T00:00:00Z").await.unwrap();
    assert_eq!(spent, from.spent_since("key-1", "2026-01-01T00:00:00Z").await.unwrap());
    assert_eq!((spent.tokens, spent.executions), (126, 4));
}
