//! Sets of skills and defaults of names.

use std::sync::Arc;

use domain::{SkillDefault, SkillSet, Version};
use store::{Database, StoreError};

use super::sample::{self, CHANGED};

fn default(owner: &str, constraint: &str) -> SkillDefault {
    SkillDefault {
        api_key_id: owner.to_owned(),
        name: "reverse-text".to_owned(),
        constraint: constraint.to_owned(),
    }
}

/// All else is replaced.
pub async fn a_set_is_written_over_and_keeps_its_creation(store: Arc<dyn Database>) {
    let first = sample::set("mine");
    assert_eq!(store.put_set(first.clone()).await.unwrap(), first);
    let second = SkillSet {
        skills: Vec::new(),
        created_at: CHANGED.to_owned(),
        updated_at: CHANGED.to_owned(),
        ..first.clone()
    };
    let expected = SkillSet { created_at: first.created_at, ..second.clone() };
    assert_eq!(store.put_set(second).await.unwrap(), expected);
    assert_eq!(store.load_skills().await.unwrap().sets, [expected]);
}

/// Sets in the order of their names; one default for each owner and name.
pub async fn sets_and_defaults_load_with_the_skills(store: Arc<dyn Database>) {
    let skill = sample::skill("key-1", "reverse-text", Version::new(1, 0, 0));
    store.insert_skill(skill.clone(), false).await.unwrap();
    for name in ["b", "a", "c"] {
        store.put_set(sample::set(name)).await.unwrap();
    }
    store.put_default(default("key-1", "^1")).await.unwrap();
    store.put_default(default("system", "^1")).await.unwrap();
    store.put_default(default("system", "~1.2")).await.unwrap();
    store.delete_set("c").await.unwrap();
    let loaded = store.load_skills().await.unwrap();
    assert_eq!(loaded.skills, [skill]);
    assert_eq!(loaded.sets, [sample::set("a"), sample::set("b")]);
    let mut defaults = loaded.defaults;
    defaults.sort_by(|a, b| a.api_key_id.cmp(&b.api_key_id));
    assert_eq!(defaults, [default("key-1", "^1"), default("system", "~1.2")]);
    store.delete_default("system", "reverse-text").await.unwrap();
    assert_eq!(store.load_skills().await.unwrap().defaults, [default("key-1", "^1")]);
}

/// Names are exact.
pub async fn unknown_sets_and_defaults_are_not_found(store: Arc<dyn Database>) {
    store.put_set(sample::set("mine")).await.unwrap();
    store.put_default(default("system", "^1")).await.unwrap();
    let set = store.delete_set("Mine").await;
    assert!(matches!(set, Err(StoreError::NotFound { what: "set", .. })), "{set:?}");
    for (owner, name) in [("key-1", "reverse-text"), ("system", "other")] {
        let default = store.delete_default(owner, name).await;
        assert!(matches!(default, Err(StoreError::NotFound { what: "default", .. })), "{default:?}");
    }
}
