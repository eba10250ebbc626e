//! Named management tokens.

use std::sync::Arc;

use domain::{ManagementToken, Scope};
use store::{Database, StoreError};

use super::sample::{self, CHANGED};

/// The hash does not come out; they are listed newest first.
pub async fn a_token_is_found_by_its_hash(store: Arc<dyn Database>) {
    let one = sample::token("ci");
    let two = ManagementToken { scopes: Scope::ALL.to_vec(), ..sample::token("laptop \u{1f600}") };
    store.create_token(&one, "aa").await.unwrap();
    store.create_token(&two, "bb").await.unwrap();
    assert_eq!(store.token_by_hash("aa").await.unwrap(), Some(one.clone()));
    assert_eq!(store.token_by_hash("bb").await.unwrap(), Some(two.clone()));
    assert_eq!(store.token_by_hash("").await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), [two, one]);
}

/// Each alone is in the way.
pub async fn names_ids_and_hashes_are_unique(store: Arc<dyn Database>) {
    let first = sample::token("ci");
    store.create_token(&first, "aa").await.unwrap();
    let same_id = ManagementToken { name: "other".to_owned(), ..first.clone() };
    for (token, hash) in [(sample::token("ci"), "bb"), (sample::token("other"), "aa"), (same_id, "bb")] {
        let refused = store.create_token(&token, hash).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    }
    assert_eq!(store.tokens().await.unwrap(), [first]);
}

/// And open nothing any more.
pub async fn deleted_tokens_are_gone(store: Arc<dyn Database>) {
    let token = sample::token("ci");
    store.create_token(&token, "aa").await.unwrap();
    store.delete_token(&token.id).await.unwrap();
    assert_eq!(store.token_by_hash("aa").await.unwrap(), None);
    let again = store.delete_token(&token.id).await;
    assert!(matches!(again, Err(StoreError::NotFound { what: "token", .. })), "{again:?}");
    store.create_token(&sample::token("ci"), "bb").await.unwrap();
}

/// A token that is gone is no error: the note comes after the request it is about.
pub async fn touching_notes_the_time(store: Arc<dyn Database>) {
    let token = sample::token("ci");
    store.create_token(&token, "aa").await.unwrap();
    store.touch_token(&token.id, CHANGED).await.unwrap();
    let touched = ManagementToken { last_used_at: Some(CHANGED.to_owned()), ..token };
    assert_eq!(store.token_by_hash("aa").await.unwrap(), Some(touched));
    store.touch_token("nothing", CHANGED).await.unwrap();
}
