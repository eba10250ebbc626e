//! As `crash`, for all that is kept beside executions, and for what the dead leave to the living.

use std::path::Path;
use std::sync::Arc;

use domain::{Execution, Status, ids};
use rusqlite::Connection;
use store::{
    Artifacts as _, Audit as _, ExecutionFilter, Instances as _, PageRequest, Prune, Retention as _,
    Sets as _, Store as _, Tokens as _, Turns as _,
};
use store_sql::SqliteStore;
use testkit::store_contract::sample;

use crate::child;

/// The child. Ignored, because alone it has nothing to write to.
#[test]
#[ignore = "started by the test below"]
fn child_that_keeps_everything_until_it_is_killed() {
    child::eight(async |path| SqliteStore::open(path).unwrap(), keep_for_ever);
}

#[expect(clippy::print_stdout, reason = "how the parent learns what was acknowledged")]
async fn keep_for_ever(store: Arc<SqliteStore>) {
    // Eight times the same process, which is no error.
    store.register_instance(&format!("child-{}", std::process::id())).await.unwrap();
    loop {
        let execution = sample::execution();
        store.create_execution(&execution).await.unwrap();
        assert!(store.start_execution(&execution.id).await.unwrap());
        println!("\nack {} running", execution.id);
        let artifact = sample::artifact(&execution.id, b"content");
        store.put_artifact(&artifact, b"content".to_vec()).await.unwrap();
        println!("\nack {} artifact", artifact.id);
        let turn = sample::turn();
        store.record_turn(turn.clone()).await.unwrap();
        println!("\nack {} turn", turn.id);
        let entry = sample::audit("skill.update");
        store.append_audit(&entry).await.unwrap();
        println!("\nack {} audit", entry.id);
        let id = ids::new_id();
        store.put_set(sample::set(&id)).await.unwrap();
        println!("\nack {id} set");
        store.create_token(&sample::token(&id), &id).await.unwrap();
        println!("\nack {id} token");
        // Retention goes on beside it all and takes only what nobody was told of.
        let prune = Prune { before: Some("2020-01-01T00:00:00Z".to_owned()), batch: 10, ..Prune::default() };
        store.prune(&prune).await.unwrap();
        store.give_space_back().await.unwrap();
    }
}

async fn is_kept(store: &SqliteStore, id: &str, word: &str) -> bool {
    match word {
        "running" => store.execution(id).await.unwrap().is_some(),
        "artifact" => store.artifact_content(id).await.unwrap().as_deref() == Some(b"content"),
        "turn" => store.turn(id).await.unwrap().is_some(),
        "token" => store.token_by_hash(id).await.unwrap().is_some(),
        "set" => store.load_skills().await.unwrap().sets.iter().any(|set| set.name == id),
        other => unreachable!("nothing is called {other}"),
    }
}

async fn open_rows(store: &SqliteStore) -> u64 {
    let mut open = 0;
    for status in [Status::Pending, Status::Running] {
        let filter = ExecutionFilter { status: Some(status), ..ExecutionFilter::default() };
        open += store.executions(&filter, PageRequest { page: 1, limit: 1 }).await.unwrap().total;
    }
    open
}

fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_was_acknowledged_survives_a_kill_and_its_process_is_known_to_be_dead() {
    let (folder, path) = crate::folder();
    // A process that lives through it all.
    let living = SqliteStore::open(&path).unwrap();
    living.register_instance("living").await.unwrap();
    let own = Execution { status: Status::Running, ..sample::execution() };
    living.create_execution(&own).await.unwrap();
    for round in 0..6 {
        let acknowledged =
            child::kill_while_writing(&path, "crash_all::child_that_keeps_everything_until_it_is_killed");
        assert!(!acknowledged.is_empty());
        let entries: Vec<_> = acknowledged.iter().filter(|(_, word)| word == "audit").collect();
        for (id, _) in &entries {
            let found = number(&path, &format!("SELECT count(*) FROM audit WHERE id = '{id}'"));
            assert_eq!(found, 1, "round {round}: entry {id}");
        }
        for (id, word) in acknowledged.iter().filter(|(_, word)| word != "audit") {
            assert!(
                is_kept(&living, id, word).await,
                "round {round}: {word} {id} was acknowledged and is gone"
            );
        }
        let left = open_rows(&living).await;
        assert!(left > 1, "the child left open rows");
        assert_eq!(living.interrupt_orphans("interrupted").await.unwrap(), left - 1);
        assert_eq!(living.interrupt_orphans("interrupted").await.unwrap(), 0);
        assert_eq!(living.execution(&own.id).await.unwrap().unwrap().status, Status::Running);
    }
    living.register_instance("living").await.unwrap();
    let locks = std::fs::read_dir(folder.path().join("omni-skills.db-instances")).unwrap();
    let locks: Vec<_> = locks.map(|lock| lock.unwrap().file_name()).collect();
    assert_eq!(locks, ["living"], "files of the dead are gone");
    let check: String =
        Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
