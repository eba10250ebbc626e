//! Golden turns: `fixtures/<dialect>/<case>/` holds what comes in, and the snapshots of what must come out.
//!
//! In: `request.json`, `round-N.json`, `round-N.sse`. Out: `injected`, `next-N.{json,sse}` (the body of round N+1),
//! `answer.{json,sse}`. To look at a change: `INSTA_UPDATE=always` and the diff.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use dialects::{Ask, ClientRequest, Ending};
use serde_json::json;

use crate::support::{dialect, owned, results, run_cut, target, tool};

const OURS: [&str; 2] = ["file_read__1_0_0", "broken_tool__1_0_0"];

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn rounds(case: &Path, kind: &str) -> Vec<Vec<u8>> {
    (1..).map_while(|n| fs::read(case.join(format!("round-{n}.{kind}"))).ok()).collect()
}

fn snapshot(case: &Path, name: &str, bytes: &[u8]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(case);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, std::str::from_utf8(bytes).unwrap()));
}

fn ending(stream: bool) -> Ending {
    Ending { omni: stream.then(|| json!({"turnId": "t", "rounds": 2})), input_usage_of_last_round: false }
}

/// The whole turn: injection, rounds with their follow-up requests, the answer.
fn check(dialect_name: &str, case: &Path, kind: &str) -> ClientRequest {
    let dialect = dialect(dialect_name);
    let target = target(dialect_name, kind == "sse");
    let mut request =
        dialect.read_request(&target, fs::read(case.join("request.json")).unwrap().into()).unwrap();
    request.stream = kind == "sse";
    let mut body: Bytes = dialect.inject(&request, &OURS.map(tool));
    snapshot(case, "injected", &body);

    let ours = OURS.map(str::to_owned);
    let mut answer = dialect.answer(&request, owned());
    let mut out = Vec::new();
    let bodies = rounds(case, kind);
    assert!(!bodies.is_empty(), "{}", case.display());
    for (n, bytes) in bodies.iter().enumerate() {
        answer.feed(bytes, &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        if n + 1 < bodies.len() {
            body = dialect.follow_up(&request, &body, &round, &results(&round), Ask::Again, &ours).unwrap();
            snapshot(case, &format!("next-{}.{kind}", n + 1), &body);
        }
    }
    answer.finish(&ending(request.stream), &mut out).unwrap();
    snapshot(case, &format!("answer.{kind}"), &out);
    if request.stream {
        testkit::sse_lint::lint(dialect_name, &out).unwrap();
    } else {
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    }
    request
}

/// Cuts every round at the same place: in words, in the middle of characters, between CR and LF.
fn check_cuts(dialect: &str, request: &ClientRequest, bodies: &[Vec<u8>]) {
    let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
    let ending = ending(true);
    let whole = run_cut(dialect, request, &bodies, &ending, |body| vec![body]).unwrap();
    let longest = bodies.iter().map(|body| body.len()).max().unwrap();
    // Long cases share the work: byte by byte below is every cut at once.
    let step = if bodies.concat().len() < 1600 { 1 } else { 17 };
    for at in (1..longest).step_by(step) {
        let cut = |body: &[u8]| at.min(body.len());
        let pieces = run_cut(dialect, request, &bodies, &ending, |body| {
            let (a, b) = body.split_at(cut(body));
            vec![a, b]
        });
        assert_eq!(pieces.unwrap(), whole, "cut at {at}");
    }
    for size in [1, 2, 3, 7, 100] {
        let pieces = run_cut(dialect, request, &bodies, &ending, |body| body.chunks(size).collect());
        assert_eq!(pieces.unwrap(), whole, "pieces of {size}");
    }
}

#[test]
fn every_case_comes_out_as_recorded() {
    for folder in folders(&fixtures()) {
        let dialect = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for case in folders(&folder) {
            check(&dialect, &case, "json");
            check(&dialect, &case, "sse");
        }
    }
}

#[test]
fn every_cut_gives_the_same_bytes() {
    for folder in folders(&fixtures()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for case in folders(&folder) {
            let body = fs::read(case.join("request.json")).unwrap();
            let mut request = dialect(&name).read_request(&target(&name, true), body.into()).unwrap();
            request.stream = true;
            check_cuts(&name, &request, &rounds(&case, "sse"));
        }
    }
}

#[test]
fn every_dialect_has_cases() {
    for dialect in dialects::ALL {
        assert!(!folders(&fixtures().join(dialect.name())).is_empty());
        assert_eq!(dialects::by_name(dialect.name()).unwrap().routes()[0], dialect.routes()[0]);
        assert_eq!(dialects::by_path(dialect.routes()[0]).unwrap().name(), dialect.name());
    }
    assert!(dialects::by_name("morse").is_none() && dialects::by_path("/v1").is_none());
}
