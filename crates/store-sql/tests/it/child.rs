//! Other processes: the test's own binary, started again for one of its ignored tests.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const PATH: &str = "STORE_SQL_CRASH_TEST_PATH";

/// In the child: the database that it was started for, which the parent says.
pub(crate) fn path() -> PathBuf {
    std::env::var_os(PATH).unwrap().into()
}

/// In the child: does `work` eight times at once, for ever.
pub(crate) fn eight<S, F>(open: impl AsyncFnOnce(&Path) -> Arc<S>, work: impl Fn(Arc<S>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(&path()).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            tasks.spawn(work(store.clone()));
        }
        tasks.join_all().await;
    });
}

/// Starts the ignored test with this name.
pub(crate) fn start(path: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the child acknowledged, in order, as id and word. Kills it some milliseconds after its first line.
pub(crate) fn kill_while_writing(path: &Path, name: &str) -> Vec<(String, String)> {
    let mut child = start(path, name);
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
    acknowledged.map(|(id, word)| (id.to_owned(), word.to_owned())).collect()
}
