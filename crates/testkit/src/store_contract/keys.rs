//! API keys and named values.

use std::sync::Arc;

use domain::{ApiKey, Scope};
use store::{KeyUpdate, Store, StoreError};

use super::sample::{self, CHANGED};

/// Every field survives; the secret's hash does not come out.
pub async fn a_key_is_found_by_its_hash(store: Arc<dyn Store>) {
    let new = sample::key("aa");
    let expected = ApiKey {
        id: new.id.clone(),
        name: new.name.clone(),
        scopes: new.scopes.clone(),
        custom_skill_execution_enabled: true,
        revoked: false,
        settings: new.settings.clone(),
        created_at: new.created_at.clone(),
        last_used_at: None,
    };
    assert_eq!(store.create_key(new).await.unwrap(), expected);
    assert_eq!(store.key_by_hash("aa").await.unwrap(), Some(expected));
    assert_eq!(store.key_by_hash("ab").await.unwrap(), None);
    assert_eq!(store.key_by_hash("").await.unwrap(), None);
}

/// All scopes come back, and an empty list stays empty.
pub async fn keys_are_listed_newest_first(store: Arc<dyn Store>) {
    assert_eq!(store.keys().await.unwrap(), []);
    let mut expected = Vec::new();
    for (hash, scopes) in [("aa", Scope::ALL.to_vec()), ("bb", Vec::new()), ("cc", Scope::DEFAULT.to_vec())] {
        let mut new = sample::key(hash);
        new.scopes = scopes;
        expected.insert(0, store.create_key(new).await.unwrap());
    }
    assert_eq!(store.keys().await.unwrap(), expected);
}

/// For a rotation too.
pub async fn ids_and_hashes_are_unique(store: Arc<dyn Store>) {
    let first = store.create_key(sample::key("aa")).await.unwrap();
    let mut same_id = sample::key("bb");
    same_id.id.clone_from(&first.id);
    assert!(matches!(store.create_key(same_id).await, Err(StoreError::Conflict { .. })));
    assert!(matches!(store.create_key(sample::key("aa")).await, Err(StoreError::Conflict { .. })));
    let second = store.create_key(sample::key("cc")).await.unwrap();
    let rotation = KeyUpdate { secret_hash: Some("aa".to_owned()), ..KeyUpdate::default() };
    assert!(matches!(store.update_key(&second.id, rotation).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.keys().await.unwrap(), [second, first]);
}

/// Each field alone.
pub async fn an_update_changes_only_what_it_names(store: Arc<dyn Store>) {
    let mut expected = store.create_key(sample::key("aa")).await.unwrap();
    let id = expected.id.clone();
    assert_eq!(store.update_key(&id, KeyUpdate::default()).await.unwrap(), expected);

    let update = KeyUpdate { name: Some("renamed".to_owned()), ..KeyUpdate::default() };
    expected.name = "renamed".to_owned();
    assert_eq!(store.update_key(&id, update).await.unwrap(), expected);

    let update = KeyUpdate { scopes: Some(vec![Scope::Manage]), ..KeyUpdate::default() };
    expected.scopes = vec![Scope::Manage];
    assert_eq!(store.update_key(&id, update).await.unwrap(), expected);

    let update = KeyUpdate { custom_skill_execution_enabled: Some(false), ..KeyUpdate::default() };
    expected.custom_skill_execution_enabled = false;
    assert_eq!(store.update_key(&id, update).await.unwrap(), expected);
    assert_eq!(store.key_by_hash("aa").await.unwrap(), Some(expected));
}

/// The old secret opens nothing any more; the id, and so what the key owns, stays.
pub async fn rotation_replaces_the_secret(store: Arc<dyn Store>) {
    let key = store.create_key(sample::key("aa")).await.unwrap();
    let rotation = KeyUpdate { secret_hash: Some("bb".to_owned()), ..KeyUpdate::default() };
    assert_eq!(store.update_key(&key.id, rotation).await.unwrap(), key);
    assert_eq!(store.key_by_hash("aa").await.unwrap(), None);
    assert_eq!(store.key_by_hash("bb").await.unwrap(), Some(key));
}

/// A revoked key is still found, so that the refusal can say why, and cannot be revived.
pub async fn revocation_is_for_good(store: Arc<dyn Store>) {
    let key = store.create_key(sample::key("aa")).await.unwrap();
    for revoked in [true, false] {
        let update = KeyUpdate { revoked: Some(revoked), ..KeyUpdate::default() };
        assert!(store.update_key(&key.id, update).await.unwrap().revoked);
    }
    assert_eq!(store.key_by_hash("aa").await.unwrap(), Some(ApiKey { revoked: true, ..key }));
}

/// What a key owned stays.
pub async fn deleted_keys_are_gone_and_unknown_ones_not_found(store: Arc<dyn Store>) {
    let key = store.create_key(sample::key("aa")).await.unwrap();
    let skill = sample::skill(&key.id, "own", domain::Version::new(1, 0, 0));
    store.insert_skill(skill.clone(), false).await.unwrap();
    store.delete_key(&key.id).await.unwrap();
    assert_eq!(store.key_by_hash("aa").await.unwrap(), None);
    assert_eq!(store.keys().await.unwrap(), []);
    assert_eq!(store.load_skills().await.unwrap().skills, [skill]);
    let delete = store.delete_key(&key.id).await;
    assert!(matches!(delete, Err(StoreError::NotFound { what: "key", .. })), "{delete:?}");
    let update = store.update_key(&key.id, KeyUpdate::default()).await;
    assert!(matches!(update, Err(StoreError::NotFound { what: "key", .. })), "{update:?}");
}

/// A key that is gone is no error: the note comes after the request it is about.
pub async fn touching_notes_the_time(store: Arc<dyn Store>) {
    let key = store.create_key(sample::key("aa")).await.unwrap();
    store.touch_key(&key.id, CHANGED).await.unwrap();
    let touched = ApiKey { last_used_at: Some(CHANGED.to_owned()), ..key };
    assert_eq!(store.keys().await.unwrap(), [touched]);
    store.touch_key("nothing", CHANGED).await.unwrap();
}

/// A part of them is never left behind.
pub async fn settings_are_kept_whole_and_replaced_whole(store: Arc<dyn Store>) {
    let key = store.create_key(sample::key("aa")).await.unwrap();
    assert_eq!(key.settings, sample::settings());
    let update = KeyUpdate { name: Some("other".to_owned()), ..KeyUpdate::default() };
    assert_eq!(store.update_key(&key.id, update).await.unwrap().settings, sample::settings());
    let settings = domain::KeySettings { require_user: true, ..domain::KeySettings::default() };
    let update = KeyUpdate { settings: Some(settings.clone()), ..KeyUpdate::default() };
    assert_eq!(store.update_key(&key.id, update).await.unwrap().settings, settings);
    assert_eq!(store.key_by_hash("aa").await.unwrap().unwrap().settings, settings);
}

/// Names are exact.
pub async fn values_are_set_and_replaced(store: Arc<dyn Store>) {
    assert_eq!(store.value("a").await.unwrap(), None);
    store.set_value("a", "1").await.unwrap();
    store.set_value("A", "").await.unwrap();
    store.set_value("a", "2 \u{1f600} \u{0} end").await.unwrap();
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("2 \u{1f600} \u{0} end"));
    assert_eq!(store.value("A").await.unwrap().as_deref(), Some(""));
}
