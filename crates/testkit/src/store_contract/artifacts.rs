//! Files that executions leave behind.

use std::sync::Arc;

use domain::Artifact;
use store::{Database, StoreError};

use super::sample;

/// Empty ones and all bytes, too.
pub async fn what_is_put_is_what_is_found(store: Arc<dyn Database>) {
    let all: Vec<u8> = (0..=255).collect();
    for content in [Vec::new(), all, vec![0; 1_000_000]] {
        let artifact = sample::artifact("execution-1", &content);
        store.put_artifact(&artifact, content.clone()).await.unwrap();
        assert_eq!(store.artifact(&artifact.id).await.unwrap(), Some(artifact.clone()));
        assert_eq!(store.artifact_content(&artifact.id).await.unwrap(), Some(content));
    }
    assert_eq!(store.artifact("nothing").await.unwrap(), None);
    assert_eq!(store.artifact_content("nothing").await.unwrap(), None);
}

/// In which they were written.
pub async fn those_of_an_execution_come_in_order(store: Arc<dyn Database>) {
    let mut expected = Vec::new();
    for n in 0..5 {
        let artifact = sample::artifact("execution-1", &[n]);
        store.put_artifact(&artifact, vec![n]).await.unwrap();
        store.put_artifact(&sample::artifact("execution-2", &[n]), vec![n]).await.unwrap();
        expected.push(artifact);
    }
    assert_eq!(store.artifacts_of("execution-1").await.unwrap(), expected);
    assert_eq!(store.artifacts_of("nothing").await.unwrap(), []);
}

/// And the first one stays.
pub async fn the_same_id_twice_is_a_conflict(store: Arc<dyn Database>) {
    let first = sample::artifact("execution-1", b"first");
    store.put_artifact(&first, b"first".to_vec()).await.unwrap();
    let second = Artifact { name: "other".to_owned(), ..first.clone() };
    let refused = store.put_artifact(&second, b"second".to_vec()).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(store.artifact_content(&first.id).await.unwrap().as_deref(), Some(&b"first"[..]));
    assert_eq!(store.artifact(&first.id).await.unwrap(), Some(first));
}
