//! The worker processes: started, shared, killed and replaced.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Engine, Reason, SandboxError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{JavaScript, Marked, Python, runtimes, spec, worker_program};

const ENDLESS: &str = "for (;;);";

#[tokio::test]
async fn workers_start_when_needed_and_callers_share_them() {
    let marked = Arc::new(Marked::new(2));
    assert_eq!(marked.pids().len(), 0, "none is started in advance");
    let mut callers = JoinSet::new();
    for n in 0..8 {
        let marked = Arc::clone(&marked);
        callers.spawn(async move { marked.run(JavaScript, &format!("print({n})")).await.stdout });
    }
    let mut printed = callers.join_all().await;
    printed.sort();
    assert_eq!(printed, (0..8).map(|n| format!("{n}\n")).collect::<Vec<_>>());
    assert!(marked.pids().len() <= 2);
}

#[tokio::test]
async fn a_caller_waits_for_a_free_worker() {
    let marked = Marked::new(1);
    let (first, second) = tokio::join!(
        marked.run(Python, "import time; time.sleep(0.2); print(time.monotonic())"),
        marked.run(Python, "import time; print(time.monotonic())"),
    );
    assert!(first.stdout != second.stdout && second.reason == Reason::Ok);
    assert_eq!(marked.pids().len(), 1);
}

#[tokio::test]
async fn a_caller_that_goes_away_kills_its_worker() {
    let marked = Marked::new(1);
    let run = timeout(Duration::from_millis(500), marked.engine.run(spec(JavaScript, ENDLESS)));
    assert!(run.await.is_err(), "it was still running");
    marked.wait_for_workers(0).await;
    assert_eq!(marked.run(JavaScript, "print(1)").await.reason, Reason::Ok);
}

#[tokio::test]
async fn a_worker_killed_from_outside_is_an_error_of_that_run_only() {
    let marked = Marked::new(1);
    let killer = async {
        let pid = marked.wait_for_workers(1).await[0];
        // Time for the program to begin; the result is the same when it has not.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    };
    let (result, ()) = tokio::join!(marked.engine.run(spec(JavaScript, ENDLESS)), killer);
    let error = result.unwrap_err();
    assert!(matches!(error, SandboxError::Engine { engine: "wasm", .. }), "{error}");
    assert!(error.to_string().contains("signal: 9"), "{error}");
    assert_eq!(marked.run(JavaScript, "print(1)").await.reason, Reason::Ok);
}

#[tokio::test]
async fn a_worker_that_died_idle_is_replaced() {
    let marked = Marked::new(1);
    marked.run(JavaScript, "print(1)").await;
    let pid = marked.pids()[0];
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    marked.wait_for_workers(0).await;
    assert_eq!(marked.run(JavaScript, "print(1)").await.reason, Reason::Ok);
}

#[tokio::test]
async fn killing_all_cancels_who_runs_and_who_waits() {
    let marked = Marked::new(1);
    let killer = async {
        marked.wait_for_workers(1).await;
        marked.engine.kill_all().await;
    };
    let run = || marked.engine.run(spec(JavaScript, ENDLESS));
    let (running, waiting, ()) = tokio::join!(run(), run(), killer);
    assert!(matches!(running, Err(SandboxError::Cancelled)));
    assert!(matches!(waiting, Err(SandboxError::Cancelled)));
    marked.wait_for_workers(0).await;
    assert_eq!(marked.run(JavaScript, "print(1)").await.reason, Reason::Ok);
}

#[tokio::test]
async fn dropping_the_engine_leaves_no_process() {
    let marked = Marked::new(2);
    marked.run(JavaScript, "print(1)").await;
    let pid = marked.pids()[0];
    drop(marked);
    for _ in 0..1000 {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if words.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the worker still lives");
}

#[tokio::test]
async fn a_program_that_is_too_large_is_refused() {
    let marked = Marked::new(1);
    let code = " ".repeat(sandbox::MAX_PROGRAM_BYTES + 1);
    let error = marked.engine.run(spec(JavaScript, &code)).await.unwrap_err();
    assert!(matches!(error, SandboxError::Engine { .. }));
    assert_eq!(marked.pids().len(), 0);
}

#[test]
fn a_worker_ends_when_its_gateway_is_gone_even_in_an_endless_loop() {
    let mut worker = Command::new(worker_program())
        .arg(runtimes().path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    let mut send = |message: &str| {
        stdin.write_all(&u32::try_from(message.len()).unwrap().to_le_bytes()).unwrap();
        stdin.write_all(message.as_bytes()).unwrap();
    };
    send(r#"{"load":"javascript"}"#);
    let mut loaded = [0; 12];
    worker.stdout.as_mut().unwrap().read_exact(&mut loaded).unwrap();
    assert_eq!(&loaded, b"\x08\0\0\0\"loaded\"");
    send(
        r#"{"run":{"language":"javascript","code":"for(;;);","stdin":"","memory_bytes":99999999,"timeout_ms":600000,"output_chars":9}}"#,
    );
    drop(stdin);
    for _ in 0..1000 {
        if let Some(status) = worker.try_wait().unwrap() {
            assert!(status.success());
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    worker.kill().unwrap();
    panic!("the worker did not end");
}
