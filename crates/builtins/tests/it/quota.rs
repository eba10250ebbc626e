//! How much a workspace may hold, users together, and that what was removed is free again.

use builtins::WorkspaceLimits;
use executor::RunContext;
use serde_json::json;

use crate::fixture::{ctx, fixture};

#[tokio::test]
async fn bytes_of_all_users_together_are_bounded() {
    let fixture = fixture(WorkspaceLimits { total_bytes: 20, ..WorkspaceLimits::default() }, None);
    let ann = RunContext { user: Some("ann".into()), ..ctx("key-1") };
    let of_ann = json!({ "path": "a", "content": "0123456789" });
    fixture.call("file_write", &ann, of_ann.clone()).await.unwrap();
    fixture.write("b", "0123456789").await.unwrap();
    let (code, message) = fixture.write("c", "x").await.unwrap_err();
    assert_eq!(code, "quota");
    assert!(message.contains("20 bytes"), "{message}");
    fixture.write("b", "9876543210").await.unwrap();
    fixture.write("b", "98765").await.unwrap();
    fixture.write("c", "43210").await.unwrap();
    assert_eq!(fixture.write("c", "432101").await.unwrap_err().0, "quota");
    fixture.call("file_write", &ctx("key-2"), of_ann).await.unwrap();
}

#[tokio::test]
async fn files_and_folders_are_bounded_and_counted_from_the_disk() {
    let fixture = fixture(WorkspaceLimits { entries: 4, ..WorkspaceLimits::default() }, None);
    let workspace = fixture.workspace().await;
    fixture.write("folder/a", "").await.unwrap();
    assert_eq!(fixture.write("f/g/h", "").await.unwrap_err().0, "quota", "needs three, has one");
    fixture.write("b", "").await.unwrap();
    let (code, message) = fixture.write("c", "").await.unwrap_err();
    assert_eq!(code, "quota");
    assert!(message.contains("4 files and folders"), "{message}");
    assert!(!workspace.join("f").exists(), "nothing is made of what does not fit");
    fixture.write("b", "in place").await.unwrap();
    std::fs::remove_file(workspace.join("b")).unwrap();
    fixture.write("c", "").await.unwrap();
}

#[tokio::test]
async fn what_a_crash_left_behind_is_swept_up() {
    let fixture = fixture(WorkspaceLimits { entries: 2, ..WorkspaceLimits::default() }, None);
    let workspace = fixture.workspace().await;
    for (name, age_s) in [(".omni-tmp-old", 7_200), (".omni-tmp-new", 60)] {
        let file = std::fs::File::create(workspace.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age_s)).unwrap();
    }
    fixture.write("a", "").await.unwrap();
    assert_eq!(fixture.write("b", "").await.unwrap_err().0, "quota");
    assert!(!workspace.join(".omni-tmp-old").exists());
    assert!(workspace.join(".omni-tmp-new").exists());
}
