//! Responses answers, plain and streamed, as regular and as odd as they may come.

use dialects::{Call, ClientRequest, Ending, Fault, Finish, WireError};
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

fn ours(n: usize) -> Value {
    wire::call(&format!("fc_{n}"), &format!("call_{n}"), "f__1_0_0", "{\"a\":1}")
}

fn client() -> Value {
    wire::call("fc_c", "call_c", "client", "{}")
}

fn one(body: &str) -> Turn {
    run(RESPONSES, &streamed(false), &[body]).unwrap()
}

/// A request that keeps nothing at the provider.
fn stateless(stream: bool, include: Value) -> ClientRequest {
    let body = json!({"model": "m", "input": "hi", "stream": stream, "store": false, "include": include});
    dialect(RESPONSES).read_request("/v1/responses", body.to_string().into()).unwrap()
}

#[test]
fn a_turn_without_our_calls_is_byte_equal() {
    let stream = wire::stream("r", &[wire::reasoning("rs", "Hm."), wire::message("m", "Hé 🙂"), client()]);
    for body in [
        stream.clone(),
        format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n")),
        stream.replace("data: ", "data:"),
        stream.replace("\"sequence_number\":", "\"unnumbered\":"),
        format!("{stream}data: [DONE]\n\n"),
    ] {
        assert_eq!(one(&body).text(), body);
    }
    let body = " {\"id\" : \"r\", \"status\":\"completed\",\"output\":[ {\"type\":\"message\",\"text\":\"\\u00e9\"} ],\"x\":1.0 }\n";
    assert_eq!(run(RESPONSES, &plain(), &[body]).unwrap().text(), body);
    for request in [stateless(true, json!(null)), stateless(true, json!(["x"]))] {
        assert_eq!(run(RESPONSES, &request, &[&stream]).unwrap().text(), stream);
    }
}

#[test]
fn text_is_shown_at_once() {
    let mut answer = dialect(RESPONSES).answer(&streamed(false), owned());
    let stream = wire::stream("r", &[wire::message("m", "some text")]);
    for frame in stream.split_inclusive("\n\n").take(8) {
        let mut out = Vec::new();
        answer.feed(frame.as_bytes(), &mut out).unwrap();
        assert_eq!(out, frame.as_bytes());
    }
}

#[test]
fn several_rounds_are_one_lifecycle() {
    let first = wire::stream(
        "r1",
        &[wire::reasoning("rs1", "Hm."), wire::message("m1", "Let me see."), ours(1), ours(2)],
    );
    let second = wire::stream("r2", &[ours(3)]);
    let third = wire::stream("r3", &[wire::reasoning("rs3", "So."), wire::message("m3", "done")]);
    let rounds = [&first, &second, &third].map(String::as_bytes);
    let ending = Ending { omni: Some(json!({"rounds": 3})), input_usage_of_last_round: false };
    let turn = run_cut(RESPONSES, &streamed(false), &rounds, &ending, |body| vec![body]).unwrap();
    let seen = turn.lint(RESPONSES);
    assert_eq!((seen.id.as_str(), seen.finish.as_deref()), ("r1", Some("completed")));
    assert_eq!(
        (seen.texts, seen.thinking.as_str()),
        (vec!["Let me see.".to_owned(), "done".to_owned()], "Hm.So.")
    );
    assert_eq!(seen.omni, ending.omni);
    let usage = seen.usage.unwrap();
    assert_eq!((&usage["input_tokens"], &usage["total_tokens"]), (&json!(30), &json!(45)));
    assert_eq!(usage["output_tokens_details"], json!({"reasoning_tokens": 3}));
    assert_eq!(usage["input_tokens_details"], json!({"cached_tokens": 12}));
    assert!(!turn.text().contains("f__1_0_0") && !turn.text().contains("arguments"));
    assert_eq!(turn.text().matches("response.created").count(), 2, "the name and the type of one event");

    let bodies = [
        wire::response("r1", "completed", &[wire::message("m1", "Let me see."), ours(1)]).to_string(),
        wire::response("r2", "completed", &[wire::message("m2", "done")]).to_string(),
    ];
    let turn = run(RESPONSES, &plain(), &[&bodies[0], &bodies[1]]).unwrap();
    let body = turn.json();
    assert_eq!(body["output"], json!([wire::message("m1", "Let me see."), wire::message("m2", "done")]));
    assert_eq!((&body["id"], &body["usage"]["total_tokens"]), (&json!("r2"), &json!(30)));
}

#[test]
fn the_echo_of_the_request_is_the_clients_own() {
    let tools = json!([{"type": "function", "name": "client"}, {"type": "function", "name": "f__1_0_0"}, {"type": "web_search"}]);
    let echoing = |id: &str, items: &[Value], previous: Value, choice: &str| {
        let mut events = wire::events(id, items, "completed");
        for event in events.iter_mut().filter(|event| event.get("response").is_some()) {
            event["response"]["tools"] = tools.clone();
            event["response"]["previous_response_id"] = previous.clone();
            event["response"]["tool_choice"] = choice.into();
        }
        (wire::sse(&events), events.last().unwrap()["response"].to_string())
    };
    let first = echoing("r1", &[ours(1)], Value::Null, "required");
    let second = echoing("r2", &[wire::message("m", "done")], json!("r1"), "auto");
    let theirs = json!([{"type": "function", "name": "client"}, {"type": "web_search"}]);
    let check = |response: &Value| {
        assert_eq!(response["tools"], theirs);
        assert_eq!(
            (&response["previous_response_id"], &response["tool_choice"]),
            (&Value::Null, &json!("required"))
        );
    };
    let turn = run(RESPONSES, &streamed(false), &[&first.0, &second.0]).unwrap();
    turn.lint(RESPONSES);
    for frame in turn.text().split_terminator("\n\n") {
        let event: Value = serde_json::from_str(frame.split_once("data: ").unwrap().1).unwrap();
        if let Some(response) = event.get("response") {
            check(response);
            assert_eq!(response["id"], "r1");
        }
    }
    check(&run(RESPONSES, &plain(), &[&first.1, &second.1]).unwrap().json());
}

#[test]
fn encrypted_reasoning_that_only_we_asked_for_is_not_shown() {
    let items = [wire::sealed("rs", "Hm."), wire::message("m", "done")];
    let body = wire::response("r", "completed", &items).to_string();
    for (include, shown) in [(Value::Null, false), (json!(["reasoning.encrypted_content"]), true)] {
        let streamed =
            run(RESPONSES, &stateless(true, include.clone()), &[&wire::stream("r", &items)]).unwrap();
        streamed.lint(RESPONSES);
        let plain = run(RESPONSES, &stateless(false, include), &[&body]).unwrap();
        for turn in [streamed, plain] {
            assert_eq!(turn.text().contains("encrypted_content"), shown, "{}", turn.text());
            assert!(turn.message(0)["output"][0]["encrypted_content"].is_string(), "the model keeps it");
        }
    }
}

#[test]
fn only_what_somebody_must_answer_is_a_call() {
    let items = [
        json!({"type": "web_search_call", "id": "ws", "status": "completed"}),
        json!({"type": "mcp_call", "id": "mc", "name": "f__1_0_0", "arguments": "{}"}),
        json!({"type": "shell_call", "id": "s1", "call_id": "hosted"}),
        json!({"type": "shell_call_output", "id": "s2", "call_id": "hosted"}),
        json!({"type": "shell_call", "id": "s3", "call_id": "local"}),
        json!({"type": "custom_tool_call", "id": "ct", "call_id": "c1", "name": "f__1_0_0", "input": "raw"}),
        json!({"type": "function_call", "id": "n", "call_id": "c2", "name": "f__1_0_0", "arguments": "{}", "namespace": "x"}),
        json!({"type": "mcp_approval_request", "id": "ap", "name": "n", "arguments": "{}"}),
        ours(1),
    ];
    let body = wire::response("r", "completed", &items).to_string();
    let turn = run(RESPONSES, &plain(), &[&body]).unwrap();
    let id = |call: &Call| format!("{}{}", if call.owned { "*" } else { "" }, call.call.id);
    let ids: Vec<String> = turn.rounds[0].calls.iter().map(id).collect();
    assert_eq!(ids, ["local", "c1", "c2", "ap", "*call_1"]);
    assert_eq!(turn.json()["output"].as_array().unwrap().len(), 8);
    assert_eq!(one(&wire::stream("r", &items)).rounds[0].calls, turn.rounds[0].calls);
}

#[test]
fn cut_answers_are_known() {
    let items = [wire::message("m", "half"), ours(1)];
    let turn = one(&wire::ended("r", &items, "incomplete"));
    assert_eq!(
        (turn.rounds[0].finish, turn.lint(RESPONSES).finish.as_deref()),
        (Finish::Cut, Some("max_output_tokens"))
    );
    let body = wire::response("r", "incomplete", &items).to_string();
    let turn = run(RESPONSES, &plain(), &[&body]).unwrap();
    assert_eq!(turn.rounds[0].finish, Finish::Cut);
    assert_eq!(turn.json()["output"], json!([wire::message("m", "half")]));
    let mut refusal = wire::message("m", "");
    refusal["content"] = json!([{"type": "refusal", "refusal": "No."}]);
    let body = wire::response("r", "completed", &[refusal]).to_string();
    assert_eq!(run(RESPONSES, &plain(), &[&body]).unwrap().rounds[0].finish, Finish::Cut);
}

#[test]
fn answers_that_cannot_be_used_are_faults() {
    for body in ["", "nonsense", "[]", "{}", "{\"output\":7}", "{\"output\":[]"] {
        assert!(matches!(run(RESPONSES, &plain(), &[body]), Err(Fault::Unreadable(_))), "{body}");
    }
    for upstream in [json!({"error": {"message": "no"}}), wire::response("r", "failed", &[])] {
        assert_eq!(run(RESPONSES, &plain(), &[&upstream.to_string()]), Err(Fault::Upstream(upstream)));
    }
    for event in [
        json!({"type": "error", "error": {"message": "busy"}}),
        json!({"type": "response.failed", "response": {"error": {"message": "busy"}}}),
    ] {
        let stream = format!("data: {event}\n\n");
        assert_eq!(run(RESPONSES, &streamed(false), &[&stream]), Err(Fault::Upstream(event)));
    }
    for stream in [
        "data: nonsense\n\n",
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":3}\n\n",
        "data: {\"type\":\"response.output_item.added\",\"output_index\":\"x\"}\n\n",
        "data: {\"type\":\"response.completed\"}\n\n",
    ] {
        assert!(matches!(run(RESPONSES, &streamed(false), &[stream]), Err(Fault::Unreadable(_))), "{stream}");
    }
    let stream = wire::stream("r", &[wire::message("m", "é")]);
    let end = stream.find("\"response.completed\"").unwrap();
    for cut in 0..end {
        let turn =
            run_cut(RESPONSES, &streamed(false), &[&stream.as_bytes()[..cut]], &Ending::default(), |b| {
                vec![b]
            });
        assert_eq!(turn, Err(Fault::Truncated), "{cut}");
    }
    run(RESPONSES, &streamed(false), &[stream.trim_end()]).unwrap();
}

#[test]
fn memory_is_capped() {
    let mut answer = dialect(RESPONSES).answer(&streamed(false), owned());
    answer.feed(&vec![b' '; 16 * 1024 * 1024], &mut Vec::new()).unwrap();
    assert_eq!(answer.feed(b"x", &mut Vec::new()), Err(Fault::TooLarge));
    let many: Vec<Value> = (0..5000).map(|n| json!({"type": "x", "id": format!("i{n}")})).collect();
    assert_eq!(run(RESPONSES, &streamed(false), &[&wire::stream("r", &many)]), Err(Fault::TooLarge));
}

#[test]
fn what_an_upstream_leaves_out_is_made_up() {
    let items = [wire::message("m", "text"), ours(1), client()];
    let events = wire::events("r", &items, "completed");
    let without = |kinds: &[&str]| {
        let kept: Vec<Value> = events
            .iter()
            .filter(|event| !kinds.contains(&event["type"].as_str().unwrap()))
            .cloned()
            .collect();
        one(&wire::sse(&kept))
    };
    let whole = without(&[]);
    for kinds in [
        &["response.output_item.done"][..],
        &["response.in_progress"],
        &[
            "response.output_item.added",
            "response.output_item.done",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
        ],
    ] {
        let turn = without(kinds);
        assert_eq!(turn.calls(0), ["*f__1_0_0 {\"a\":1}", "client {}"], "{kinds:?}");
        assert_eq!(turn.message(0), whole.message(0));
        assert!(!turn.text().contains("f__1_0_0"));
        let last = turn.text().rsplit("data: ").next().unwrap();
        let last: Value = serde_json::from_str(last).unwrap();
        assert_eq!(last["response"]["output"], json!([items[0], items[2]]), "{kinds:?}");
        assert_eq!(turn.text().matches("response.output_item.done\n").count(), 2);
    }
    // A call that says its name only at its end.
    let mut late = events.clone();
    for event in late.iter_mut().filter(|event| event["type"] == "response.output_item.added") {
        event["item"]["name"] = "".into();
    }
    let seen = one(&wire::sse(&late));
    assert_eq!(seen.calls(0), whole.calls(0));
    assert_eq!(seen.text().matches("event: response.output_item.added").count(), 2);
}

fn error() -> WireError {
    WireError {
        status: 502,
        code: "upstream_broken".to_owned(),
        message: "It broke off.".to_owned(),
        retry_after_s: None,
    }
}

#[test]
fn an_error_ends_the_stream_as_the_provider_does() {
    let mut answer = dialect(RESPONSES).answer(&streamed(false), owned());
    let stream = wire::stream("r", &[wire::message("m1", "one"), wire::message("m2", "two")]);
    let begun: String = stream.split_inclusive("\n\n").take(11).collect();
    let mut out = Vec::new();
    answer.feed(begun.as_bytes(), &mut out).unwrap();
    assert_eq!(answer.end_round(&mut out), Err(Fault::Truncated));
    answer.keep_alive(&mut out);
    answer.fail(&error(), &mut out);
    let text = String::from_utf8(out.clone()).unwrap();
    let seen = testkit::sse_lint::lint(RESPONSES, &out).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let told = seen.error.unwrap();
    let inner =
        json!({"message": "It broke off.", "type": "server_error", "param": null, "code": "upstream_broken"});
    assert_eq!(
        (&told["error"], &told["message"], &told["sequence_number"]),
        (&inner, &inner["message"], &json!(11))
    );
    let failed: Value = serde_json::from_str(text.rsplit("data: ").next().unwrap()).unwrap();
    assert_eq!(failed["response"]["status"], "failed");
    assert_eq!(failed["response"]["output"], json!([wire::message("m1", "one")]));
    assert!(text.contains(": keep-alive\n\n"));

    let mut out = Vec::new();
    dialect(RESPONSES).answer(&streamed(false), owned()).fail(&error(), &mut out);
    assert!(testkit::sse_lint::lint(RESPONSES, &out).unwrap().error.is_some());
    assert_eq!(dialect(RESPONSES).error_body(&error()), json!({"error": inner}).to_string());
}
