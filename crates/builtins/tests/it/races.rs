//! Many at once, and a folder that is swapped for a link while others work in it.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::fixture::{ctx, standard};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_parallel_writes_tear_nothing() {
    let fixture = Arc::new(standard());
    fixture.write("shared", &"a".repeat(4_096)).await.unwrap();
    let mut tasks = Vec::new();
    for turn in 0..1_000_u32 {
        let fixture = Arc::clone(&fixture);
        tasks.push(tokio::spawn(async move {
            let letter = char::from(b'a' + u8::try_from(turn % 26).unwrap());
            fixture.write("shared", &letter.to_string().repeat(4_096)).await.unwrap();
            let answer = fixture.read("shared").await.unwrap();
            let content = answer["content"].as_str().unwrap();
            let first = content.chars().next().unwrap();
            assert!(content.len() == 4_096 && content.chars().all(|c| c == first), "torn");
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let left = std::fs::read_dir(fixture.workspace().await).unwrap().count();
    assert_eq!(left, 2, "the shared file and the fixture's own; nothing temporary");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_appends_lose_nothing() {
    let fixture = Arc::new(standard());
    let mut tasks = Vec::new();
    for _ in 0..100 {
        let fixture = Arc::clone(&fixture);
        tasks.push(tokio::spawn(async move {
            let input = json!({ "path": "log", "content": "line\n", "append": true });
            fixture.call("file_write", &ctx("key-1"), input).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fixture.read("log").await.unwrap()["size"], 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_swapped_for_a_link_wins_nothing() {
    let fixture = Arc::new(standard());
    let workspace = fixture.workspace().await;
    fixture.write("swap/x", "inside").await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x"), "canary").unwrap();

    let done = Arc::new(AtomicBool::new(false));
    let flipper = {
        let (done, outside) = (Arc::clone(&done), outside.path().to_owned());
        std::thread::spawn(move || {
            let (swap, away) = (workspace.join("swap"), workspace.join("away"));
            for _ in 0..2_000 {
                if std::fs::rename(&swap, &away).is_err() {
                    continue;
                }
                // A writer may have made the folder anew in between.
                if symlink(&outside, &swap).is_ok() {
                    std::thread::yield_now();
                    std::fs::remove_file(&swap).unwrap();
                }
                std::fs::remove_dir_all(&swap).ok();
                std::fs::rename(&away, &swap).ok();
            }
            done.store(true, Ordering::Relaxed);
        })
    };
    let (mut read, mut refused) = (0_u32, 0_u32);
    while !done.load(Ordering::Relaxed) {
        match fixture.read("swap/x").await {
            Ok(answer) => {
                assert_eq!(answer["content"], "inside");
                read += 1;
            }
            Err(_) => refused += 1,
        }
        drop(fixture.write("swap/x", "inside").await);
    }
    flipper.join().unwrap();
    assert!(read > 0 && refused > 0, "both sides were seen: {read} {refused}");
    assert_eq!(std::fs::read_to_string(outside.path().join("x")).unwrap(), "canary");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}
