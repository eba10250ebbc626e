//! What both dialects promise about an answer: bytes, usage, faults, errors, and when something is shown.

use dialects::{Answer, Ending, Fault, Finish, WireError};
use serde_json::{Value, json};

use crate::support::*;

fn chat_body(message: &Value, finish: &str) -> String {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12});
    json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})
        .to_string()
}

fn our_call() -> Value {
    json!({"id": "a", "type": "function", "function": {"name": "f__1_0_0", "arguments": "{}"}})
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
fn a_turn_without_our_calls_is_byte_equal() {
    let body = " { \"choices\" : [ {\"message\":{\"content\":\"\\u00e9\"},\"finish_reason\":\"tool_calls\"}], \"x\":1.0 }\n";
    assert_eq!(run(CHAT, &plain(), &[body]).unwrap().text(), body);
    assert_eq!(run(CHAT, &plain(), &["{\"choices\":[]}"]).unwrap().text(), "{\"choices\":[]}");
    let body = " {\"role\":\"assistant\", \"content\" : [ {\"type\":\"text\",\"text\":\"\\u00e9\"} ] ,\"stop_reason\":\"tool_use\"}";
    assert_eq!(run(MESSAGES, &plain(), &[body]).unwrap().text(), body);

    let stream = chat(&[json!({"role": "assistant", "content": ""}), json!({"content": "x"})], "stop");
    for stream in [
        stream.clone(),
        format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n")),
        stream.replace("data: ", "data:"),
    ] {
        assert_eq!(run(CHAT, &streamed(false), &[&stream]).unwrap().text(), stream);
    }
    let stream = messages(
        &[(json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": "x"})])],
        "end_turn",
    );
    assert_eq!(run(MESSAGES, &streamed(false), &[&stream]).unwrap().text(), stream);
}

#[test]
fn a_stream_shows_text_at_once_and_a_plain_answer_nothing_before_the_end() {
    let frames =
        [chunk(&json!({"role": "assistant"}), &Value::Null), chunk(&json!({"content": "x"}), &Value::Null)];
    let mut answer = dialect(CHAT).answer(&streamed(false), owned());
    for frame in frames {
        let (mut out, bytes) = (Vec::new(), sse(&[frame]));
        answer.feed(bytes.as_bytes(), &mut out).unwrap();
        assert_eq!(out, bytes.as_bytes());
    }
    let mut answer = dialect(CHAT).answer(&plain(), owned());
    let mut out = Vec::new();
    answer.feed(chat_body(&json!({"content": "x"}), "stop").as_bytes(), &mut out).unwrap();
    answer.end_round(&mut out).unwrap();
    answer.keep_alive(&mut out);
    answer.fail(&error(), &mut out);
    assert!(out.is_empty());
}

#[test]
fn plain_calls_of_ours_are_taken_out_at_the_end_of_a_budget() {
    let calling =
        chat_body(&json!({"role": "assistant", "content": "Hm.", "tool_calls": [our_call()]}), "tool_calls");
    let answer = run(CHAT, &plain(), &[&calling, &calling]).unwrap().json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": "Hm.\n\nHm."}));
    assert_eq!((&choice["finish_reason"], &answer["usage"]["total_tokens"]), (&json!("stop"), &json!(24)));

    let cut = chat_body(&json!({"role": "assistant", "tool_calls": [our_call()]}), "length");
    let turn = run(CHAT, &plain(), &[&cut]).unwrap();
    assert_eq!(turn.rounds[0].finish, Finish::Cut);
    assert_eq!(
        turn.json()["choices"][0],
        json!({"index": 0, "message": {"role": "assistant"}, "finish_reason": "length"})
    );
}

#[test]
fn a_call_is_a_call_whatever_the_finish_says() {
    for finish in ["stop", "tool_calls", "whatever"] {
        let calling = chat_body(&json!({"content": null, "tool_calls": [our_call()]}), finish);
        assert_eq!(run(CHAT, &plain(), &[&calling]).unwrap().calls(0), ["*f__1_0_0 {}"]);
        let mut element = our_call();
        element["index"] = 0.into();
        let turn = run(CHAT, &streamed(false), &[&chat(&[call(element)], finish)]).unwrap();
        assert_eq!(turn.calls(0), ["*f__1_0_0 {}"]);
        assert!(!turn.text().contains("f__1_0_0"));
    }
}

#[test]
fn texts_of_earlier_rounds_stand_before_any_kind_of_content() {
    let first = chat_body(&json!({"content": "A \"q\"", "tool_calls": [our_call()]}), "tool_calls");
    let content = |last: Value| {
        let turn = run(CHAT, &plain(), &[&first, &chat_body(&last, "stop")]).unwrap();
        turn.json()["choices"][0]["message"]["content"].clone()
    };
    assert_eq!(content(json!({"content": "B é"})), "A \"q\"\n\nB é");
    assert_eq!(content(json!({"content": ""})), "A \"q\"");
    assert_eq!(content(json!({"content": null})), "A \"q\"");
    assert_eq!(content(json!({"role": "assistant"})), "A \"q\"");
    let parts = content(json!({"content": [{"type": "text", "text": "B"}]}));
    assert_eq!(parts, json!([{"type": "text", "text": "A \"q\""}, {"type": "text", "text": "B"}]));
}

#[test]
fn input_usage_can_be_the_last_rounds() {
    let ending = Ending { omni: None, input_usage_of_last_round: true };
    let body = |prompt: u64, output: u64, message: &Value| {
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": prompt / 2}});
        json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).to_string()
    };
    let rounds =
        [body(100, 10, &json!({"tool_calls": [our_call()]})), body(150, 20, &json!({"content": "x"}))];
    let rounds: Vec<&[u8]> = rounds.iter().map(String::as_bytes).collect();
    let turn = run_cut(CHAT, &plain(), &rounds, &ending, |body| vec![body]).unwrap();
    assert_eq!(
        turn.json()["usage"],
        json!({"prompt_tokens": 150, "completion_tokens": 30, "total_tokens": 180,
        "prompt_tokens_details": {"cached_tokens": 75}})
    );

    let call = (json!({"type": "tool_use", "id": "t", "name": "f__1_0_0", "input": {}}), vec![]);
    let rounds = [messages(&[call], "tool_use"), messages(&[], "end_turn")];
    let rounds: Vec<&[u8]> = rounds.iter().map(String::as_bytes).collect();
    let turn = run_cut(MESSAGES, &streamed(false), &rounds, &ending, |body| vec![body]).unwrap();
    assert_eq!(turn.lint(MESSAGES).usage, Some(json!({"input_tokens": 10, "output_tokens": 10})));
}

#[test]
fn cut_answers_are_known() {
    for (finish, expected) in
        [("length", Finish::Cut), ("content_filter", Finish::Cut), ("stop", Finish::Normal)]
    {
        assert_eq!(
            run(CHAT, &plain(), &[&chat_body(&json!({}), finish)]).unwrap().rounds[0].finish,
            expected
        );
        assert_eq!(run(CHAT, &streamed(false), &[&chat(&[], finish)]).unwrap().rounds[0].finish, expected);
    }
    let refusal = json!({"role": "assistant", "refusal": "No."});
    assert_eq!(run(CHAT, &plain(), &[&chat_body(&refusal, "stop")]).unwrap().rounds[0].finish, Finish::Cut);
    assert_eq!(
        run(CHAT, &streamed(false), &[&chat(&[refusal], "stop")]).unwrap().rounds[0].finish,
        Finish::Cut
    );
    for (stop, expected) in [
        ("max_tokens", Finish::Cut),
        ("refusal", Finish::Cut),
        ("model_context_window_exceeded", Finish::Cut),
        ("pause_turn", Finish::Normal),
        ("end_turn", Finish::Normal),
    ] {
        let body = json!({"role": "assistant", "content": [], "stop_reason": stop}).to_string();
        assert_eq!(run(MESSAGES, &plain(), &[&body]).unwrap().rounds[0].finish, expected);
        let turn = run(MESSAGES, &streamed(false), &[&messages(&[], stop)]).unwrap();
        assert_eq!(turn.rounds[0].finish, expected);
        assert_eq!(turn.lint(MESSAGES).finish.as_deref(), Some(stop));
    }
}

#[test]
fn answers_that_cannot_be_used_are_faults() {
    for name in [CHAT, MESSAGES] {
        for body in
            ["", "nonsense", "[]", "{}", "{\"choices\":7,\"content\":7,\"role\":\"a\"}", "{\"choices\":[]"]
        {
            assert!(matches!(run(name, &plain(), &[body]), Err(Fault::Unreadable(_))), "{name} {body}");
        }
        let upstream = json!({"type": "error", "error": {"message": "overloaded"}});
        assert_eq!(run(name, &plain(), &[&upstream.to_string()]), Err(Fault::Upstream(upstream.clone())));
        for stream in [format!("data: {upstream}\n\n"), format!("event: error\ndata: {upstream}\n\n")] {
            assert_eq!(run(name, &streamed(false), &[&stream]), Err(Fault::Upstream(upstream.clone())));
        }
        let text = run(name, &streamed(false), &["event: error\ndata: busy\n\n"]);
        assert_eq!(text, Err(Fault::Upstream("busy".into())));
        assert!(matches!(run(name, &streamed(false), &["data: nonsense\n\n"]), Err(Fault::Unreadable(_))));
        for cut in ["", ": ping\n\n", "data: {\"ty"] {
            assert_eq!(run(name, &streamed(false), &[cut]), Err(Fault::Truncated), "{name} {cut}");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_anywhere_before_its_end_is_truncated() {
    let chat = chat(&[json!({"role": "assistant"}), json!({"content": "é"})], "stop");
    let finish = chat.find("\"finish_reason\":\"stop\"").unwrap();
    let messages = messages(&[(json!({"type": "text", "text": ""}), vec![])], "end_turn");
    let stop = messages.find("{\"type\":\"message_stop\"}").unwrap();
    for (name, body, end) in [(CHAT, chat, finish), (MESSAGES, messages, stop)] {
        for cut in 0..end {
            let piece = &body.as_bytes()[..cut];
            let turn = run_cut(name, &streamed(false), &[piece], &Ending::default(), |body| vec![body]);
            assert!(matches!(turn, Err(Fault::Truncated)), "{name} {cut} {turn:?}");
        }
        run_cut(name, &streamed(false), &[body.trim_end().as_bytes()], &Ending::default(), |b| vec![b])
            .unwrap();
    }
}

#[test]
fn what_would_fill_the_memory_is_refused() {
    let mut answer = dialect(CHAT).answer(&plain(), owned());
    let piece = vec![b' '; 16 * 1024 * 1024];
    let fed: Vec<_> = (0..5).map(|_| answer.feed(&piece, &mut Vec::new())).collect();
    assert_eq!(fed, [Ok(()), Ok(()), Ok(()), Ok(()), Err(Fault::TooLarge)]);
    for name in [CHAT, MESSAGES] {
        let mut answer: Box<dyn Answer> = dialect(name).answer(&streamed(false), owned());
        answer.feed(&piece, &mut Vec::new()).unwrap();
        assert_eq!(answer.feed(b"x", &mut Vec::new()), Err(Fault::TooLarge));
    }
}

#[test]
fn held_arguments_are_capped() {
    let piece = "x".repeat(6 * 1024 * 1024);
    let head = json!({"index": 0, "id": "a", "function": {"name": "f__1_0_0", "arguments": ""}});
    let more = call(json!({"index": 0, "function": {"arguments": piece}}));
    let stream = chat(&[call(head), more.clone(), more.clone(), more], "tool_calls");
    assert_eq!(run(CHAT, &streamed(false), &[&stream]), Err(Fault::TooLarge));
    let delta = json!({"type": "input_json_delta", "partial_json": piece});
    let block = json!({"type": "tool_use", "id": "t", "name": "f__1_0_0", "input": {}});
    let stream = messages(&[(block, vec![delta.clone(), delta.clone(), delta])], "tool_use");
    assert_eq!(run(MESSAGES, &streamed(false), &[&stream]), Err(Fault::TooLarge));
}

#[test]
fn the_number_of_calls_is_capped() {
    let many: Vec<Value> =
        (0..5000).map(|i| json!({"index": i, "id": format!("c{i}"), "function": {"name": "f"}})).collect();
    let stream = chat(&[json!({"tool_calls": many})], "tool_calls");
    assert_eq!(run(CHAT, &streamed(false), &[&stream]), Err(Fault::TooLarge));
    let block = || (json!({"type": "text", "text": ""}), vec![]);
    let stream = messages(&(0..5000).map(|_| block()).collect::<Vec<_>>(), "end_turn");
    assert_eq!(run(MESSAGES, &streamed(false), &[&stream]), Err(Fault::TooLarge));
}

#[test]
fn keep_alives_and_errors_have_the_dialects_form() {
    let written = |name: &str, write: &dyn Fn(&mut dyn Answer, &mut Vec<u8>)| {
        let mut out = Vec::new();
        write(dialect(name).answer(&streamed(false), owned()).as_mut(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(CHAT, &|a, out| a.keep_alive(out)), ": keep-alive\n\n");
    assert_eq!(written(MESSAGES, &|a, out| a.keep_alive(out)), "event: ping\ndata: {\"type\": \"ping\"}\n\n");
    let chat = json!({"error": {
        "message": "It broke off.", "type": "server_error", "param": null, "code": "upstream_broken",
    }});
    assert_eq!(written(CHAT, &|a, out| a.fail(&error(), out)), format!("data: {chat}\n\n"));
    assert_eq!(dialect(CHAT).error_body(&error()), chat.to_string());
    let message = json!({"type": "error", "error": {"type": "api_error", "message": "It broke off."}});
    assert_eq!(
        written(MESSAGES, &|a, out| a.fail(&error(), out)),
        format!("event: error\ndata: {message}\n\n")
    );
    assert_eq!(dialect(MESSAGES).error_body(&error()), message.to_string());
}

#[test]
fn an_error_after_text_is_an_event_and_never_text() {
    for name in [CHAT, MESSAGES] {
        let mut answer = dialect(name).answer(&streamed(false), owned());
        let mut out = Vec::new();
        let begun = if name == CHAT {
            sse(&[chunk(&json!({"role": "assistant", "content": "x"}), &Value::Null)])
        } else {
            let all = messages(
                &[(json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": "x"})])],
                "end_turn",
            );
            all.split_inclusive("\n\n").take(3).collect()
        };
        answer.feed(begun.as_bytes(), &mut out).unwrap();
        assert_eq!(answer.end_round(&mut out), Err(Fault::Truncated));
        answer.fail(&error(), &mut out);
        let summary = testkit::sse_lint::lint(name, &out).unwrap();
        assert_eq!((summary.text.as_str(), summary.finish), ("x", None));
        assert_eq!(summary.error.unwrap()["message"], "It broke off.");
    }
}

#[test]
fn error_types_follow_the_status() {
    let kind = |name: &str, status: u16| {
        let body = dialect(name).error_body(&WireError { status, ..error() });
        serde_json::from_slice::<Value>(&body).unwrap()["error"]["type"].as_str().unwrap().to_owned()
    };
    for (status, chat, message) in [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "authentication_error"),
        (403, "permission_error", "permission_error"),
        (404, "not_found_error", "not_found_error"),
        (413, "invalid_request_error", "request_too_large"),
        (429, "rate_limit_error", "rate_limit_error"),
        (500, "server_error", "api_error"),
        (503, "server_error", "overloaded_error"),
        (504, "server_error", "timeout_error"),
    ] {
        assert_eq!((kind(CHAT, status).as_str(), kind(MESSAGES, status).as_str()), (chat, message));
    }
}
