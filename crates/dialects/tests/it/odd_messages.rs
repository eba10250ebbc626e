//! Messages streams as odd as they may come.

use dialects::Fault;
use serde_json::{Value, json};

use crate::support::*;

fn tool_use(name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": "t", "name": name, "input": input})
}

fn json_delta(piece: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": piece})
}

fn text(piece: &str) -> (Value, Vec<Value>) {
    (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": piece})])
}

fn one(blocks: &[(Value, Vec<Value>)], stop: &str) -> Turn {
    run(MESSAGES, &streamed(false), &[&messages(blocks, stop)]).unwrap()
}

#[test]
fn an_input_may_come_whole_in_pieces_or_not_at_all() {
    for (input, pieces, arguments) in [
        (json!({}), vec!["{\"a\"", ": 1.0}"], "{\"a\": 1.0}"),
        (json!({"a": 1}), vec![], "{\"a\":1}"),
        (json!({}), vec![], "{}"),
        (json!({}), vec!["", ""], "{}"),
    ] {
        let deltas = pieces.into_iter().map(json_delta).collect();
        let turn = one(&[(tool_use("f__1_0_0", input), deltas)], "tool_use");
        assert_eq!(turn.calls(0), [format!("*f__1_0_0 {arguments}")]);
        let replay = String::from_utf8(turn.rounds[0].message.to_vec()).unwrap();
        assert!(replay.contains(&format!("\"input\":{arguments}")), "{replay}");
    }
}

#[test]
fn a_malformed_input_is_told_as_sent_and_replayed_as_an_object() {
    for pieces in ["{\"a\":", "[1]", "\"x\"", "{} {}"] {
        let turn = one(&[(tool_use("f__1_0_0", json!({})), vec![json_delta(pieces)])], "tool_use");
        assert_eq!(turn.calls(0), [format!("*f__1_0_0 {pieces}")]);
        assert_eq!(turn.message(0)["content"][0]["input"], json!({}));
    }
    for input in [json!([1]), json!("x"), Value::Null] {
        let body = json!({"role": "assistant", "content": [tool_use("f__1_0_0", input)]}).to_string();
        let turn = run(MESSAGES, &plain(), &[&body]).unwrap();
        assert_eq!(turn.message(0)["content"][0]["input"], json!({}));
    }
}

#[test]
fn indexes_have_no_gaps_where_ours_were() {
    let client = || (tool_use("client", json!({})), vec![json_delta("{}")]);
    let ours = || (tool_use("f__1_0_0", json!({})), vec![json_delta("{}")]);
    let turn = one(&[ours(), text("a"), ours(), client(), ours(), client()], "tool_use");
    let seen = turn.lint(MESSAGES);
    assert_eq!((seen.texts.len(), seen.calls.len(), seen.finish.as_deref()), (1, 2, Some("tool_use")));
    assert!(!turn.text().contains("f__1_0_0"));
    let only = one(&[ours()], "tool_use").lint(MESSAGES);
    assert_eq!((only.calls.len(), only.finish.as_deref()), (0, Some("end_turn")));
}

#[test]
fn unknown_blocks_deltas_and_events_survive() {
    let blocks = [
        (
            json!({"type": "compaction", "content": null, "x": 1.0}),
            vec![json!({"type": "compaction_delta", "content": "sum"})],
        ),
        (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": "t", "estimated_tokens": 5}),
                json!({"type": "signature_delta", "signature": "s"}),
            ],
        ),
        (json!({"type": "future_block", "data": {"deep": [1, 2.50]}}), vec![]),
        text("x"),
    ];
    let body = messages(&blocks, "end_turn").replace(
        "event: message_delta",
        "event: future\ndata: {\"type\":\"future\"}\n\nevent: message_delta",
    );
    let turn = run(MESSAGES, &streamed(false), &[&body]).unwrap();
    assert_eq!(turn.text(), body);
    assert_eq!(
        turn.message(0)["content"],
        json!([
            {"type": "compaction", "content": "sum", "x": 1.0},
            {"type": "thinking", "thinking": "t", "signature": "s"},
            {"type": "future_block", "data": {"deep": [1, 2.50]}},
            {"type": "text", "text": "x"},
        ])
    );
}

#[test]
fn several_message_deltas_end_one_message() {
    let second = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n";
    let body = messages(&[text("x")], "end_turn")
        .replace("event: message_stop", &format!("{second}event: message_stop"));
    let turn = run(MESSAGES, &streamed(false), &[&body]).unwrap();
    assert_eq!(turn.text(), body);
    assert_eq!(turn.lint(MESSAGES).usage, Some(json!({"output_tokens": 9})));
    let calling = messages(&[(tool_use("f__1_0_0", json!({})), vec![])], "tool_use");
    let seen = run(MESSAGES, &streamed(false), &[&calling, &body]).unwrap().lint(MESSAGES);
    assert_eq!(seen.usage, Some(json!({"input_tokens": 20, "output_tokens": 14})));
}

#[test]
fn a_block_left_open_is_closed_and_a_missing_delta_made_up() {
    let all = messages(&[text("x")], "end_turn");
    let frames: Vec<&str> = all.split_inclusive("\n\n").collect();
    let open: String = frames.iter().filter(|frame| !frame.contains("content_block_stop")).copied().collect();
    assert_eq!(
        run(MESSAGES, &streamed(false), &[&open]).unwrap().lint(MESSAGES).finish.as_deref(),
        Some("end_turn")
    );
    let bare: String = frames.iter().filter(|frame| !frame.contains("message_delta")).copied().collect();
    assert_eq!(run(MESSAGES, &streamed(false), &[&bare]).unwrap().lint(MESSAGES).text, "x");
}

#[test]
fn deltas_without_a_block_are_a_fault() {
    for event in [
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "x"}}),
        json!({"type": "content_block_start", "content_block": {"type": "text"}}),
        json!({"type": "content_block_stop", "index": -1}),
    ] {
        let result = run(MESSAGES, &streamed(false), &[&sse(&[event])]);
        assert!(matches!(result, Err(Fault::Unreadable(_))), "{result:?}");
    }
}
