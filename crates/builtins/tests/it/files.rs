//! Reading and writing: pieces, encodings, sizes, and errors that say what to do.

use builtins::WorkspaceLimits;
use serde_json::{Value, json};

use crate::fixture::{Failure, Fixture, ctx, fixture, standard};

async fn read(fixture: &Fixture, input: Value) -> Result<Value, Failure> {
    fixture.call("file_read", &ctx("key-1"), input).await
}

async fn write(fixture: &Fixture, input: Value) -> Result<Value, Failure> {
    fixture.call("file_write", &ctx("key-1"), input).await
}

fn code(answer: Result<Value, Failure>) -> &'static str {
    answer.unwrap_err().0
}

#[tokio::test]
async fn what_is_written_is_read() {
    let fixture = standard();
    let written = write(&fixture, json!({ "path": "./notes/a.txt", "content": "grüße" })).await;
    assert_eq!(written, Ok(json!({ "success": true, "path": "notes/a.txt", "bytesWritten": 7 })));
    let answer = read(&fixture, json!({ "path": "notes/a.txt", "encoding": null, "offset": "" })).await;
    let expected = json!({
        "success": true, "path": "notes/a.txt", "content": "grüße", "bytesRead": 7, "size": 7,
        "encoding": "utf8", "truncated": false
    });
    assert_eq!(answer, Ok(expected));
    write(&fixture, json!({ "path": "empty", "content": "" })).await.unwrap();
    assert_eq!(read(&fixture, json!({ "path": "empty" })).await.unwrap()["size"], 0);
}

#[tokio::test]
async fn a_piece_never_splits_a_character() {
    let fixture = standard();
    fixture.write("a", "aéé").await.unwrap();
    for (offset, length, content, truncated) in [
        (0, 2, "a", true),
        (0, 3, "aé", true),
        (1, 99, "éé", false),
        (3, 2, "é", false),
        (5, 1, "", false),
        (99, 1, "", false),
    ] {
        let answer =
            read(&fixture, json!({ "path": "a", "offset": offset, "length": length })).await.unwrap();
        let told = (answer["content"].as_str().unwrap(), answer["truncated"].as_bool().unwrap());
        assert_eq!(told, (content, truncated), "{offset} {length}");
        assert_eq!(answer["bytesRead"], content.len());
    }
    assert_eq!(code(read(&fixture, json!({ "path": "a", "offset": 1, "length": 1 })).await), "too_short");
    assert_eq!(code(read(&fixture, json!({ "path": "a", "offset": 2 })).await), "not_utf8");
}

#[tokio::test]
async fn bytes_that_are_not_text_need_base64() {
    let fixture = standard();
    let input = json!({ "path": "b", "content": "//4A", "encoding": "base64" });
    assert_eq!(write(&fixture, input).await.unwrap()["bytesWritten"], 3);
    let (code_, message) = read(&fixture, json!({ "path": "b" })).await.unwrap_err();
    assert_eq!(code_, "not_utf8");
    assert!(message.contains("base64"), "{message}");
    let answer = read(&fixture, json!({ "path": "b", "encoding": "base64", "offset": 1 })).await.unwrap();
    assert_eq!((answer["content"].as_str(), answer["bytesRead"].as_u64()), (Some("/gA="), Some(2)));
    let bad = json!({ "path": "b", "content": "not base64!", "encoding": "base64" });
    assert_eq!(code(write(&fixture, bad).await), "not_base64");
}

#[tokio::test]
async fn append_and_overwrite() {
    let fixture = standard();
    for _ in 0..2 {
        write(&fixture, json!({ "path": "log", "content": "x", "append": true })).await.unwrap();
    }
    assert_eq!(fixture.read("log").await.unwrap()["content"], "xx");
    let kept = json!({ "path": "log", "content": "y", "overwrite": false });
    assert_eq!(code(write(&fixture, kept).await), "exists");
    fixture.write("log", "y").await.unwrap();
    assert_eq!(fixture.read("log").await.unwrap()["content"], "y");
    let fresh = json!({ "path": "new", "content": "z", "overwrite": false });
    write(&fixture, fresh).await.unwrap();
}

#[tokio::test]
async fn sizes_are_counted_before_the_write() {
    let fixture = fixture(WorkspaceLimits { file_bytes: 10, ..WorkspaceLimits::default() }, None);
    fixture.write("a", "0123456789").await.unwrap();
    let (code_, message) = fixture.write("a", "01234567890").await.unwrap_err();
    assert_eq!(code_, "too_large");
    assert!(message.contains("11") && message.contains("10"), "{message}");
    assert_eq!(
        code(write(&fixture, json!({ "path": "a", "content": "x", "append": true })).await),
        "too_large"
    );
    assert_eq!(fixture.read("a").await.unwrap()["content"], "0123456789");
    // Put there by somebody else: read in pieces.
    std::fs::write(fixture.workspace().await.join("big"), "0123456789abc").unwrap();
    let answer = fixture.read("big").await.unwrap();
    assert_eq!((answer["content"].as_str(), answer["truncated"].as_bool()), (Some("0123456789"), Some(true)));
}

#[tokio::test]
async fn what_is_no_file_is_explained() {
    let fixture = standard();
    assert_eq!(code(fixture.read("before/anything").await), "not_found");
    fixture.write("folder/file", "x").await.unwrap();
    for (answer, expected) in [
        (fixture.read("nobody").await, "not_found"),
        (fixture.read("no/body").await, "not_found"),
        (fixture.read("folder").await, "is_folder"),
        (fixture.write("folder", "x").await, "is_folder"),
        (fixture.read("folder/file/x").await, "path_refused"),
        (fixture.write("folder/file/x", "x").await, "path_refused"),
        (fixture.write("../x", "x").await, "path_refused"),
        (fixture.write(".omni-tmp-1", "x").await, "path_refused"),
    ] {
        assert_eq!(code(answer), expected);
    }
}

#[tokio::test]
async fn errors_and_outputs_never_tell_where_files_are() {
    let fixture = standard();
    let workspace = fixture.workspace().await;
    let folder = workspace.file_name().unwrap().to_str().unwrap();
    let answers = [fixture.read("first").await, fixture.read("first/x").await, fixture.read("nobody").await];
    let told = format!("{answers:?}");
    for secret in [folder, "key-1", fixture.data.path().to_str().unwrap()] {
        assert!(!told.contains(secret), "{told}");
    }
}
