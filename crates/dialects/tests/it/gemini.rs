//! Answers of the `gemini` dialect: what the client sees, what the next round is asked.

use dialects::{Ask, ClientRequest, Ending, Fault, Finish, WireError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::script::{ScriptedRound, turn};
use crate::support::*;

fn asked(stream: bool, array: bool) -> ClientRequest {
    let target =
        if array { "/v1beta/models/m:streamGenerateContent".to_owned() } else { target(GEMINI, stream) };
    dialect(GEMINI).read_request(&target, r#"{"contents":[]}"#.into()).unwrap()
}

fn chunk(parts: Value, finish: Option<&str>, tokens: u64) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    let usage =
        json!({"promptTokenCount": 10, "candidatesTokenCount": tokens, "totalTokenCount": 10 + tokens});
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"})
}

fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

fn events(chunks: &[Value]) -> String {
    sse(chunks)
}

fn array(chunks: &[Value]) -> String {
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
    format!("[{}\n]\n", chunks.join("\n,\r\n"))
}

#[test]
fn what_needs_no_change_passes_byte_for_byte() {
    let chunks = [
        chunk(json!([{"text": "a"}]), None, 1),
        chunk(json!([call("theirs", json!({"q": 1.0}))]), None, 2),
        chunk(json!([{"text": ""}]), Some("STOP"), 3),
    ];
    for (request, body) in [
        (asked(true, false), events(&chunks)),
        (asked(true, true), array(&chunks)),
        (asked(true, true), format!("\n [ {}\n]", chunks[2])),
        (asked(false, false), format!(" {}\n", chunks[2])),
    ] {
        let turn = run(GEMINI, &request, &[&body]).unwrap();
        assert_eq!(turn.text(), body);
    }
}

#[test]
fn an_array_of_two_rounds_is_one_array() {
    let first = array(&[
        chunk(json!([{"text": "one "}]), None, 1),
        chunk(json!([call("read__1_0_0", json!({}))]), Some("STOP"), 2),
    ]);
    let second =
        array(&[chunk(json!([{"text": "two"}]), None, 1), chunk(json!([{"text": ""}]), Some("STOP"), 5)]);
    let request = asked(true, true);
    let dialect = dialect(GEMINI);
    assert_eq!(dialect.stream_media_type(&request), "application/json; charset=utf-8");
    let mut answer = dialect.answer(&request, owned());
    let mut out = Vec::new();
    answer.keep_alive(&mut out);
    answer.feed(first.as_bytes(), &mut out).unwrap();
    answer.end_round(&mut out).unwrap();
    answer.keep_alive(&mut out);
    answer.feed(second.as_bytes(), &mut out).unwrap();
    answer.end_round(&mut out).unwrap();
    answer.finish(&Ending { omni: Some(json!({"rounds": 2})), ..Ending::default() }, &mut out).unwrap();
    let seen = testkit::sse_lint::lint("gemini_array", &out).unwrap();
    assert_eq!((seen.text.as_str(), seen.omni), ("one two", Some(json!({"rounds": 2}))));
    assert_eq!(seen.usage.unwrap()["candidatesTokenCount"], 7);
    assert_eq!((seen.id.as_str(), seen.events), ("r1", 3));
}

#[test]
fn a_failure_ends_either_form() {
    let error =
        WireError { status: 503, code: "x".to_owned(), message: "later".to_owned(), retry_after_s: None };
    let one = chunk(json!([{"text": "a"}]), None, 1);
    for (form, request, body) in [
        ("gemini", asked(true, false), events(std::slice::from_ref(&one))),
        ("gemini_array", asked(true, true), format!("[{one}\n,")),
        ("gemini_array", asked(true, true), "[".to_owned()),
    ] {
        let mut answer = dialect(GEMINI).answer(&request, owned());
        let mut out = Vec::new();
        answer.feed(body.as_bytes(), &mut out).unwrap();
        assert_eq!(answer.end_round(&mut out), Err(Fault::Truncated));
        answer.fail(&error, &mut out);
        let seen = testkit::sse_lint::lint(form, &out).unwrap();
        assert_eq!(seen.error.unwrap(), json!({"code": 503, "message": "later", "status": "UNAVAILABLE"}));
    }
    for (request, body) in [
        (asked(true, false), "data: {\"error\":{\"code\":503}}\n\n"),
        (asked(true, true), "[{\"error\":{\"code\":503}}]"),
        (asked(false, false), "{\"error\":{\"code\":503}}"),
    ] {
        let fault = run(GEMINI, &request, &[body]).unwrap_err();
        assert_eq!(fault, Fault::Upstream(json!({"error": {"code": 503}})));
    }
}

#[test]
fn silence_is_kept_alive_without_comments() {
    let mut answer = dialect(GEMINI).answer(&asked(true, false), owned());
    let mut out = Vec::new();
    answer.keep_alive(&mut out);
    let silence = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}"#;
    assert_eq!(String::from_utf8(out).unwrap(), format!("data: {silence}\n\n"));
}

#[test]
fn how_the_model_stopped() {
    let finish = |reason: &str| {
        let body = chunk(json!([call("read__1_0_0", json!({}))]), Some(reason), 1).to_string();
        let turn = run(GEMINI, &asked(false, false), &[&body]).unwrap();
        assert!(!turn.text().contains("read__1_0_0"), "{}", turn.text());
        (turn.rounds[0].finish, turn.rounds[0].calls.len())
    };
    assert_eq!(finish("STOP"), (Finish::Normal, 1));
    assert_eq!(finish("MALFORMED_FUNCTION_CALL"), (Finish::Normal, 0));
    for reason in
        ["MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "OTHER", "NEW"]
    {
        assert_eq!(finish(reason), (Finish::Cut, 1), "{reason}");
    }
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let turn = run(GEMINI, &asked(false, false), &[blocked]).unwrap();
    assert_eq!((turn.rounds[0].finish, turn.text()), (Finish::Cut, blocked));
}

#[test]
fn calls_of_the_client_get_an_id_where_something_is_hidden() {
    let parts = json!([
        call("read__1_0_0", json!({})),
        call("theirs", json!({"q": 1})),
        call("theirs", json!({"q": 1}))
    ]);
    let whole = chunk(parts, Some("STOP"), 1);
    for (request, body) in
        [(asked(true, false), events(std::slice::from_ref(&whole))), (asked(false, false), whole.to_string())]
    {
        let turn = run(GEMINI, &request, &[&body]).unwrap();
        let calls: Vec<_> = turn.rounds[0].calls.iter().map(|call| call.call.id.clone()).collect();
        assert!(
            calls[1].starts_with("gemini_call_") && calls[1] != calls[2] && calls[0] != calls[1],
            "{calls:?}"
        );
        assert!(turn.text().contains(&calls[1]) && turn.text().contains(&calls[2]), "{}", turn.text());
        assert!(!turn.text().contains(&calls[0]));
        // The model never sees them.
        assert!(!String::from_utf8(turn.rounds[0].message.to_vec()).unwrap().contains("gemini_call_"));
        let history = json!({"contents": [
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [{"functionCall": {"id": calls[1], "name": "theirs", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": calls[1], "name": "theirs", "response": {}}}]},
            {"role": "user", "parts": [{"text": calls[1]}]},
        ]});
        let request =
            dialect(GEMINI).read_request(&target(GEMINI, true), history.to_string().into()).unwrap();
        let up: Value = serde_json::from_slice(&dialect(GEMINI).inject(&request, &[])).unwrap();
        assert_eq!(up["contents"][1]["parts"][0], json!({"functionCall": {"name": "theirs", "args": {}}}));
        assert_eq!(
            up["contents"][2]["parts"][0],
            json!({"functionResponse": {"name": "theirs", "response": {}}})
        );
        assert_eq!(up["contents"][3]["parts"][0]["text"], json!(calls[1]));
    }
}

#[test]
fn the_models_content_comes_back_verbatim_with_one_answer_per_call() {
    // Fault 17: a signature, an unknown member, two calls of one name without ids.
    let content = r#"{"role":"model","new":[1.0],"parts":[{"functionCall":{"name":"read__1_0_0","args":{"path":"a.txt"}},"thoughtSignature":"c2ln","new":{}},{"functionCall":{"name":"read__1_0_0","args":{"path":"b"}}},{"functionCall":{"id":"i7","name":"broken__1_0_0","args":"{\"a\""}}]}"#;
    let body = format!(r#"{{"candidates":[{{"content":{content},"finishReason":"STOP"}}]}}"#);
    let replayed = content.replace(r#""{\"a\"""#, "{}");
    for (request, body) in
        [(asked(false, false), body.clone()), (asked(true, false), format!("data: {body}\n\n"))]
    {
        let turn = run(GEMINI, &request, &[&body]).unwrap();
        let round = &turn.rounds[0];
        let first = r#"{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}"#;
        let next = dialect(GEMINI)
            .follow_up(&request, &first.into(), round, &results(round), Ask::Again, &[])
            .unwrap();
        let next: Value = serde_json::from_slice(&next).unwrap();
        assert_eq!(next["contents"][1], serde_json::from_str::<Value>(&replayed).unwrap());
        let result = json!({"name": "read__1_0_0", "response": {"result": "result of read__1_0_0"}});
        let failed =
            json!({"id": "i7", "name": "broken__1_0_0", "response": {"error": "result of broken__1_0_0"}});
        let answers: Vec<_> = [&result, &result, &failed].map(|one| json!({"functionResponse": one})).into();
        assert_eq!(next["contents"][2], json!({"role": "user", "parts": answers}));
        assert_eq!(next["toolConfig"]["functionCallingConfig"]["mode"], "AUTO");
    }
}

#[test]
fn the_last_round_keeps_tools_or_takes_ours_out() {
    let round = run(
        GEMINI,
        &asked(false, false),
        &[&chunk(json!([call("a__1_0_0", json!({}))]), Some("STOP"), 1).to_string()],
    );
    let round = round.unwrap().rounds.remove(0);
    let last = |body: Value| -> Value {
        let ours = ["a__1_0_0".to_owned(), "b__1_0_0".to_owned()];
        let next = dialect(GEMINI)
            .follow_up(
                &asked(false, false),
                &body.to_string().into(),
                &round,
                &results(&round),
                Ask::Last,
                &ours,
            )
            .unwrap();
        serde_json::from_slice(&next).unwrap()
    };
    let names = |names: &[&str]| json!({"functionDeclarations": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
    let with = |tools: Value, config: Value| json!({"contents": [], "tools": tools, "toolConfig": config});

    let kept = last(with(json!([names(&["a__1_0_0", "b__1_0_0"])]), json!({"retrievalConfig": {}})));
    assert_eq!(kept["tools"], json!([names(&["a__1_0_0", "b__1_0_0"])]));
    assert_eq!(kept["toolConfig"], json!({"retrievalConfig": {}, "functionCallingConfig": {"mode": "NONE"}}));
    let auto = json!({"functionCallingConfig": {"mode": "AUTO"}});
    let taken = last(with(
        json!([names(&["x"]), names(&["y", "a__1_0_0", "z", "b__1_0_0"]), names(&["a__1_0_0"])]),
        auto.clone(),
    ));
    assert_eq!(taken["tools"], json!([names(&["x"]), names(&["y", "z"])]));
    assert_eq!(taken["toolConfig"], auto);
}

/// A scripted round as this dialect sends it.
fn parts(round: &ScriptedRound) -> Vec<Value> {
    let text = round.texts.concat();
    let mut parts: Vec<Value> = if text.is_empty() { Vec::new() } else { vec![json!({"text": text})] };
    parts.extend(round.calls.iter().map(|one| {
        let name = if one.ours { "read__1_0_0" } else { "read" };
        call(name, serde_json::from_str(&one.pieces.concat()).unwrap())
    }));
    if parts.is_empty() { vec![json!({"text": ""})] } else { parts }
}

fn chunks(round: &ScriptedRound) -> Vec<Value> {
    let mut chunks: Vec<Value> =
        round.texts.iter().map(|text| chunk(json!([{"text": text}]), None, 1)).collect();
    let calls: Vec<Value> =
        parts(round).into_iter().filter(|part| part.get("functionCall").is_some()).collect();
    let calls = if calls.is_empty() { vec![json!({"text": ""})] } else { calls };
    chunks.push(chunk(json!(calls), Some("STOP"), 3));
    chunks
}

fn check(rounds: &[ScriptedRound], size: usize, is_array: bool) {
    let ending = Ending { omni: Some(json!({"turnId": "t"})), input_usage_of_last_round: false };
    let write = if is_array { array } else { events };
    let stream: Vec<String> = rounds.iter().map(|round| write(&chunks(round))).collect();
    let stream: Vec<&[u8]> = stream.iter().map(String::as_bytes).collect();
    let request = asked(true, is_array);
    let cut = run_cut(GEMINI, &request, &stream, &ending, |body| body.chunks(size).collect()).unwrap();
    assert_eq!(cut, run_cut(GEMINI, &request, &stream, &ending, |body| vec![body]).unwrap());
    let seen = cut.lint(if is_array { "gemini_array" } else { GEMINI });

    let bodies: Vec<String> =
        rounds.iter().map(|round| chunk(json!(parts(round)), Some("STOP"), 3).to_string()).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let plain = run(GEMINI, &asked(false, false), &bodies).unwrap();
    for n in 0..rounds.len() {
        assert_eq!(cut.calls(n), plain.calls(n));
        assert_eq!(cut.message(n), plain.message(n));
    }
    assert!(!cut.text().contains("__1_0_0") && !plain.text().contains("__1_0_0"));
    let whole = plain.json();
    let shown = whole["candidates"][0]["content"]["parts"].as_array().unwrap();
    let text: String = shown.iter().filter_map(|part| part["text"].as_str()).collect();
    let names: Vec<_> = shown.iter().filter_map(|part| part["functionCall"]["name"].as_str()).collect();
    assert_eq!(seen.text, text);
    assert_eq!(seen.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(seen.usage.as_ref(), Some(&whole["usageMetadata"]));
    assert_eq!((seen.omni, seen.finish.as_deref()), (ending.omni, Some("STOP")));
}

fn feed_all(request: &ClientRequest, pieces: &[Vec<u8>]) {
    let mut answer = dialect(GEMINI).answer(request, owned());
    let mut out = Vec::new();
    for piece in pieces {
        if answer.feed(piece, &mut out).is_err() {
            break;
        }
    }
    // The server stops at the first fault; going on must do no harm either.
    drop(answer.end_round(&mut out));
    drop(answer.feed(b"data: {}\n\n", &mut out));
    drop(answer.finish(&Ending::default(), &mut out));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_stream_says_what_the_plain_answer_says(rounds in turn(), size in 1usize..80, is_array in any::<bool>()) {
        check(&rounds, size, is_array);
    }

    #[test]
    fn damaged_answers_never_panic(
        rounds in turn(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..4),
    ) {
        let chunks = chunks(&rounds[0]);
        for (request, body) in [
            (asked(true, false), events(&chunks)), (asked(true, true), array(&chunks)),
            (asked(false, false), chunks[0].to_string()),
        ] {
            let mut bytes = body.into_bytes();
            for (place, byte) in &places {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            feed_all(&request, &[bytes]);
            feed_all(&request, &pieces);
        }
    }

    #[test]
    fn odd_json_in_the_right_places_never_panics(
        odd in prop::collection::vec(prop::sample::select(vec![
            json!(null), json!(7), json!({}), json!([]), json!([7]), json!({"text": 7}), json!([{"text": 7, "thought": 1}]),
            json!([{"functionCall": 7}]), json!([{"functionCall": {"name": 7, "args": [], "id": 7}}]), json!("x"),
            json!([{"functionCall": {"name": "x__1_0_0", "args": null}}]), json!({"parts": {"text": "a"}}),
        ]), 4),
    ) {
        let candidate = json!({"content": {"parts": odd[0], "role": odd[1]}, "finishReason": odd[2], "index": 0});
        for body in [
            json!({"candidates": [candidate], "usageMetadata": odd[3], "promptFeedback": odd[1]}),
            json!({"candidates": odd[0], "responseId": odd[2]}), json!({"candidates": [{"content": odd[3]}, odd[1]]}),
        ] {
            let piece = vec![body.to_string().into_bytes()];
            feed_all(&asked(false, false), &piece);
            feed_all(&asked(true, false), &[events(std::slice::from_ref(&body)).into_bytes()]);
            feed_all(&asked(true, true), &[array(&[body]).into_bytes()]);
        }
    }
}
