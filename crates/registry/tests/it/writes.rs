//! Writes are visible to the very next read; loads collapse; failures are told apart.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::{Mode, Skill, SkillRef};
use registry::{Registry, RegistryError};
use serde_json::json;
use store::{PageRequest, SkillUpdate};

use crate::fake::FakeStore;
use crate::skills::{builtin, known, skill};

async fn registry(skills: Vec<Skill>) -> (Arc<FakeStore>, Registry) {
    let store = Arc::new(FakeStore::default());
    store.rows.lock().unwrap().skills = skills;
    let registry = Registry::load(store.clone(), known()).await.unwrap();
    (store, registry)
}

fn sees(registry: &Registry, name: &str) -> bool {
    registry.current().resolve("alice", &SkillRef::parse(name).unwrap()).is_ok()
}

#[tokio::test]
async fn a_cold_start_is_right_at_once_or_fails() {
    let (_, registry) = registry(vec![skill("rev", "1.0.0")]).await;
    assert!(sees(&registry, "rev"));
    let store = Arc::new(FakeStore::default());
    store.broken.store(true, Ordering::SeqCst);
    assert!(matches!(Registry::load(store, known()).await, Err(RegistryError::Store(_))));
}

#[tokio::test]
async fn each_write_is_seen_by_the_next_read() {
    let (_, registry) = registry(Vec::new()).await;
    let tags = vec![" Git ".to_owned(), "git".to_owned(), String::new()];
    let row = registry.install(Skill { tags, ..skill("rev", "1.0.0") }, false).await.unwrap();
    assert!(sees(&registry, "rev"));
    assert_eq!(registry.current().get(&row.id).unwrap().skill.tags, ["git"]);
    let off = SkillUpdate { mode: Some(Mode::Off), ..SkillUpdate::default() };
    registry.update(&row.id, off).await.unwrap();
    assert!(!registry.current().get(&row.id).unwrap().skill.is_active());
    registry.delete(&row.id).await.unwrap();
    assert!(!sees(&registry, "rev"));
    assert!(matches!(registry.delete(&row.id).await, Err(RegistryError::NotFound(_))));
    let none = registry.update("nobody", SkillUpdate::default()).await;
    assert!(matches!(none, Err(RegistryError::NotFound(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_each_see_their_own_write_and_loads_collapse() {
    let (store, registry) = registry(Vec::new()).await;
    let closed = store.gate.write().await;
    let writers: Vec<_> = (0..40)
        .map(|number| {
            let registry = registry.clone();
            tokio::spawn(async move {
                let name = format!("skill-{number}");
                registry.install(skill(&name, "1.0.0"), false).await.unwrap();
                assert!(sees(&registry, &name), "{name}");
            })
        })
        .collect();
    while store.rows.lock().unwrap().skills.len() < 40 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(closed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(registry.current().len(), 40);
    let loads = store.loads.load(Ordering::SeqCst);
    assert!(loads < 10, "{loads} loads for 40 writes");
}

#[tokio::test]
async fn a_writer_that_goes_away_leaves_a_visible_write() {
    let (_, registry) = registry(Vec::new()).await;
    tokio::select! {
        biased;
        done = registry.install(skill("rev", "1.0.0"), false) => panic!("finished at the first poll: {done:?}"),
        () = std::future::ready(()) => {}
    }
    tokio::time::timeout(Duration::from_secs(10), async {
        while !sees(&registry, "rev") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn writes_of_other_processes_come_with_invalidate_and_with_time() {
    let (store, registry) = registry(Vec::new()).await;
    store.rows.lock().unwrap().skills.push(skill("one", "1.0.0"));
    assert!(!sees(&registry, "one"));
    registry.invalidate().await.unwrap();
    assert!(sees(&registry, "one"));
    store.rows.lock().unwrap().skills.push(skill("two", "1.0.0"));
    let refresher = tokio::spawn(registry.clone().keep_fresh(Duration::from_millis(2)));
    tokio::time::timeout(Duration::from_secs(10), async {
        while !sees(&registry, "two") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .unwrap();
    refresher.abort();
}

#[tokio::test]
async fn a_failed_reload_keeps_what_was_known_and_says_the_write_is_durable() {
    let (store, registry) = registry(vec![skill("rev", "1.0.0")]).await;
    store.broken.store(true, Ordering::SeqCst);
    let written = registry.install(skill("new", "1.0.0"), false).await;
    assert!(matches!(written, Err(RegistryError::NotVisible(_))));
    assert!(matches!(registry.invalidate().await, Err(RegistryError::Store(_))));
    assert!(sees(&registry, "rev") && !sees(&registry, "new"));
    store.broken.store(false, Ordering::SeqCst);
    registry.invalidate().await.unwrap();
    assert!(sees(&registry, "new"));
}

#[tokio::test]
async fn what_may_not_be_installed_is_refused_before_the_store() {
    let (store, registry) = registry(vec![builtin("file_read", Mode::Auto)]).await;
    let id = registry.current().entries().next().unwrap().skill.id.clone();
    let refused = |skill: Skill| {
        let registry = registry.clone();
        async move { registry.install(skill, true).await.unwrap_err() }
    };
    assert!(matches!(refused(skill("File_Read", "9.0.0")).await, RegistryError::Reserved(_)));
    assert!(matches!(refused(builtin("mine", Mode::On)).await, RegistryError::Reserved(_)));
    assert!(matches!(refused(skill("a@b", "1.0.0")).await, RegistryError::Name(_)));
    let bad = Skill { schema: json!({"input": {"text": 5}}), ..skill("bad", "1.0.0") };
    assert!(refused(bad).await.to_string().starts_with("schema.input.text: "));
    let handler = Skill { handler: "eval(x)".into(), ..skill("bad", "1.0.0") };
    assert!(refused(handler).await.to_string().contains("echo-handler"));
    assert!(matches!(registry.delete(&id).await, Err(RegistryError::BuiltinImmutable(_))));
    let text = SkillUpdate { description: Some("x".into()), ..SkillUpdate::default() };
    assert!(matches!(registry.update(&id, text).await, Err(RegistryError::BuiltinImmutable(_))));
    let off = SkillUpdate { mode: Some(Mode::Off), ..SkillUpdate::default() };
    assert_eq!(registry.update(&id, off).await.unwrap().mode, Mode::Off);
    assert_eq!(store.rows.lock().unwrap().skills.len(), 1);
}

#[tokio::test]
async fn the_same_triple_is_a_conflict_unless_replaced() {
    let (_, registry) = registry(Vec::new()).await;
    registry.install(skill("rev", "1.0.0"), false).await.unwrap();
    let again = registry.install(skill("rev", "1.0.0"), false).await;
    assert!(matches!(again, Err(RegistryError::Conflict(_))));
    let new = Skill { description: "new".into(), ..skill("rev", "1.0.0") };
    registry.install(new, true).await.unwrap();
    let snapshot = registry.current();
    assert_eq!(snapshot.len(), 1);
    assert_eq!(snapshot.versions("alice", "rev")[0].skill.description, "new");
}

#[tokio::test]
async fn an_unreadable_row_stops_nobody_and_unchanged_skills_are_shared() {
    let (store, registry) = registry(vec![skill("rev", "1.0.0")]).await;
    let before = registry.current();
    store.rows.lock().unwrap().broken.push(("row-1".into(), "the schema is not JSON".into()));
    registry.invalidate().await.unwrap();
    let after = registry.current();
    assert_eq!(after.broken_rows()[0].id, "row-1");
    assert!(Arc::ptr_eq(&before.versions("a", "rev")[0], &after.versions("a", "rev")[0]));
    let page = after.list(&registry::SkillFilter::default(), PageRequest { page: 1, limit: 10 });
    assert_eq!(page.total, 1);
}
