//! Chat streams as odd as providers send them.

use dialects::Fault;
use serde_json::{Value, json};

use crate::support::*;

const OURS: &str = "read__1_0_0";

/// Runs one streamed round out of call elements and lints what the client gets.
fn calls(elements: &[Value]) -> (Turn, testkit::sse_lint::Summary) {
    let deltas: Vec<Value> = elements.iter().cloned().map(call).collect();
    let turn = run(CHAT, &streamed(false), &[&chat(&deltas, "tool_calls")]).unwrap();
    let summary = turn.lint(CHAT);
    (turn, summary)
}

fn function(name: &str, arguments: &str) -> Value {
    json!({"name": name, "arguments": arguments})
}

#[test]
fn a_name_in_pieces_is_never_shown_before_its_owner_is_known() {
    let (turn, seen) = calls(&[
        json!({"index": 0, "id": "call_", "type": "function", "function": {"name": "read"}}),
        json!({"index": 0, "id": "1", "function": {"name": "__1_0"}}),
        json!({"index": 0, "function": {"name": "_0", "arguments": ""}}),
        json!({"index": 0, "function": {"arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "1}"}}),
    ]);
    assert_eq!(turn.calls(0), ["*read__1_0_0 {\"a\":1}"]);
    assert_eq!(turn.rounds[0].calls[0].call.id, "call_1");
    assert!(seen.calls.is_empty() && !turn.text().contains("read"), "{}", turn.text());
    assert_eq!(seen.finish.as_deref(), Some("stop"));
}

#[test]
fn a_clients_name_in_pieces_arrives_whole() {
    let (turn, seen) = calls(&[
        json!({"index": 0, "id": "c", "type": "function", "function": {"name": "get_"}}),
        json!({"index": 0, "function": {"name": "weather"}}),
        json!({"index": 0, "function": {"arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "1}"}}),
    ]);
    assert_eq!(turn.calls(0), ["get_weather {\"a\":1}"]);
    assert_eq!((seen.calls[0].name.as_str(), seen.calls[0].arguments.as_str()), ("get_weather", "{\"a\":1}"));
}

#[test]
fn arguments_may_come_before_the_name_and_the_id() {
    for (name, shown) in [(OURS, 0), ("weather", 1)] {
        let (turn, seen) = calls(&[
            json!({"index": 0, "function": {"arguments": "{\"a\""}}),
            json!({"index": 0, "function": {"name": name}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
            json!({"index": 0, "id": "late", "type": "function"}),
        ]);
        assert_eq!(turn.rounds[0].calls[0].call.arguments, "{\"a\":1}");
        assert_eq!(seen.calls.len(), shown);
        if shown == 1 {
            assert_eq!((seen.calls[0].id.as_str(), seen.calls[0].arguments.as_str()), ("late", "{\"a\":1}"));
        }
    }
}

#[test]
fn calls_may_share_an_index_or_have_none() {
    let whole = |index: Value, id: &str, name: &str| json!({"index": index, "id": id, "type": "function", "function": function(name, "{}")});
    for index in [json!(0), Value::Null] {
        let (turn, seen) = calls(&[
            whole(index.clone(), "a", OURS),
            whole(index.clone(), "b", "one"),
            whole(index, "c", "two"),
        ]);
        assert_eq!(turn.calls(0), ["*read__1_0_0 {}", "one {}", "two {}"]);
        assert_eq!(seen.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    }
    let bare = |name: &str| json!({"function": function(name, "{\"a\":1}")});
    let (turn, seen) = calls(&[bare(OURS), bare(OURS), bare("other__1_0_0")]);
    assert_eq!(turn.calls(0).len(), 3);
    assert!(seen.calls.is_empty());
}

#[test]
fn several_calls_in_one_delta_are_told_apart() {
    let one = |id: &str, name: &str| json!({"id": id, "type": "function", "function": function(name, "{}")});
    let delta = json!({"role": "assistant", "content": "x", "tool_calls": [one("a", "c1"), one("b", OURS), one("c", "c2")]});
    let turn = run(CHAT, &streamed(false), &[&chat(&[delta], "tool_calls")]).unwrap();
    let seen = turn.lint(CHAT);
    assert_eq!(turn.calls(0), ["c1 {}", "*read__1_0_0 {}", "c2 {}"]);
    assert_eq!(seen.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    assert_eq!(seen.text, "x");
}

#[test]
fn repeated_ids_and_names_are_not_doubled() {
    let piece = |id: &str, arguments: &str| json!({"index": 0, "id": id, "type": "function", "function": function(OURS, arguments)});
    let (turn, _) = calls(&[piece("a", "{\"x\":"), piece("a", "1"), piece("a", "}")]);
    assert_eq!(turn.calls(0), ["*read__1_0_0 {\"x\":1}"]);
    assert_eq!(turn.message(0)["tool_calls"][0]["function"]["name"], OURS);
    let (turn, _) = calls(&[
        json!({"index": 0, "id": "a", "function": function(OURS, "")}),
        json!({"index": 0, "id": "random", "function": {"arguments": "{}"}}),
    ]);
    assert_eq!((turn.rounds[0].calls.len(), turn.rounds[0].calls[0].call.id.as_str()), (1, "a"));
}

#[test]
fn interleaved_calls_are_kept_apart() {
    let head = |index: u32, id: &str, name: &str| json!({"index": index, "id": id, "type": "function", "function": function(name, "")});
    let more = |index: u32, piece: &str| json!({"index": index, "function": {"arguments": piece}});
    let (turn, seen) = calls(&[
        head(0, "a", OURS),
        head(1, "b", "client"),
        more(0, "{\"x\":"),
        more(1, "{\"y\":"),
        more(0, "1}"),
        more(1, "2}"),
    ]);
    assert_eq!(turn.calls(0), ["*read__1_0_0 {\"x\":1}", "client {\"y\":2}"]);
    assert_eq!(seen.calls[0].arguments, "{\"y\":2}");
}

#[test]
fn the_finish_may_come_with_content_and_calls() {
    let ours = json!({"index": 0, "id": "a", "type": "function", "function": function(OURS, "{}")});
    let client = json!({"index": 1, "id": "b", "type": "function", "function": function("client", "{}")});
    let with =
        |delta: Value, finish: &str| format!("{}data: [DONE]\n\n", sse(&[chunk(&delta, &finish.into())]));
    let mixed =
        with(json!({"role": "assistant", "content": "x", "tool_calls": [ours, client]}), "tool_calls");
    let turn = run(CHAT, &streamed(false), &[&mixed]).unwrap();
    let seen = turn.lint(CHAT);
    assert_eq!((seen.text.as_str(), seen.calls.len(), seen.finish.as_deref()), ("x", 1, Some("tool_calls")));

    let calling = with(json!({"role": "assistant", "content": "x", "tool_calls": [ours]}), "tool_calls");
    let last = with(json!({"role": "assistant", "content": "y"}), "stop");
    let seen = run(CHAT, &streamed(false), &[&calling, &last]).unwrap().lint(CHAT);
    assert_eq!((seen.text.as_str(), seen.finish.as_deref()), ("x\n\ny", Some("stop")));

    let client = json!({"id": "b", "type": "function", "function": function("client", "{}")});
    let last = with(json!({"role": "assistant", "tool_calls": [client]}), "tool_calls");
    let seen = run(CHAT, &streamed(false), &[&calling, &last]).unwrap().lint(CHAT);
    assert_eq!((seen.calls.len(), seen.finish.as_deref()), (1, Some("tool_calls")));
}

#[test]
fn what_comes_before_and_after_the_answer_does_no_harm() {
    let filter = json!({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []});
    let mut after = chunk(&json!({}), &Value::Null);
    after["choices"][0]["content_filter_offsets"] = json!({});
    let body = |deltas: &[Value], finish: &str| {
        let all = chat(deltas, finish);
        let (answer, done) = all.split_once("data: [DONE]").unwrap();
        format!(
            "{}{answer}{}data: [DONE]{done}",
            sse(std::slice::from_ref(&filter)),
            sse(std::slice::from_ref(&after))
        )
    };
    let one = body(&[json!({"role": "assistant", "content": "x"})], "stop");
    assert_eq!(run(CHAT, &streamed(false), &[&one]).unwrap().text(), one);
    let ours = json!({"index": 0, "id": "a", "type": "function", "function": function(OURS, "{}")});
    let turn = run(CHAT, &streamed(false), &[&body(&[call(ours)], "tool_calls"), &one]).unwrap();
    assert_eq!(turn.text().matches("prompt_filter_results").count(), 1);
    assert_eq!(turn.text().matches("content_filter_offsets").count(), 1, "{}", turn.text());
}

#[test]
fn a_missing_done_or_finish_is_made_up() {
    let all = chat(&[json!({"role": "assistant", "content": "x"})], "stop");
    let without_done = all.replace("data: [DONE]\n\n", "");
    assert_eq!(run(CHAT, &streamed(false), &[&without_done]).unwrap().text(), all);
    let finish = sse(&[chunk(&json!({}), &"stop".into())]);
    let turn = run(CHAT, &streamed(false), &[&all.replace(&finish, "")]).unwrap();
    assert_eq!(turn.lint(CHAT).finish.as_deref(), Some("stop"));
}

#[test]
fn a_role_in_every_delta_becomes_one() {
    let delta = |text: &str| json!({"role": "assistant", "content": text});
    let seen = run(CHAT, &streamed(false), &[&chat(&[delta("a"), delta("b"), delta("c")], "stop")]).unwrap();
    assert_eq!(seen.lint(CHAT).text, "abc");
}

#[test]
fn usage_is_shown_only_when_asked_for_and_added_up_once() {
    let usage = |n: u64| json!({"prompt_tokens": n, "completion_tokens": 1, "total_tokens": n + 1});
    let with_usage = |deltas: &[Value], finish: &str, n: u64| {
        let mut chunk = chunk(&json!({}), &Value::Null);
        chunk["choices"] = json!([]);
        chunk["usage"] = usage(n);
        chat(deltas, finish).replace("data: [DONE]", &format!("{}data: [DONE]", sse(&[chunk])))
    };
    let ours = json!({"index": 0, "id": "a", "type": "function", "function": function(OURS, "{}")});
    let rounds =
        [with_usage(&[call(ours)], "tool_calls", 10), with_usage(&[json!({"content": "x"})], "stop", 20)];
    let rounds: Vec<&str> = rounds.iter().map(String::as_str).collect();
    let seen = run(CHAT, &streamed(true), &rounds).unwrap().lint(CHAT);
    assert_eq!(seen.usage, Some(json!({"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32})));
    assert_eq!(run(CHAT, &streamed(false), &rounds).unwrap().lint(CHAT).usage, None);
    let single = run(CHAT, &streamed(true), &rounds[1..]).unwrap();
    assert_eq!(single.text(), rounds[1]);

    // Cumulative usage in every chunk counts once.
    let running = |n: u64| {
        let mut chunk = chunk(&json!({"content": "x"}), &Value::Null);
        chunk["usage"] = usage(n);
        sse(&[chunk])
    };
    let second = format!("{}{}{}", running(5), running(6), rounds[1]);
    let seen = run(CHAT, &streamed(true), &[rounds[0], &second]).unwrap().lint(CHAT);
    assert_eq!(seen.usage.unwrap()["prompt_tokens"], 30);
}

#[test]
fn unknown_delta_members_and_custom_calls_survive() {
    let deltas = [
        json!({"role": "assistant", "content": null, "reasoning_content": "a", "details": [{"index": 0, "text": "p"}]}),
        json!({"reasoning_content": "b", "details": [{"index": 0, "text": "q"}], "refusal": null}),
        call(json!({"index": 0, "id": "x", "type": "custom", "custom": {"name": OURS, "input": "ra"}})),
        call(json!({"index": 0, "custom": {"input": "w"}})),
        call(
            json!({"index": 1, "id": "y", "type": "function", "function": function(OURS, "{}"), "extra_content": {"s": "sig"}}),
        ),
    ];
    let turn = run(CHAT, &streamed(false), &[&chat(&deltas, "tool_calls")]).unwrap();
    assert_eq!(
        turn.message(0),
        json!({
            "role": "assistant", "content": null, "reasoning_content": "ab", "details": [{"index": 0, "text": "pq"}],
            "refusal": null, "tool_calls": [
                {"id": "x", "type": "custom", "custom": {"name": OURS, "input": "raw"}},
                {"id": "y", "type": "function", "function": {"name": OURS, "arguments": "{}"}, "extra_content": {"s": "sig"}},
            ],
        })
    );
    let seen = turn.lint(CHAT);
    assert_eq!((seen.calls.len(), seen.calls[0].arguments.as_str()), (1, "raw"));
}

#[test]
fn other_choices_pass_untouched() {
    let other = json!({"index": 1, "delta": {"role": "assistant", "content": "y"}, "finish_reason": "stop"});
    let mut both = chunk(&json!({"role": "assistant", "content": "x"}), &Value::Null);
    both["choices"].as_array_mut().unwrap().push(other);
    let body = format!("{}{}", sse(&[both]), chat(&[], "stop"));
    assert_eq!(run(CHAT, &streamed(false), &[&body]).unwrap().text(), body);
}

#[test]
fn calls_that_are_no_objects_are_a_fault() {
    let body = chat(&[json!({"tool_calls": [7]})], "stop");
    assert!(matches!(run(CHAT, &streamed(false), &[&body]), Err(Fault::Unreadable(_))));
}
