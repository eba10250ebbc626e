//! What a gateway does beside answering.

use std::sync::Arc;

use domain::Status;
use serde_json::json;
use store::ExecutionFilter;

use crate::harness::Gateway;

#[tokio::test]
async fn the_history_is_cut_by_the_settings_of_the_moment() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({})).await.ok();
    for _ in 0..5 {
        let body = json!({"skillName": "echo", "input": {"text": "x"}});
        gateway.manage("POST", "/api/skills/executions", Some(body)).await.ok();
    }
    let count =
        || async { gateway.manage("GET", "/api/skills/executions", None).await.ok()["total"].clone() };
    server::upkeep::tidy(&gateway.app).await.unwrap();
    assert_eq!(count().await, 5, "nothing is too old or too much by default");
    gateway.manage("PATCH", "/api/settings", Some(json!({"retention": {"executions": 2}}))).await.ok();
    server::upkeep::tidy(&gateway.app).await.unwrap();
    let rows = gateway.app.executor.count_executions(&ExecutionFilter::default()).await.unwrap();
    assert_eq!(rows, 2);
}

#[tokio::test]
async fn a_write_of_another_process_is_taken_up_by_itself() {
    let gateway = Gateway::start().await;
    let (_, secret) = gateway.key("k", &["read:skills"]).await;
    tokio::spawn(server::upkeep::follow(Arc::clone(&gateway.app)));
    let path = gateway.folder().join("test.db");
    let other: Arc<dyn store::Database> = store_sql::SqliteStore::open(&path).unwrap();
    let ask = "/api/skills/resolve?name=file_write";
    gateway.call(&secret, "GET", ask, None).await.ok();
    let key = other.keys().await.unwrap().remove(0);
    let revoked = store::KeyUpdate { revoked: Some(true), ..store::KeyUpdate::default() };
    other.update_key(&key.id, revoked).await.unwrap();
    other.set_value("skills_enabled", "false").await.unwrap();
    let start = std::time::Instant::now();
    while gateway.call(&secret, "GET", ask, None).await.status == 200 || gateway.app.executor.is_enabled() {
        assert!(start.elapsed() < std::time::Duration::from_secs(20));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn rows_of_a_dead_process_are_closed_and_those_of_a_living_one_are_not() {
    let gateway = Gateway::start().await;
    gateway.install("echo", json!({})).await.ok();
    let body = json!({"skillName": "echo", "input": {"text": "x"}});
    let ran = gateway.manage("POST", "/api/skills/executions", Some(body)).await.ok();
    let mut row: domain::Execution = serde_json::from_value(ran["execution"].clone()).unwrap();
    row.status = Status::Pending;
    let path = gateway.folder().join("test.db");
    let mut ids = Vec::new();
    let [dead, living] = [0, 1].map(|_| store_sql::SqliteStore::open(&path).unwrap());
    for process in [&dead, &living] {
        let process: &dyn store::Database = process.as_ref();
        server::upkeep::join(process).await.unwrap();
        row.id = domain::ids::new_id();
        process.create_execution(&row).await.unwrap();
        assert!(process.start_execution(&row.id).await.unwrap());
        ids.push(row.id.clone());
    }
    drop(dead);
    let start = std::time::Instant::now();
    loop {
        server::upkeep::join(gateway.app.store.as_ref()).await.unwrap();
        let first = gateway.app.executor.get_execution(&ids[0]).await.unwrap().unwrap();
        let second = gateway.app.executor.get_execution(&ids[1]).await.unwrap().unwrap();
        assert_eq!(second.status, Status::Running);
        if first.status == Status::Error {
            break assert_eq!(first.error_message.as_deref(), Some("interrupted"));
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(20));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
