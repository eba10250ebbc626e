//! Skills: inserting, replacing, switching, deleting.

use std::sync::Arc;

use domain::{Mode, Policy, Skill, Version};
use serde_json::json;
use store::{SkillUpdate, Store, StoreError};

use super::sample::{self, CHANGED};

const V1: Version = Version::new(1, 0, 0);

async fn loaded(store: &Arc<dyn Store>, id: &str) -> Skill {
    let loaded = store.load_skills().await.unwrap();
    assert_eq!(loaded.broken, []);
    loaded.skills.into_iter().find(|skill| skill.id == id).unwrap()
}

/// Every field survives, for all owners and versions.
pub async fn what_is_inserted_is_what_is_loaded(store: Arc<dyn Store>) {
    let mut skills = vec![
        sample::skill("system", "reverse", V1),
        sample::skill("key-1", "reverse", V1),
        sample::skill("key-1", "reverse", Version::new(u64::MAX, 0, 10)),
    ];
    skills[2].timeout_ms = None;
    skills[2].max_retries = None;
    skills[2].source_url = None;
    skills[2].content_sha256 = None;
    skills[2].tags = Vec::new();
    for skill in &skills {
        assert_eq!(store.insert_skill(skill.clone(), false).await.unwrap(), *skill);
    }
    for skill in &skills {
        assert_eq!(loaded(&store, &skill.id).await, *skill);
    }
    assert_eq!(store.load_skills().await.unwrap().skills.len(), 3);
}

/// Also for a second row with the id of another skill.
pub async fn the_same_identity_twice_is_a_conflict(store: Arc<dyn Store>) {
    let first = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let again = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await;
    let Err(StoreError::Conflict { what }) = again else { unreachable!("{again:?}") };
    assert_eq!(what, "skill reverse@1.0.0");

    let mut same_id = sample::skill("key-2", "other", V1);
    same_id.id.clone_from(&first.id);
    for replace in [false, true] {
        let answer = store.insert_skill(same_id.clone(), replace).await;
        assert!(matches!(answer, Err(StoreError::Conflict { .. })), "{answer:?}");
    }
    assert_eq!(store.load_skills().await.unwrap().skills, [first]);
}

/// Everything else is the new row's.
pub async fn replacing_keeps_id_creation_time_and_install_count(store: Arc<dyn Store>) {
    let old = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let new = Skill {
        description: "new".to_owned(),
        schema: json!({"input": {}}),
        handler: "other".to_owned(),
        mode: Mode::Off,
        mode_before: Some(Mode::On),
        policy: Policy::Manual,
        enabled: false,
        timeout_ms: None,
        tags: Vec::new(),
        install_count: 0,
        created_at: CHANGED.to_owned(),
        updated_at: CHANGED.to_owned(),
        ..sample::skill("key-1", "reverse", V1)
    };
    let stored = store.insert_skill(new.clone(), true).await.unwrap();
    let expected = Skill { id: old.id, created_at: old.created_at, install_count: 7, ..new };
    assert_eq!(stored, expected);
    assert_eq!(store.load_skills().await.unwrap().skills, [expected]);

    let fresh = sample::skill("key-2", "reverse", V1);
    assert_eq!(store.insert_skill(fresh.clone(), true).await.unwrap(), fresh, "replacing nothing inserts");
}

/// From each reachable state, each of the five switches acts as the domain says, and the state it leads to is stored
/// whole: turning it back on restores the mode before.
pub async fn the_switches_follow_the_state_table(store: Arc<dyn Store>) {
    let switches: Vec<SkillUpdate> = [true, false]
        .map(|enabled| SkillUpdate { enabled: Some(enabled), ..sample::no_change() })
        .into_iter()
        .chain(
            [Mode::On, Mode::Off, Mode::Auto]
                .map(|mode| SkillUpdate { mode: Some(mode), ..sample::no_change() }),
        )
        .collect();
    let starts = [
        (true, Mode::On, None),
        (true, Mode::Off, None),
        (true, Mode::Auto, None),
        (false, Mode::Off, Some(Mode::On)),
        (false, Mode::Off, Some(Mode::Auto)),
        (false, Mode::Off, Some(Mode::Off)),
    ];
    for (n, (enabled, mode, mode_before)) in starts.into_iter().enumerate() {
        for (m, switch) in switches.iter().enumerate() {
            let start =
                Skill { enabled, mode, mode_before, ..sample::skill("key-1", &format!("s-{n}-{m}"), V1) };
            store.insert_skill(start.clone(), false).await.unwrap();
            let mut expected = start.clone();
            if let Some(enabled) = switch.enabled {
                expected.set_enabled(enabled);
            }
            if let Some(mode) = switch.mode {
                expected.set_mode(mode);
            }
            CHANGED.clone_into(&mut expected.updated_at);
            let stored = store.update_skill(&start.id, switch.clone()).await.unwrap();
            assert_eq!(stored, expected, "{start:?} {switch:?}");
            assert_eq!(loaded(&store, &start.id).await, expected);
        }
    }
}

/// Each field alone.
pub async fn an_update_changes_only_what_it_names(store: Arc<dyn Store>) {
    let mut expected = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let id = expected.id.clone();
    CHANGED.clone_into(&mut expected.updated_at);

    assert_eq!(store.update_skill(&id, sample::no_change()).await.unwrap(), expected);

    let policy = SkillUpdate { policy: Some(Policy::Manual), ..sample::no_change() };
    expected.policy = Policy::Manual;
    assert_eq!(store.update_skill(&id, policy).await.unwrap(), expected);

    let description = SkillUpdate { description: Some(String::new()), ..sample::no_change() };
    expected.description = String::new();
    assert_eq!(store.update_skill(&id, description).await.unwrap(), expected);

    let tags = SkillUpdate { tags: Some(vec!["new".to_owned()]), ..sample::no_change() };
    expected.tags = vec!["new".to_owned()];
    assert_eq!(store.update_skill(&id, tags).await.unwrap(), expected);

    let times = SkillUpdate { timeout_ms: Some(Some(5)), max_retries: Some(Some(3)), ..sample::no_change() };
    expected.timeout_ms = Some(5);
    expected.max_retries = Some(3);
    assert_eq!(store.update_skill(&id, times).await.unwrap(), expected);
    assert_eq!(loaded(&store, &id).await, expected);
}

/// `enabled: false, mode: on` ends enabled, since a mode other than off enables.
pub async fn an_update_of_enabled_and_mode_applies_enabled_first(store: Arc<dyn Store>) {
    let skill = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let both = SkillUpdate { enabled: Some(false), mode: Some(Mode::On), ..sample::no_change() };
    let stored = store.update_skill(&skill.id, both).await.unwrap();
    assert_eq!((stored.enabled, stored.mode, stored.mode_before), (true, Mode::On, None));

    let both = SkillUpdate { enabled: Some(false), mode: Some(Mode::Off), ..sample::no_change() };
    let stored = store.update_skill(&skill.id, both).await.unwrap();
    assert_eq!((stored.enabled, stored.mode, stored.mode_before), (false, Mode::Off, None));
}

/// `None` leaves a value, `Some(None)` takes it away.
pub async fn absent_and_default_are_different_updates(store: Arc<dyn Store>) {
    let skill = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let one = SkillUpdate { timeout_ms: Some(None), ..sample::no_change() };
    let stored = store.update_skill(&skill.id, one).await.unwrap();
    assert_eq!((stored.timeout_ms, stored.max_retries), (None, Some(2)));
    let other = SkillUpdate { max_retries: Some(None), ..sample::no_change() };
    let stored = store.update_skill(&skill.id, other).await.unwrap();
    assert_eq!((stored.timeout_ms, stored.max_retries), (None, None));
}

/// For update and delete.
pub async fn unknown_skills_are_not_found(store: Arc<dyn Store>) {
    let update = store.update_skill("nothing", sample::no_change()).await;
    assert!(matches!(update, Err(StoreError::NotFound { what: "skill", .. })), "{update:?}");
    let delete = store.delete_skill("nothing").await;
    assert!(matches!(delete, Err(StoreError::NotFound { what: "skill", .. })), "{delete:?}");
}

/// And the identity is free again.
pub async fn deleting_a_skill_keeps_its_history(store: Arc<dyn Store>) {
    let skill = store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
    let mut execution = sample::execution();
    execution.skill_id.clone_from(&skill.id);
    store.create_execution(&execution).await.unwrap();
    store.delete_skill(&skill.id).await.unwrap();
    assert_eq!(store.load_skills().await.unwrap().skills, []);
    assert_eq!(store.execution(&execution.id).await.unwrap(), Some(execution));
    assert!(matches!(store.delete_skill(&skill.id).await, Err(StoreError::NotFound { .. })));
    store.insert_skill(sample::skill("key-1", "reverse", V1), false).await.unwrap();
}
