//! A killed process loses nothing that it was told is written.
//!
//! The test starts its own binary again; that child records executions and prints a line for each acknowledged step
//! until it is killed with SIGKILL.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use domain::Status;
use rusqlite::Connection;
use store::Store as _;
use store_sql::SqliteStore;
use testkit::store_contract::sample;

const PATH: &str = "STORE_SQL_CRASH_TEST_PATH";

/// The child. Ignored, because alone it has nothing to write to.
#[test]
#[ignore = "started by the test below"]
fn child_that_writes_until_it_is_killed() {
    let path = std::env::var_os(PATH).expect("the parent sets it");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(Path::new(&path)).unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            tasks.spawn(write_for_ever(store.clone()));
        }
        tasks.join_all().await;
    });
}

#[expect(clippy::print_stdout, reason = "how the parent learns what was acknowledged")]
async fn write_for_ever(store: Arc<SqliteStore>) {
    loop {
        let execution = sample::execution();
        store.create_execution(&execution).await.unwrap();
        println!("\nack {} pending", execution.id);
        assert!(store.start_execution(&execution.id).await.unwrap());
        println!("\nack {} running", execution.id);
        assert!(store.finish_execution(&execution.id, sample::outcome()).await.unwrap());
        println!("\nack {} success", execution.id);
    }
}

fn start_child(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_that_writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The last acknowledged status of each execution. Kills the child some milliseconds after its first line.
fn kill_while_writing(path: &Path) -> HashMap<String, Status> {
    let mut child = start_child(path);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = Vec::new();
    while !first.starts_with(b"ack ") {
        first.clear();
        assert_ne!(
            output.read_until(b'\n', &mut first).unwrap(),
            0,
            "the child ended before it wrote anything"
        );
    }
    let reader = std::thread::spawn(move || {
        let mut text = first;
        std::io::Read::read_to_end(&mut output, &mut text).unwrap();
        text
    });
    std::thread::sleep(Duration::from_millis(RandomState::new().hash_one(path) % 80));
    child.kill().unwrap();
    child.wait().unwrap();
    let text = String::from_utf8(reader.join().unwrap()).unwrap();
    // A line without its end was cut by the kill.
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let acknowledged = whole.filter_map(|line| line.strip_prefix("ack ")?.split_once(' '));
    acknowledged.map(|(id, status)| (id.to_owned(), Status::parse(status).unwrap())).collect()
}

/// Where in its life an execution is.
fn rank(status: Status) -> Option<usize> {
    [Status::Pending, Status::Running, Status::Success].into_iter().position(|s| s == status)
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let (_folder, path) = crate::folder();
    let mut all: HashMap<String, Status> = HashMap::new();
    for round in 0..10 {
        let acknowledged = kill_while_writing(&path);
        assert!(!acknowledged.is_empty());
        let store = SqliteStore::open(&path).unwrap();
        for (id, status) in &acknowledged {
            let row = store.execution(id).await.unwrap();
            let stored =
                row.unwrap_or_else(|| panic!("round {round}: {id} was acknowledged and is gone")).status;
            assert!(rank(stored) >= rank(*status), "round {round}: {id} was {status:?} and is {stored:?}");
        }
        all.extend(acknowledged);
        // What the next start of the program does.
        store.interrupt_executions("interrupted").await.unwrap();
        assert_eq!(store.interrupt_executions("interrupted").await.unwrap(), 0);
        store.close().await;
    }
    let store = SqliteStore::open(&path).unwrap();
    for (id, status) in all {
        let stored = store.execution(&id).await.unwrap().unwrap();
        let interrupted = stored.error_message.as_deref() == Some("interrupted");
        assert!(stored.status == Status::Success || (interrupted && status != Status::Success), "{stored:?}");
    }
    let check: String =
        Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
