//! The table of paths, row by row: text against the policy, file system rows against real set-ups.

use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use builtins::SafePath;
use proptest::prelude::*;

use crate::fixture::standard;

struct Row {
    path: String,
    must_reject: bool,
    reason: String,
}

fn rows() -> Vec<Row> {
    let table = include_str!("../vectors/paths.tsv");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let path = serde_json::from_str(cells[0]).unwrap();
        Row { path, must_reject: cells[1] == "y", reason: cells[2].to_owned() }
    };
    table.lines().skip(1).map(row).collect()
}

#[test]
fn every_row_about_text_is_decided_as_the_table_says() {
    let (text, file_system): (Vec<Row>, Vec<Row>) =
        rows().into_iter().partition(|row| !row.reason.starts_with("filesystem"));
    assert!(text.len() > 140 && file_system.len() == 12, "{} {}", text.len(), file_system.len());
    for row in text {
        let answer = SafePath::parse(&row.path);
        assert_eq!(answer.is_err(), row.must_reject, "{:?} ({}): {answer:?}", row.path, row.reason);
    }
}

#[test]
fn more_paths_of_the_fault_list() {
    for bad in [
        "/dev/stdin",
        ".ENV",
        "x/.ssh/id",
        ".env::$DATA",
        "..%2f..%2fx",
        "gi7eba~1",
        "a\u{2044}b",
        "${HOME}/x",
    ] {
        assert!(SafePath::parse(bad).is_err(), "{bad}");
    }
    for good in ["notes.env", "caf%C3%A9.txt", "a~1.txt", "👩‍👩‍👧.png", "a/b.c/d", "com10"] {
        assert!(SafePath::parse(good).is_ok(), "{good}");
    }
    let composed = SafePath::parse("./a/bu\u{308}cher.txt").unwrap();
    assert_eq!((composed.to_string().as_str(), composed.name()), ("a/b\u{fc}cher.txt", "b\u{fc}cher.txt"));
}

#[tokio::test]
async fn every_row_about_the_file_system_is_refused_for_reading_and_writing() {
    let fixture = standard();
    let workspace = fixture.workspace().await;
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::create_dir(&canary).unwrap();
    for name in ["passwd", "x", "self"] {
        std::fs::write(canary.join(name), "canary").unwrap();
    }
    // Where the table names a system folder, the canary stands for it.
    for link in ["link_out", "link_rel", "swap", "proc_link"] {
        symlink(&canary, workspace.join(link)).unwrap();
    }
    std::fs::write(workspace.join(".env"), "canary").unwrap();
    symlink(".env", workspace.join("link_env")).unwrap();
    std::fs::hard_link(canary.join("passwd"), workspace.join("hard_out")).unwrap();
    symlink(canary.join("made"), workspace.join("dangling")).unwrap();
    std::fs::write(workspace.join("dir_is_file"), "canary").unwrap();
    std::fs::create_dir(workspace.join("sub")).unwrap();
    std::fs::write(workspace.join("sub/x"), "canary").unwrap();
    symlink("sub", workspace.join("link_in")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(workspace.join("sock")).unwrap();
    let folder = std::fs::File::open(&workspace).unwrap();
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(&folder, "fifo", rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let null = rustix::fs::makedev(1, 3);
    if rustix::fs::mknodat(&folder, "dev_null", rustix::fs::FileType::CharacterDevice, mode, null).is_err() {
        eprintln!("no right to make a device: the row dev_null is walked with a FIFO instead");
        rustix::fs::mknodat(&folder, "dev_null", rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    let before = std::fs::read_dir(&canary).unwrap().count();
    for row in rows().into_iter().filter(|row| row.reason.starts_with("filesystem")) {
        assert!(row.must_reject);
        for answer in [fixture.read(&row.path).await, fixture.write(&row.path, "written").await] {
            let (code, message) = answer.unwrap_err();
            assert_eq!(code, "path_refused", "{}: {message}", row.path);
            assert!(!message.contains('/'), "{}: {message}", row.path);
        }
    }
    assert_eq!(std::fs::read_dir(&canary).unwrap().count(), before, "nothing was made outside");
    assert_eq!(std::fs::read_to_string(canary.join("passwd")).unwrap(), "canary");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_accepted_path_leaves(path in r"([./\\~%$]|%2e|%2F|%25|\.\.|[a-c]|[．／‥\u{200b}\u{ad} :;\x00]|.){0,12}") {
        let Ok(safe) = SafePath::parse(&path) else { return Ok(()) };
        let text = safe.to_string();
        let plain = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_)));
        prop_assert!(plain && !text.is_empty(), "{text:?}");
        prop_assert_eq!(SafePath::parse(&text), Ok(safe.clone()), "it means itself");
        prop_assert_eq!(Path::new(&text).components().count(), safe.folders().len() + 1);
    }
}
