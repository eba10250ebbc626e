//! Whose files: nobody reads another's.

use domain::ids::new_id;
use executor::RunContext;
use serde_json::json;

use crate::fixture::{Fixture, ctx, standard};

fn anonymous(session: Option<&str>, turn: Option<&str>) -> RunContext {
    RunContext { session_id: session.map(Into::into), turn_id: turn.map(Into::into), ..ctx("anonymous") }
}

fn of_user(user: &str) -> RunContext {
    RunContext { user: Some(user.into()), ..ctx("key-1") }
}

/// Which of the callers read back what the first one wrote.
async fn readers(fixture: &Fixture, writer: &RunContext, callers: &[RunContext]) -> Vec<bool> {
    let path = format!("file-{}", new_id());
    fixture.call("file_write", writer, json!({ "path": path, "content": "mine" })).await.unwrap();
    let mut read = Vec::new();
    for caller in callers {
        read.push(fixture.call("file_read", caller, json!({ "path": path })).await.is_ok());
    }
    read
}

#[tokio::test]
async fn a_key_has_its_own_files_in_every_session() {
    let fixture = standard();
    let elsewhere = RunContext { session_id: Some("other".into()), ..ctx("key-1") };
    let callers = [ctx("key-1"), elsewhere, ctx("key-2"), ctx("management"), of_user("ann")];
    assert_eq!(readers(&fixture, &ctx("key-1"), &callers).await, [true, true, false, false, false]);
}

#[tokio::test]
async fn a_user_has_a_folder_of_its_own() {
    let fixture = standard();
    let callers = [of_user("ann"), of_user("bob"), ctx("key-1"), of_user("")];
    assert_eq!(readers(&fixture, &of_user("ann"), &callers).await, [true, false, false, false]);
    // It lies inside the key's workspace, and no path leads there.
    let users = fixture.workspace().await.join(".omniroute/users");
    let folder = std::fs::read_dir(users).unwrap().next().unwrap().unwrap().file_name();
    let inside = format!(".omniroute/users/{}/x", folder.to_str().unwrap());
    assert_eq!(fixture.read(&inside).await.unwrap_err().0, "path_refused");
}

#[tokio::test]
async fn strangers_share_nothing() {
    let fixture = standard();
    let a = anonymous(Some("a"), Some("turn-1"));
    let callers = [anonymous(Some("a"), Some("turn-2")), anonymous(Some("b"), Some("turn-1"))];
    assert_eq!(readers(&fixture, &a, &callers).await, [true, false]);
    let nameless = RunContext { session_id: Some("a".into()), ..ctx("") };
    assert_eq!(readers(&fixture, &a, &[nameless]).await, [true], "no key at all is the same as anonymous");

    let turn = anonymous(None, Some("turn-1"));
    let callers = [turn.clone(), anonymous(None, Some("turn-2")), anonymous(Some("turn-1"), None)];
    assert_eq!(readers(&fixture, &turn, &callers).await, [true, false, false]);

    let nobody =
        fixture.call("file_write", &anonymous(None, None), json!({ "path": "a", "content": "" })).await;
    assert_eq!(nobody.unwrap_err().0, "no_workspace");
}

#[tokio::test]
async fn a_workspace_folder_swapped_for_a_link_is_not_entered() {
    let fixture = standard();
    let workspace = fixture.workspace().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("first"), "canary").unwrap();
    std::fs::rename(&workspace, workspace.with_extension("away")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &workspace).unwrap();
    assert!(fixture.read("first").await.is_err());
    assert!(fixture.write("made", "x").await.is_err());
    assert!(!outside.path().join("made").exists());
}
