//! How processes learn that another one changed something.

use std::sync::Arc;
use std::time::Duration;

use domain::{ManagementToken, SkillDefault, Version, ids};
use store::{Database, KeyUpdate, SkillUpdate};
use tokio::time::timeout;

use super::sample::{self, CHANGED};
use super::{PATIENCE, Place};

/// Long enough for a store to notice what it should not.
const A_WHILE: Duration = Duration::from_millis(1_500);

async fn open(place: &dyn Place) -> Arc<dyn Database> {
    let store = place.open().await;
    store.register_instance(&ids::new_id()).await.unwrap();
    store
}

/// Waits for changes until there are none any more; returns the number to go on with.
async fn calm(store: &Arc<dyn Database>, mut seen: u64) -> u64 {
    while let Ok(next) = timeout(A_WHILE, store.changed(seen)).await {
        seen = next.unwrap();
    }
    seen
}

/// Of every kind that a process holds in memory, and removals too.
pub async fn a_change_of_another_process_is_seen(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (one, two) = (open(&*place).await, open(&*place).await);
    let skill = sample::skill("key-1", "reverse-text", Version::new(1, 0, 0));
    let token: ManagementToken = sample::token("ci");
    let default =
        SkillDefault { api_key_id: "system".to_owned(), name: "a".to_owned(), constraint: "^1".to_owned() };
    let key = sample::key("aa");
    let mut seen = calm(&one, 0).await;
    for step in 0..12 {
        match step {
            0 => drop(two.insert_skill(skill.clone(), false).await.unwrap()),
            1 => {
                let update = SkillUpdate { description: Some("x".to_owned()), ..sample::no_change() };
                two.update_skill(&skill.id, update).await.unwrap();
            }
            2 => two.delete_skill(&skill.id).await.unwrap(),
            3 => drop(two.put_set(sample::set("a")).await.unwrap()),
            4 => two.delete_set("a").await.unwrap(),
            5 => two.put_default(default.clone()).await.unwrap(),
            6 => two.delete_default("system", "a").await.unwrap(),
            7 => drop(two.create_key(key.clone()).await.unwrap()),
            8 => {
                let update = KeyUpdate { revoked: Some(true), ..KeyUpdate::default() };
                two.update_key(&key.id, update).await.unwrap();
            }
            9 => two.delete_key(&key.id).await.unwrap(),
            10 => two.create_token(&token, "aa").await.unwrap(),
            _ => two.set_value("a", "1").await.unwrap(),
        }
        let next = timeout(PATIENCE, one.changed(seen)).await;
        assert!(next.is_ok(), "the change of step {step} was not seen");
        seen = next.unwrap().unwrap();
    }
    // One that was made while nobody waited.
    let waited = calm(&one, seen).await;
    two.set_value("a", "2").await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    timeout(PATIENCE, one.changed(waited)).await.unwrap().unwrap();
}

/// However many.
pub async fn own_changes_are_not(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (one, two) = (open(&*place).await, open(&*place).await);
    let seen = calm(&one, 0).await;
    let waiting = {
        let one = one.clone();
        tokio::spawn(async move { timeout(A_WHILE, one.changed(seen)).await.is_ok() })
    };
    for n in 0..20 {
        one.set_value("a", &n.to_string()).await.unwrap();
        one.put_set(sample::set(&n.to_string())).await.unwrap();
        one.create_execution(&sample::execution()).await.unwrap();
    }
    assert!(!waiting.await.unwrap(), "own changes");
    two.create_execution(&sample::execution()).await.unwrap();
    two.set_value("b", "1").await.unwrap();
    timeout(PATIENCE, one.changed(seen)).await.unwrap().unwrap();
}

/// They come with every request.
pub async fn notes_of_use_are_no_change(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (one, two) = (open(&*place).await, open(&*place).await);
    let key = two.create_key(sample::key("aa")).await.unwrap();
    let token = sample::token("ci");
    two.create_token(&token, "aa").await.unwrap();
    let seen = calm(&one, 0).await;
    two.touch_key(&key.id, CHANGED).await.unwrap();
    two.touch_token(&token.id, CHANGED).await.unwrap();
    two.record_turn(sample::turn()).await.unwrap();
    two.append_audit(&sample::audit("x")).await.unwrap();
    assert!(timeout(A_WHILE, one.changed(seen)).await.is_err(), "a note of use is no change");
}
