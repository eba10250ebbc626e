//! `PostgreSQL`: how many executions a second can be recorded, and how long a page of the history takes among a million
//! rows (`HISTORY_ROWS` says how many). On the server that `OMNI_SKILLS_TEST_POSTGRES` names; without it nothing is
//! measured.

#![expect(clippy::unwrap_used, reason = "a failure ends the measurement")]

mod filters;

use std::hint::black_box;
use std::sync::{Arc, OnceLock};

use divan::counter::ItemsCount;
use filters::{FILTERS, filter};
use store::{ExecutionFilter, PageRequest, Store as _};
use store_sql::PostgresStore;
use testkit::postgres::Schema;
use testkit::store_contract::sample;
use tokio::runtime::Runtime;

const CALLERS: usize = 64;
const EACH: usize = 50;

/// As in the benchmark of the other database: ten keys, of which one has half of all, and a hundred skills; one row in
/// twenty is no success, one in a thousand waited for a person.
const FILL: &str = r#"
    INSERT INTO skill_executions (id, skill_id, skill_name, version, api_key_id, session_id, turn_id, door, status,
            duration_ms, attempts, created_at, created_ns, input, output, parts, bytes)
        SELECT '01a00000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'), 'skill-' || (h / 1000 % 100),
            'name-' || (h / 1000 % 100), '1.0.0', CASE h % 2 WHEN 0 THEN 'key-0' ELSE 'key-' || (h / 2 % 10) END,
            'session-' || (n / 50), 'turn-' || (n / 5), CASE h / 7 % 3 WHEN 0 THEN 'rest' ELSE 'loop' END,
            CASE h / 11 % 20 WHEN 0 THEN CASE h / 3 % 2 WHEN 0 THEN 'error' ELSE 'timeout' END ELSE 'success' END, 12, 1,
            to_char(to_timestamp(1767225600 + n) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
            (1767225600 + n) * 1000000000, '{"text":"' || repeat(md5(n::text), 6) || '"}',
            '{"text":"' || repeat(md5(h::text), 9) || '"}', '[]', 510
        FROM (SELECT n, n * 2654435761 % 4294967296 / 16 AS h FROM generate_series(1::bigint, $1) AS n) AS numbers
"#;

const APPROVALS: &str = "
    INSERT INTO approvals (execution_id, call, state, expires_ns, approval)
        SELECT id, id, state, 0, json_build_object('state', state, 'expiresAt', created_at)
        FROM (SELECT id, created_at, CASE created_ns / 1000000000 % 10000 WHEN 0 THEN 'waiting' ELSE 'approved' END AS state
            FROM skill_executions WHERE created_ns / 1000000000 % 1000 = 0) AS asked
";

struct Bench {
    schema: Schema,
    runtime: Runtime,
    store: Arc<PostgresStore>,
    rows: u32,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if let Some(schema) = runtime.block_on(Schema::new()) {
        let rows = std::env::var("HISTORY_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
        let store = runtime.block_on(PostgresStore::open(&schema.url())).unwrap();
        BENCH.set(Bench { schema, runtime, store, rows }).ok().unwrap();
        divan::main();
        bench().runtime.block_on(async {
            let drop = format!("DROP SCHEMA {} CASCADE", bench().schema.name);
            bench().schema.client().await.batch_execute(&drop).await.unwrap();
        });
    }
}

static BENCH: OnceLock<Bench> = OnceLock::new();

fn bench() -> &'static Bench {
    BENCH.get().unwrap()
}

/// A million rows, made once.
fn history() -> &'static Bench {
    static FILLED: OnceLock<()> = OnceLock::new();
    FILLED.get_or_init(|| {
        bench().runtime.block_on(async {
            let client = bench().schema.client().await;
            client.batch_execute("TRUNCATE skill_executions; SET synchronous_commit = off").await.unwrap();
            client.execute(FILL, &[&i64::from(bench().rows)]).await.unwrap();
            client.execute(APPROVALS, &[]).await.unwrap();
            // What the server does by itself after a while.
            client.batch_execute("VACUUM ANALYZE skill_executions").await.unwrap();
            client.batch_execute("VACUUM ANALYZE approvals").await.unwrap();
        });
    });
    bench()
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn record(bencher: divan::Bencher<'_, '_>) {
    let bench = bench();
    let callers = || {
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                bench.runtime.spawn(async move {
                    for _ in 0..EACH {
                        let execution = sample::execution();
                        bench.store.create_execution(&execution).await.unwrap();
                        bench.store.start_execution(&execution.id).await.unwrap();
                        bench.store.finish_execution(&execution.id, sample::outcome()).await.unwrap();
                    }
                })
            })
            .collect();
        bench.runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    };
    bencher.counter(ItemsCount::new(CALLERS * EACH)).bench_local(callers);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn key_by_hash(bencher: divan::Bencher<'_, '_>) {
    let bench = bench();
    // There already in a second round.
    bench.runtime.block_on(bench.store.create_key(sample::key("aa"))).ok();
    bencher.counter(ItemsCount::new(1_000_usize)).bench_local(|| {
        bench.runtime.block_on(async {
            for _ in 0..1_000 {
                black_box(bench.store.key_by_hash("aa").await.unwrap());
            }
        });
    });
}

#[divan::bench(args = FILTERS, sample_count = 50, sample_size = 1)]
fn page(bencher: divan::Bencher<'_, '_>, name: &str) {
    let bench = history();
    let (filter, page) = (filter(name, bench.rows), PageRequest { page: 1, limit: 50 });
    let read = || bench.runtime.block_on(bench.store.executions(&filter, page)).unwrap();
    assert!(!read().data.is_empty(), "{name} finds something");
    bencher.bench_local(|| black_box(read()));
}

/// The very first look of a process, which counts.
#[divan::bench(args = FILTERS, sample_count = 3, sample_size = 1)]
fn first(bencher: divan::Bencher<'_, '_>, name: &str) {
    let bench = history();
    let (filter, page) = (filter(name, bench.rows), PageRequest { page: 1, limit: 50 });
    let open = || bench.runtime.block_on(PostgresStore::open(&bench.schema.url())).unwrap();
    bencher.with_inputs(open).bench_local_values(|store| {
        black_box(bench.runtime.block_on(store.executions(&filter, page)).unwrap())
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn page_1000(bencher: divan::Bencher<'_, '_>) {
    let bench = history();
    let page = PageRequest { page: 1_000, limit: 50 };
    let filter = ExecutionFilter::default();
    bencher.bench_local(|| black_box(bench.runtime.block_on(bench.store.executions(&filter, page)).unwrap()));
}
