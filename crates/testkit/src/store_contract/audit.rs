//! The audit table. That the database itself refuses changes is tested beside each database.

use std::sync::Arc;

use domain::AuditEntry;
use store::{AuditFilter, Database, PageRequest, StoreError};

use super::sample;

const FIRST: PageRequest = PageRequest { page: 1, limit: 50 };

/// JSON's null and absence are different.
pub async fn entries_come_back_whole_and_newest_first(store: Arc<dyn Database>) {
    let mut expected = Vec::new();
    for n in 0..5 {
        let mut entry = sample::audit(&format!("action.{n}"));
        if n == 0 {
            (entry.before, entry.after, entry.request_id) = (None, None, None);
        }
        store.append_audit(&entry).await.unwrap();
        expected.insert(0, entry);
    }
    let late = AuditEntry { created_at: "2025-01-01T00:00:00Z".to_owned(), ..sample::audit("older") };
    store.append_audit(&late).await.unwrap();
    expected.push(late);
    for (page, rows) in [(1, &expected[..4]), (2, &expected[4..]), (3, &[][..])] {
        let found = store.audit(&AuditFilter::default(), PageRequest { page, limit: 4 }).await.unwrap();
        assert_eq!((found.data, found.total, found.total_pages), (rows.to_vec(), 6, 2));
    }
}

/// Each alone and all together.
pub async fn every_filter_restricts(store: Arc<dyn Database>) {
    let other = AuditEntry {
        actor: "key-1".to_owned(),
        target: "key-2".to_owned(),
        created_at: "2026-06-01T00:00:00Z".to_owned(),
        ..sample::audit("key.create")
    };
    store.append_audit(&sample::audit("skill.update")).await.unwrap();
    store.append_audit(&other).await.unwrap();
    let none = AuditFilter::default;
    let some = |text: &str| Some(text.to_owned());
    for filter in [
        AuditFilter { actor: some("key-1"), ..none() },
        AuditFilter { action: some("key.create"), ..none() },
        AuditFilter { target: some("key-2"), ..none() },
        AuditFilter { since: some("2026-06-01T00:00:00Z"), ..none() },
        AuditFilter {
            actor: some("key-1"),
            action: some("key.create"),
            target: some("key-2"),
            since: some("2026-05-01T00:00:00Z"),
            until: some("2026-07-01T00:00:00Z"),
        },
    ] {
        let page = store.audit(&filter, FIRST).await.unwrap();
        assert_eq!((page.data, page.total), (vec![other.clone()], 1), "{filter:?}");
    }
    let until = AuditFilter { until: some("2026-06-01T00:00:00Z"), ..none() };
    assert_eq!(store.audit(&until, FIRST).await.unwrap().data[0].action, "skill.update");
    assert!(store.audit(&AuditFilter { since: some("x"), ..none() }, FIRST).await.is_err());
}

/// Writing an entry again is a conflict and changes nothing.
pub async fn what_was_written_stays(store: Arc<dyn Database>) {
    let first = sample::audit("skill.update");
    store.append_audit(&first).await.unwrap();
    let second = AuditEntry { action: "other".to_owned(), ..first.clone() };
    let refused = store.append_audit(&second).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(store.audit(&AuditFilter::default(), FIRST).await.unwrap().data, [first]);
}
