//! How many executions a second can be recorded: create, start and finish, 64 callers at once.

#![expect(clippy::unwrap_used, reason = "a failure ends the measurement")]

use std::hint::black_box;

use divan::counter::ItemsCount;
use store::Store as _;
use store_sql::SqliteStore;
use testkit::store_contract::sample;

const CALLERS: usize = 64;
const EACH: usize = 100;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn record(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = SqliteStore::open(&folder.path().join("bench.db")).unwrap();
    let callers = || {
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let store = store.clone();
                runtime.spawn(async move {
                    for _ in 0..EACH {
                        let execution = sample::execution();
                        store.create_execution(&execution).await.unwrap();
                        store.start_execution(&execution.id).await.unwrap();
                        store.finish_execution(&execution.id, sample::outcome()).await.unwrap();
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    };
    bencher.counter(ItemsCount::new(CALLERS * EACH)).bench_local(callers);
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn key_by_hash(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = SqliteStore::open(&folder.path().join("bench.db")).unwrap();
    runtime.block_on(store.create_key(sample::key("aa"))).unwrap();
    bencher.counter(ItemsCount::new(1_000_usize)).bench_local(|| {
        runtime.block_on(async {
            for _ in 0..1_000 {
                black_box(store.key_by_hash("aa").await.unwrap());
            }
        });
    });
}
