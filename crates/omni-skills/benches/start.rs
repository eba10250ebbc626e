//! How soon a gateway answers after its start, what it holds when idle, and what a reload costs; with no skill of its
//! own and with 10,000.
//!
//! Starts the built binary on a fresh data folder. Never asserts a time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::allow_attributes,
    reason = "a benchmark stops at the first surprise"
)]

mod process;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::gateway::Gateway;

/// Starts and reloads of each row.
const TIMES: usize = 15;
/// Skills of the larger registry.
const SKILLS: u32 = 10_000;

fn main() {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut gateway = Gateway::start(Path::new(env!("CARGO_BIN_EXE_omni-skills")), "");
    rows("built-ins alone", &client, &mut gateway).await;
    install_one(&client, &gateway).await;
    gateway.kill();
    multiply(&gateway.data_dir().join("omni-skills.db"));
    gateway.restart();
    rows("10,000 skills", &client, &mut gateway).await;
}

async fn rows(label: &str, client: &reqwest::Client, gateway: &mut Gateway) {
    let mut starts = Vec::new();
    for _ in 0..TIMES {
        gateway.kill();
        let start = Instant::now();
        gateway.restart();
        let answer = client.get(format!("{}/readyz", gateway.base)).send().await.unwrap();
        assert!(answer.status().is_success());
        starts.push(start.elapsed());
    }
    show(label, "start to first healthy answer", starts);
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("{label:16} resident memory, idle        {} KiB", process::resident(gateway));
    let mut reloads = Vec::new();
    for _ in 0..TIMES {
        let request = client.post(format!("{}/api/skills/cache/invalidate", gateway.base));
        let start = Instant::now();
        let answer = request.bearer_auth(&gateway.token).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        reloads.push(start.elapsed());
    }
    show(label, "reload of the registry", reloads);
}

fn show(label: &str, what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!("{label:16} {what:30} p50 {:>9.1?}  p95 {:>9.1?}", at(50), at(95));
}

async fn install_one(client: &reqwest::Client, gateway: &Gateway) {
    let schema = json!({"input": {"type": "object", "properties": {"text": {"type": "string"}}}});
    let body = json!({"name": "bench-echo", "description": "Echo", "schema": schema,
        "handlerCode": "echo-handler", "mode": "auto", "tags": ["bench"]});
    let request = client.post(format!("{}/api/skills/install", gateway.base)).bearer_auth(&gateway.token);
    let request = request.header("content-type", "application/json").body(body.to_string());
    assert!(request.send().await.unwrap().status().is_success());
}

/// Copies the one skill under 10,000 names, in the database of a gateway that does not run.
fn multiply(database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let select = "SELECT group_concat(name) FROM pragma_table_info('skills') WHERE name NOT IN ('id', 'name', 'description')";
    let columns: String = connection.query_row(select, [], |row| row.get(0)).unwrap();
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SKILLS})
         INSERT INTO skills (id, name, description, {columns})
         SELECT printf('bench-%08d', i), printf('tool-%d-%d', i % 97, i),
             printf('Handles word%d and other%d of kind%d, as twenty words of a description would', i % 5000, i, i % 13), {columns}
         FROM n, skills WHERE skills.name = 'bench-echo'"
    );
    connection.execute(&sql, []).unwrap();
}
