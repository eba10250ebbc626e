//! Hidden rounds that come back: what fits, what does not, what is left when they have expired.

use dialects::{Anchor, Ask, ClientRequest, Ending, Keeping, Kept};
use domain::ToolResult;
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::held;

use crate::support::*;

fn read(dialect: &str, messages: Value) -> ClientRequest {
    let body = json!({"model": "m", "messages": messages});
    self::dialect(dialect).read_request("/x", body.to_string().into()).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// An assistant's message of a text and calls; ours are the names with a version.
fn says(dialect: &str, text: &str, calls: &[(&str, &str)]) -> Value {
    if dialect == CHAT {
        let mut message = json!({"role": "assistant", "content": text});
        let call = |(id, name): &(&str, &str)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(call).collect();
        }
        return message;
    }
    let mut blocks = vec![json!({"type": "text", "text": text})];
    blocks.extend(
        calls.iter().map(|(id, name)| json!({"type": "tool_use", "id": id, "name": name, "input": {}})),
    );
    json!({"role": "assistant", "content": blocks})
}

/// Results of calls as messages.
fn results_of(dialect: &str, results: &[(&str, &str)]) -> Vec<Value> {
    if dialect == CHAT {
        let one = |(id, text): &(&str, &str)| json!({"role": "tool", "tool_call_id": id, "content": text});
        return results.iter().map(one).collect();
    }
    let one = |(id, text): &(&str, &str)| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    vec![json!({"role": "user", "content": results.iter().map(one).collect::<Vec<_>>()})]
}

/// The provider's plain answer.
fn plain_answer(dialect: &str, message: &Value, cut: bool) -> String {
    if dialect == CHAT {
        let finish = if cut { "length" } else { "stop" };
        return json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
            .to_string();
    }
    let stop = if cut { "max_tokens" } else { "end_turn" };
    json!({"id": "x", "role": "assistant", "content": message["content"], "stop_reason": stop}).to_string()
}

/// One turn the way the server runs it: what is kept, and the message that the client holds.
fn turn(dialect: &str, request: &ClientRequest, rounds: &[Value], cut: bool) -> (Option<Keeping>, Value) {
    let name = dialect;
    let dialect = self::dialect(name);
    let mut answer = dialect.answer(request, owned());
    let (mut out, mut body) = (Vec::new(), dialect.inject(request, &[tool("f__1_0_0")]));
    let mut kept = None;
    for (n, message) in rounds.iter().enumerate() {
        answer.feed(plain_answer(name, message, cut).as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        let all = results(&round).into_iter().zip(&round.calls);
        let ours: Vec<ToolResult> = all.filter(|(_, call)| call.owned).map(|(result, _)| result).collect();
        if n + 1 < rounds.len() {
            body = dialect.follow_up(request, &body, &round, &ours, Ask::Again, &[]).unwrap();
        } else {
            answer.finish(&Ending::default(), &mut out).unwrap();
            let parked = if cut { &[][..] } else { &ours };
            kept = dialect.keep(request, &body, &round, parked, &answer.shown());
        }
    }
    (kept, held::assistant_message(name, std::str::from_utf8(&out).unwrap()))
}

fn restored(dialect: &str, request: &ClientRequest, kept: &[(Anchor, Kept)]) -> Value {
    let bytes = self::dialect(dialect).restore(request, kept);
    serde_json::from_slice::<Value>(&bytes).unwrap()["messages"].clone()
}

fn found(dialect: &str, request: &ClientRequest, keeping: &Keeping, expired: bool) -> Vec<(Anchor, Kept)> {
    let anchors = self::dialect(dialect).anchors(request).into_iter();
    let kept = || if expired { keeping.kept.trace() } else { keeping.kept.clone() };
    anchors.filter(|anchor| keeping.keys.contains(&anchor.key)).map(|anchor| (anchor, kept())).collect()
}

/// A hidden round, then the answer `done`.
fn hidden(dialect: &str) -> (Keeping, Vec<Value>, Vec<Value>) {
    let rounds = [says(dialect, "Let me see.", &[("o1", "f__1_0_0")]), says(dialect, "done", &[])];
    let request = read(dialect, json!([user("hi")]));
    let (keeping, own) = turn(dialect, &request, &rounds, false);
    let [first, last] = rounds;
    let truth =
        [vec![user("hi"), first], results_of(dialect, &[("o1", "result of f__1_0_0")]), vec![last]].concat();
    (keeping.unwrap(), vec![user("hi"), own], truth)
}

/// One message with a call of each side.
fn mixed(dialect: &str) -> (Keeping, Vec<Value>) {
    let message = says(dialect, "Both.", &[("o1", "f__1_0_0"), ("c1", "theirs")]);
    let request = read(dialect, json!([user("hi")]));
    let (keeping, own) = turn(dialect, &request, &[message], false);
    (keeping.unwrap(), vec![user("hi"), own])
}

#[test]
fn what_was_hidden_comes_back_and_nothing_else_changes() {
    for dialect in [CHAT, MESSAGES] {
        let (keeping, own, truth) = hidden(dialect);
        let history = [own, vec![user("and?")]].concat();
        let request = read(dialect, json!(history));
        let body = restored(dialect, &request, &found(dialect, &request, &keeping, false));
        assert_eq!(body, json!([truth, vec![user("and?")]].concat()));

        let raw = format!(
            "{{ \"z\":1.0,\n\"messages\": [ {}, {} ,{}],\"model\":\"m\" }}",
            history[0], history[1], history[2]
        );
        let request = self::dialect(dialect).read_request("/x", raw.clone().into()).unwrap();
        let bytes = self::dialect(dialect).restore(&request, &found(dialect, &request, &keeping, false));
        let (before, after) = raw.split_once(&history[1].to_string()).unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.starts_with(before) && text.ends_with(after), "{text}");
    }
}

#[test]
fn what_does_not_match_stays_byte_for_byte() {
    for dialect in [CHAT, MESSAGES] {
        let (keeping, own, _) = hidden(dialect);
        let edits: [fn(&mut Vec<Value>); 3] = [
            |own| own[1]["content"] = "I did nothing.".into(),
            |own| own[0]["content"] = "Another question".into(),
            |own| own.truncate(1),
        ];
        for edit in edits {
            let mut own = own.clone();
            edit(&mut own);
            let request = read(dialect, json!(own));
            assert_eq!(found(dialect, &request, &keeping, false).len(), 0, "{own:?}");
            assert_eq!(self::dialect(dialect).restore(&request, &[]), request.raw);
        }
        // Found by an id, but with another text or other calls.
        let (keeping, own) = mixed(dialect);
        let answer = results_of(dialect, &[("c1", "x")]);
        for (text, calls) in
            [("Other.", &[("c1", "theirs")][..]), ("Both.", &[("c1", "theirs"), ("c2", "theirs")])]
        {
            let history = [vec![own[0].clone(), says(dialect, text, calls)], answer.clone()].concat();
            let request = read(dialect, json!(history));
            let found = found(dialect, &request, &keeping, false);
            assert_eq!(found.len(), 1);
            assert_eq!(self::dialect(dialect).restore(&request, &found), request.raw);
        }
        // Without the client's result it is the client's affair.
        let request = read(dialect, json!([own, vec![user("never mind")]].concat()));
        let found = found(dialect, &request, &keeping, false);
        assert_eq!(self::dialect(dialect).restore(&request, &found), request.raw);
    }
}

#[test]
fn a_client_may_write_the_message_anew() {
    let rewritten = [
        (
            CHAT,
            json!({"role": "assistant", "content": [{"type": "text", "text": "Both. "}], "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "theirs", "arguments": "{ }"}}]}),
        ),
        (
            MESSAGES,
            json!({"content": [{"text": "Both.\n", "type": "text"}, {"type": "tool_use", "id": "c1", "name": "theirs", "input": {}, "cache_control": {"type": "ephemeral"}}], "role": "assistant"}),
        ),
    ];
    for (dialect, message) in rewritten {
        let (keeping, _) = mixed(dialect);
        let history = [vec![user("hi"), message], results_of(dialect, &[("c1", "x")])].concat();
        let request = read(dialect, json!(history));
        let body = restored(dialect, &request, &found(dialect, &request, &keeping, false));
        let mut whole = says(dialect, "Both.", &[("o1", "f__1_0_0"), ("c1", "theirs")]);
        if dialect == MESSAGES {
            whole["content"][2]["cache_control"] = json!({"type": "ephemeral"});
        }
        let results = results_of(dialect, &[("o1", "result of f__1_0_0"), ("c1", "x")]);
        assert_eq!(body, json!([vec![user("hi"), whole], results].concat()));
    }
}

#[test]
fn expired_results_are_told_of_in_the_clients() {
    for dialect in [CHAT, MESSAGES] {
        let (keeping, own) = mixed(dialect);
        let parts = json!([{"type": "text", "text": "x"}]);
        for content in [json!("x"), json!(""), Value::Null, parts] {
            let mut answer = results_of(dialect, &[("c1", "x")]);
            let result = if dialect == CHAT { &mut answer[0] } else { &mut answer[0]["content"][0] };
            result["content"] = content.clone();
            let request = read(dialect, json!([own.clone(), answer].concat()));
            let body = restored(dialect, &request, &found(dialect, &request, &keeping, true));
            assert_eq!(body[1], own[1], "the call is as the client sent it");
            let result = if dialect == CHAT { &body[2] } else { &body[2]["content"][0] };
            let told = &result["content"];
            assert!(told.to_string().contains("have expired"), "{told}");
            assert!(!content.to_string().contains('x') || told.to_string().contains('x'), "{told}");
            assert_eq!(told.is_array(), content.is_array(), "{told}");
        }
    }
}

#[test]
fn calls_that_nobody_answered_are_not_kept() {
    for dialect in [CHAT, MESSAGES] {
        let request = read(dialect, json!([user("hi")]));
        let cut = says(dialect, "Both.", &[("o1", "f__1_0_0"), ("c1", "theirs")]);
        assert!(turn(dialect, &request, &[cut], true).0.is_none());
        let rounds =
            [says(dialect, "First.", &[("o1", "f__1_0_0")]), says(dialect, "More.", &[("o2", "f__1_0_0")])];
        let (keeping, _) = turn(dialect, &request, &rounds, true);
        let kept = serde_json::to_string(&keeping.unwrap().kept).unwrap();
        assert!(kept.contains("o1") && !kept.contains("o2") && kept.contains("More."), "{kept}");
    }
}

#[test]
fn orphaned_thinking_goes_and_the_rest_begins_with_thinking() {
    let thinks = |signature: &str| json!({"type": "thinking", "thinking": "hm", "signature": signature});
    let with = |signature: &str, mut message: Value| {
        message["content"].as_array_mut().unwrap().insert(0, thinks(signature));
        message
    };
    let rounds = [
        with("s1", says(MESSAGES, "First.", &[("o1", "f__1_0_0")])),
        with("s2", says(MESSAGES, "Second.", &[("c1", "theirs")])),
    ];
    let request = read(MESSAGES, json!([user("hi")]));
    let (keeping, own) = turn(MESSAGES, &request, &rounds, false);
    let history = [vec![user("hi"), own], results_of(MESSAGES, &[("c1", "x")])].concat();
    let request = read(MESSAGES, json!(history));
    let body = restored(MESSAGES, &request, &found(MESSAGES, &request, &keeping.unwrap(), true));
    let blocks = body[1]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "text", "tool_use"]);
    assert_eq!(blocks[0], thinks("s2"));
    assert!(body[2].to_string().contains("have expired"));
}

#[test]
fn a_history_with_calls_declares_them_where_nothing_is_offered() {
    let (keeping, own, _) = hidden(MESSAGES);
    let mut request = read(MESSAGES, json!([own, vec![user("and?")]].concat()));
    let own = request.raw.clone();
    assert_eq!(dialect(MESSAGES).inject(&request, &[]), own);
    let whole = dialect(MESSAGES).restore(&request, &found(MESSAGES, &request, &keeping, false));
    request.unrestored = Some(std::mem::replace(&mut request.raw, whole));
    let body: Value = serde_json::from_slice(&dialect(MESSAGES).inject(&request, &[])).unwrap();
    assert_eq!(body["tools"], json!([{"name": "f__1_0_0", "input_schema": {"type": "object"}}]));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    let body: Value = serde_json::from_slice(&dialect(MESSAGES).inject(&request, &[tool("g")])).unwrap();
    assert_eq!((body["tools"].as_array().unwrap().len(), body.get("tool_choice")), (1, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever is found for whatever history, the result is JSON and no panic.
    #[test]
    fn strange_rounds_at_strange_places_do_no_harm(
        messages in prop::collection::vec(prop::sample::select(vec![
            r#"{"role":"user","content":"hi"}"#, r#"{"role":"assistant"}"#, r#"{"role":"assistant","content":7}"#,
            r#"{"role":"assistant","content":"done","tool_calls":[{"id":"c1"},7]}"#, r#"{"role":"tool","tool_call_id":"c1"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1"},{"type":"thinking"},7]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},{"type":"text","text":"x"}]}"#,
            r#"{"role":"tool","tool_call_id":"c1","content":{"a":1}}"#, r#"{"content":"\ud83d"}"#,
        ]), 0..6),
        place in 0usize..7,
        kept in prop::sample::select(vec![
            "{}", r#"{"expired":true,"orphans":["x"]}"#, r#"{"before":[7],"instead":"x","results":[null]}"#,
            r#"{"instead":{"role":"assistant","content":"done","tool_calls":[{"id":"o"},{"id":"c1"}]},"results":[{"tool_call_id":"o"}]}"#,
            r#"{"instead":{"role":"assistant","content":[{"type":"tool_use","id":"c1"},{"type":"tool_use","id":"o"}]},"results":[{"tool_use_id":"o"}]}"#,
        ]),
    ) {
        let body = format!("{{\"model\":\"m\",\"messages\":[{}]}}", messages.join(","));
        for name in [CHAT, MESSAGES] {
            let Ok(request) = dialect(name).read_request("/x", body.clone().into()) else { continue };
            let mut anchors = dialect(name).anchors(&request);
            anchors.push(Anchor { key: "call:c1".to_owned(), place });
            let kept: Vec<(Anchor, Kept)> =
                anchors.into_iter().map(|anchor| (anchor, serde_json::from_str(kept).unwrap())).collect();
            let bytes = dialect(name).restore(&request, &kept);
            let parsed = dialect(name).read_request("/x", bytes.clone());
            prop_assert!(parsed.is_ok() || kept.iter().any(|(_, kept)| !kept.before.is_empty()), "{bytes:?}");
        }
    }
}
