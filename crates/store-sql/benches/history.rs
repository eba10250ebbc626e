//! How long a page of the history takes, for each filter, among a million rows (`HISTORY_ROWS` says how many).
//!
//! `page`: as a reader sees it who has looked a moment ago, so that a large total is remembered. `first`: the very
//! first look of a process, which counts.

#![expect(clippy::unwrap_used, reason = "a failure ends the measurement")]

mod filters;

use std::hint::black_box;
use std::sync::{Arc, OnceLock};

use filters::{FILTERS, filter};
use rusqlite::Connection;
use store::{ExecutionFilter, PageRequest, Store as _};
use store_sql::SqliteStore;
use tokio::runtime::Runtime;

/// Rows of ten keys, of which one has half of all, and a hundred skills; one row in twenty is no success, one in a
/// thousand waited for a person.
const FILL: &str = r#"
    WITH RECURSIVE n (n, h) AS
        (SELECT 1, 1 UNION ALL SELECT n + 1, (n + 1) * 2654435761 % 4294967296 / 16 FROM n WHERE n < ?1)
    INSERT INTO skill_executions (id, skill_id, skill_name, version, api_key_id, session_id, turn_id, door, status,
            duration_ms, attempts, created_at, created_ns, input, output, parts)
        SELECT printf('01a00000-0000-7000-8000-%012x', n), 'skill-' || (h / 1000 % 100), 'name-' || (h / 1000 % 100),
            '1.0.0', iif(h % 2 = 0, 'key-0', 'key-' || (h / 2 % 10)), 'session-' || (n / 50), 'turn-' || (n / 5),
            iif(h / 7 % 3 = 0, 'rest', 'loop'),
            CASE h / 11 % 20 WHEN 0 THEN iif(h / 3 % 2 = 0, 'error', 'timeout') ELSE 'success' END, 12, 1,
            strftime('%Y-%m-%dT%H:%M:%SZ', 1767225600 + n, 'unixepoch'), (1767225600 + n) * 1000000000,
            '{"text":"' || hex(randomblob(100)) || '"}', '{"text":"' || hex(randomblob(150)) || '"}', '[]'
        FROM n;
"#;

const APPROVALS: &str = "
    INSERT INTO approvals (execution_id, call, state, expires_ns, asked_ns, approval)
        SELECT id, id, iif(rowid % 10000 = 0, 'waiting', 'approved'), 0, created_ns,
            json_object('state', iif(rowid % 10000 = 0, 'waiting', 'approved'), 'expiresAt', created_at)
        FROM skill_executions WHERE rowid % 1000 = 0;
";

struct Bench {
    folder: tempfile::TempDir,
    runtime: Runtime,
    store: Arc<SqliteStore>,
    rows: u32,
}

fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let rows = std::env::var("HISTORY_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.db");
        drop(SqliteStore::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        connection.execute(FILL, [rows]).unwrap();
        connection.execute(APPROVALS, []).unwrap();
        // What the program does when it ends.
        connection.execute_batch("PRAGMA optimize").unwrap();
        drop(connection);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let store = SqliteStore::open(&path).unwrap();
        Bench { folder, runtime, store, rows }
    })
}

fn main() {
    bench();
    divan::main();
    // A static is never dropped, and the folder would stay.
    std::fs::remove_dir_all(bench().folder.path()).unwrap();
}

#[divan::bench(args = FILTERS, sample_count = 100, sample_size = 1)]
fn page(bencher: divan::Bencher<'_, '_>, name: &str) {
    let (bench, filter) = (bench(), filter(name, bench().rows));
    let page = PageRequest { page: 1, limit: 50 };
    let read = || bench.runtime.block_on(bench.store.executions(&filter, page)).unwrap();
    assert!(!read().data.is_empty(), "{name} finds something");
    bencher.bench_local(|| black_box(read()));
}

#[divan::bench(args = FILTERS, sample_count = 5, sample_size = 1)]
fn first(bencher: divan::Bencher<'_, '_>, name: &str) {
    let (bench, filter) = (bench(), filter(name, bench().rows));
    let page = PageRequest { page: 1, limit: 50 };
    bencher
        .with_inputs(|| SqliteStore::open(&bench.folder.path().join("history.db")).unwrap())
        .bench_local_values(|store| {
            black_box(bench.runtime.block_on(store.executions(&filter, page)).unwrap())
        });
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn page_1000(bencher: divan::Bencher<'_, '_>) {
    let bench = bench();
    let page = PageRequest { page: 1_000, limit: 50 };
    let filter = ExecutionFilter::default();
    bencher.bench_local(|| black_box(bench.runtime.block_on(bench.store.executions(&filter, page)).unwrap()));
}
