//! Built-ins: the binary owns the definition, the row owns the switches.

use std::sync::Arc;

use domain::{Annotations, Mode, Policy, Skill, SourceProvider, Version};
use serde_json::json;
use store::{SkillUpdate, Store};

use super::sample::{self, CHANGED};

async fn all(store: &Arc<dyn Store>) -> Vec<Skill> {
    let mut skills = store.load_skills().await.unwrap().skills;
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// What the next start of the program passes: same definition, new id and times.
fn next_start(skill: &Skill) -> Skill {
    Skill {
        id: domain::ids::new_id(),
        created_at: CHANGED.to_owned(),
        updated_at: CHANGED.to_owned(),
        ..skill.clone()
    }
}

/// Not even `updated_at`.
pub async fn syncing_twice_changes_nothing(store: Arc<dyn Store>) {
    let shipped = vec![sample::builtin("alpha"), sample::builtin("beta")];
    store.sync_builtins(shipped.clone()).await.unwrap();
    assert_eq!(all(&store).await, shipped);
    store.sync_builtins(shipped.iter().map(next_start).collect()).await.unwrap();
    assert_eq!(all(&store).await, shipped);
}

/// Mode, policy, enabled, limits and install count are the operator's.
pub async fn a_sync_updates_the_definition_and_keeps_the_switches(store: Arc<dyn Store>) {
    let shipped = sample::builtin("alpha");
    store.sync_builtins(vec![shipped.clone()]).await.unwrap();
    let update = SkillUpdate {
        enabled: Some(false),
        policy: Some(Policy::Manual),
        timeout_ms: Some(Some(77)),
        max_retries: Some(Some(1)),
        ..sample::no_change()
    };
    let switched = store.update_skill(&shipped.id, update).await.unwrap();
    assert_eq!(switched.mode_before, Some(Mode::Auto));

    let newer = Skill {
        description: "better".to_owned(),
        schema: json!({"input": {"more": "string"}}),
        handler: "alpha-2".to_owned(),
        annotations: Annotations::default(),
        tags: vec!["other".to_owned()],
        mode: Mode::On,
        policy: Policy::Auto,
        updated_at: "2027-01-01T00:00:00Z".to_owned(),
        ..next_start(&shipped)
    };
    store.sync_builtins(vec![newer.clone()]).await.unwrap();
    let expected = Skill {
        description: newer.description,
        schema: newer.schema,
        handler: newer.handler,
        annotations: newer.annotations,
        tags: newer.tags,
        updated_at: newer.updated_at,
        ..switched
    };
    assert_eq!(all(&store).await, [expected]);
}

/// By version too; rows of other sources stay.
pub async fn a_sync_removes_what_is_no_longer_shipped(store: Arc<dyn Store>) {
    let kept = sample::builtin("alpha");
    let older = Skill { version: Version::new(0, 9, 0), ..sample::builtin("alpha") };
    let local = sample::skill("system", "custom", Version::new(1, 0, 0));
    store.insert_skill(local.clone(), false).await.unwrap();
    store.sync_builtins(vec![kept.clone(), older, sample::builtin("beta")]).await.unwrap();
    assert_eq!(all(&store).await.len(), 4);
    store.sync_builtins(vec![kept.clone()]).await.unwrap();
    assert_eq!(all(&store).await, [kept, local]);
}

/// A built-in's name is reserved: the row becomes the built-in, and only its place and its switches stay.
pub async fn a_sync_takes_a_reserved_name_over(store: Arc<dyn Store>) {
    let mut squatter = sample::skill("system", "alpha", Version::new(1, 0, 0));
    squatter.handler = "something-else".to_owned();
    squatter.policy = Policy::Auto;
    squatter.set_enabled(false);
    store.insert_skill(squatter.clone(), false).await.unwrap();
    let shipped =
        Skill { policy: Policy::Manual, updated_at: CHANGED.to_owned(), ..sample::builtin("alpha") };
    store.sync_builtins(vec![shipped.clone()]).await.unwrap();
    let expected = Skill {
        id: squatter.id,
        enabled: false,
        mode: Mode::Off,
        mode_before: Some(Mode::Auto),
        install_count: squatter.install_count,
        created_at: squatter.created_at,
        ..shipped
    };
    assert_eq!(all(&store).await, [expected]);
}

/// A key may own a skill of the same name, and even of source `builtin`.
pub async fn a_sync_leaves_other_owners_alone(store: Arc<dyn Store>) {
    let own = Skill { api_key_id: "key-1".to_owned(), ..sample::builtin("alpha") };
    assert_eq!(own.source_provider, SourceProvider::Builtin);
    store.insert_skill(own.clone(), false).await.unwrap();
    let shipped = sample::builtin("beta");
    store.sync_builtins(vec![shipped.clone()]).await.unwrap();
    assert_eq!(all(&store).await, [own, shipped]);
}
