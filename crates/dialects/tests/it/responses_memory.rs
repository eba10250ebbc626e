//! Hidden rounds of the Responses dialect: what is kept, and how it comes back into a later request.

use bytes::Bytes;
use dialects::{Anchor, Ask, ClientRequest, Keeping, Kept};
use domain::ToolResult;
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

fn read(body: &Value) -> ClientRequest {
    dialect(RESPONSES).read_request("/v1/responses", body.to_string().into()).unwrap()
}

/// One turn the way the server runs it: rounds of items, our calls answered, the last one's results parked.
fn turn(request: &ClientRequest, rounds: &[Vec<Value>]) -> (Option<Keeping>, Vec<Value>) {
    let dialect = dialect(RESPONSES);
    let mut answer = dialect.answer(request, owned());
    let (mut out, mut body) = (Vec::new(), dialect.inject(request, &[tool("f__1_0_0")]));
    for (n, items) in rounds.iter().enumerate() {
        let id = format!("resp_{}", n + 1);
        let plain = || wire::response(&id, "completed", items).to_string();
        let round = if request.stream { wire::stream(&id, items) } else { plain() };
        answer.feed(round.as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        let results: Vec<ToolResult> = results(&round)
            .into_iter()
            .zip(&round.calls)
            .filter(|(_, call)| call.owned)
            .map(|(result, _)| result)
            .collect();
        if n + 1 < rounds.len() {
            body = dialect.follow_up(request, &body, &round, &results, Ask::Again, &[]).unwrap();
            answer.asks(&body);
        } else {
            answer.finish(&dialects::Ending::default(), &mut out).unwrap();
            let shown = answer.shown();
            let last = String::from_utf8(out).unwrap();
            let last: Value = serde_json::from_str(last.rsplit("data: ").next().unwrap()).unwrap();
            let output =
                last.pointer("/response/output").unwrap_or(&last["output"]).as_array().unwrap().clone();
            return (dialect.keep(request, &body, &round, &results, &shown), output);
        }
    }
    panic!("a turn without rounds");
}

/// What the server finds for a request, written to its store and read again.
fn found(request: &ClientRequest, keepings: &[&Keeping]) -> Vec<(Anchor, Kept)> {
    let dialect = dialect(RESPONSES);
    let copy = |kept: &Kept| serde_json::from_str::<Kept>(&serde_json::to_string(kept).unwrap()).unwrap();
    let anchors = dialect.anchors(request).into_iter();
    anchors
        .filter_map(|anchor| {
            let keeping = keepings.iter().find(|keeping| keeping.keys.contains(&anchor.key))?;
            Some((anchor, copy(&keeping.kept)))
        })
        .collect()
}

fn restored(request: &ClientRequest, keepings: &[&Keeping]) -> Value {
    let bytes: Bytes = dialect(RESPONSES).restore(request, &found(request, keepings));
    serde_json::from_slice(&bytes).unwrap()
}

fn ours(n: usize) -> Value {
    wire::call(&format!("fc_{n}"), &format!("call_{n}"), "f__1_0_0", "{}")
}

fn client() -> Value {
    wire::call("fc_c", "call_c", "client", "{}")
}

fn result(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "result of f__1_0_0"})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn stateless(stream: bool) -> ClientRequest {
    let include = ["reasoning.encrypted_content"];
    read(&json!({"model": "m", "stream": stream, "store": false, "include": include, "input": [user("hi")]}))
}

/// A turn of two rounds that spoke in both.
fn spoken() -> Vec<Vec<Value>> {
    vec![
        vec![wire::sealed("rs_1", "Hm."), wire::message("msg_1", "Let me see."), ours(1)],
        vec![wire::sealed("rs_2", "So."), wire::message("msg_2", "done")],
    ]
}

/// What the model has to see of it.
fn truth() -> Vec<Value> {
    let [first, second] = spoken().try_into().unwrap();
    [vec![user("hi")], first, vec![result("call_1")], second].concat()
}

#[test]
fn the_id_that_the_client_saw_leads_to_the_last_answer() {
    for stream in [true, false] {
        let request = read(&json!({"model": "m", "stream": stream, "input": "hi"}));
        let keeping = turn(&request, &spoken()).0.unwrap();
        let shown = if stream { "resp_1" } else { "resp_2" };
        assert_eq!(keeping.keys[0], format!("response:{shown}"));
        let next = read(&json!({"model": "m", "input": "and now?", "previous_response_id": shown}));
        let body = restored(&next, &[&keeping]);
        assert_eq!(body, json!({"model": "m", "input": "and now?", "previous_response_id": "resp_2"}));
        let other = read(&json!({"model": "m", "input": "x", "previous_response_id": "resp_9"}));
        assert_eq!(dialect(RESPONSES).restore(&other, &found(&other, &[&keeping])), other.raw);
    }
}

#[test]
fn a_history_gets_its_hidden_items_back() {
    for (stream, stored) in [(true, false), (false, false), (true, true), (false, true)] {
        let stores = read(&json!({"model": "m", "stream": stream, "input": [user("hi")]}));
        let request = if stored { stores } else { stateless(stream) };
        let (keeping, output) = turn(&request, &spoken());
        let keeping = keeping.unwrap();
        let texts = keeping.keys.iter().filter(|key| key.starts_with("text:")).count();
        assert_eq!(texts, 2, "by the last message and by the whole text");
        let ask = |history: Vec<Value>| {
            let input = [vec![user("hi")], history, vec![user("and now?")]].concat();
            restored(&read(&json!({"model": "m", "store": false, "input": input})), &[&keeping])["input"]
                .clone()
        };
        let expected = json!([truth(), vec![user("and now?")]].concat());
        assert_eq!(ask(output.clone()), expected, "the client sends every item back");
        let messages = output.iter().filter(|item| item["type"] == "message").cloned().collect();
        assert_eq!(ask(messages), expected, "only the messages");
        let joined = json!({"role": "assistant", "content": "Let me see.done"});
        assert_eq!(ask(vec![joined]), expected, "one text");
        let last = json!({"role": "assistant", "content": "done"});
        assert_eq!(ask(vec![last]), expected, "the last text");
        let bare: Vec<Value> = output
            .iter()
            .map(|item| {
                let mut item = item.clone();
                item.as_object_mut().unwrap().remove("id");
                item
            })
            .collect();
        assert_eq!(ask(bare), expected, "items without their ids");
    }
}

#[test]
fn every_round_of_a_stored_turn_comes_back() {
    let rounds = vec![
        vec![
            wire::reasoning("rs_0", "Oh."),
            wire::message("msg_1", "First."),
            wire::reasoning("rs_1", "Hm."),
            ours(1),
        ],
        vec![wire::reasoning("rs_2", "So."), ours(2), ours(3)],
        vec![wire::reasoning("rs_3", "Ah."), wire::message("msg_3", "done")],
    ];
    for stream in [true, false] {
        let (keeping, output) =
            turn(&read(&json!({"model": "m", "stream": stream, "input": [user("hi")]})), &rounds);
        let keeping = keeping.unwrap();
        let expected = [
            vec![user("hi")],
            rounds[0].clone(),
            vec![result("call_1")],
            rounds[1].clone(),
            vec![result("call_2"), result("call_3")],
            rounds[2].clone(),
            vec![user("x")],
        ];
        let name = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
        let bare = |item: &Value| json!({"id": item["id"]});
        let messages = |item: &&Value| item["type"] == "message";
        for history in [
            output.clone(),
            output.iter().map(name).collect(),
            output.iter().map(bare).collect(),
            output.iter().filter(messages).map(name).collect(),
            vec![name(&output[0]), output[1].clone(), name(&output[4]), name(&output[5])],
        ] {
            let input = [vec![user("hi")], history, vec![user("x")]].concat();
            let body = restored(&read(&json!({"model": "m", "input": input})), &[&keeping]);
            assert_eq!(body["input"], json!(expected.concat()));
        }
    }
}

#[test]
fn a_name_that_is_nobodys_stays() {
    let (keeping, _) = turn(&read(&json!({"model": "m", "input": [user("hi")]})), &spoken());
    let input = json!([user("hi"), {"type": "item_reference", "id": "msg_9"}, user("x")]);
    let request = read(&json!({"model": "m", "input": input}));
    let found = found(&request, &[keeping.as_ref().unwrap()]);
    assert_eq!(dialect(RESPONSES).restore(&request, &found), request.raw);
    // The turn is cut: what is left of it is legal alone.
    let input = json!([{"type": "item_reference", "id": "msg_1"}, user("x")]);
    let request = read(&json!({"model": "m", "input": input}));
    let found = self::found(&request, &[&keeping.unwrap()]);
    assert_eq!(dialect(RESPONSES).restore(&request, &found), request.raw);
}

#[test]
fn calls_of_the_clients_that_it_only_names_bring_ours_back() {
    let other = wire::call("fc_d", "call_d", "client", "{}");
    let mixed = vec![vec![wire::reasoning("rs_1", "Hm."), client(), ours(1), other.clone()]];
    let (keeping, output) = turn(&read(&json!({"model": "m", "input": [user("hi")]})), &mixed);
    let keeping = keeping.unwrap();
    let answer = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let names: Vec<Value> =
        output.iter().map(|item| json!({"type": "item_reference", "id": item["id"]})).collect();
    let expected = json!([
        user("hi"),
        wire::reasoning("rs_1", "Hm."),
        ours(1),
        client(),
        other,
        result("call_1"),
        answer("call_c"),
        answer("call_d"),
    ]);
    for names in [names.clone(), names[1..].to_vec()] {
        let input = [vec![user("hi")], names, vec![answer("call_c"), answer("call_d")]].concat();
        let body = restored(&read(&json!({"model": "m", "input": input})), &[&keeping]);
        assert_eq!(body["input"], expected);
    }
}

#[test]
fn equal_texts_of_several_turns_restore_the_last_once() {
    let (keeping, output) = turn(&stateless(false), &spoken());
    let last = json!({"role": "assistant", "content": "done"});
    let input = [vec![user("before"), last.clone(), user("hi")], output, vec![user("and now?")]].concat();
    let request = read(&json!({"model": "m", "store": false, "input": input}));
    let body = restored(&request, &[&keeping.unwrap()]);
    assert_eq!(body["input"], json!([vec![user("before"), last], truth(), vec![user("and now?")]].concat()));
}

#[test]
fn no_match_changes_nothing() {
    let (keeping, _) = turn(&stateless(false), &spoken());
    for input in [json!("x"), json!([user("hi"), {"role": "assistant", "content": "other"}, user("x")])] {
        let request = read(&json!({"model": "m", "store": false, "input": input}));
        assert_eq!(
            dialect(RESPONSES).restore(&request, &found(&request, &[keeping.as_ref().unwrap()])),
            request.raw
        );
    }
}

#[test]
fn a_mixed_message_is_whole_again() {
    let mixed = vec![vec![wire::sealed("rs_1", "Hm."), ours(1), client(), ours(2)]];
    let answer = json!({"type": "function_call_output", "call_id": "call_c", "output": "sunny"});
    let whole = json!([
        user("hi"),
        wire::sealed("rs_1", "Hm."),
        ours(1),
        ours(2),
        client(),
        result("call_1"),
        result("call_2"),
        answer,
    ]);
    for stored in [false, true] {
        let request = read(
            &json!({"model": "m", "store": stored, "input": [user("hi")], "include": ["reasoning.encrypted_content"]}),
        );
        let (keeping, output) = turn(&request, &mixed);
        let keeping = keeping.unwrap();
        assert_eq!(keeping.keys.contains(&"response:resp_1".to_owned()), stored);
        assert_eq!(output, [wire::sealed("rs_1", "Hm."), client()]);
        for history in [output.clone(), vec![client()]] {
            let input = [vec![user("hi")], history, vec![answer.clone()]].concat();
            let next = read(&json!({"model": "m", "store": stored, "input": input}));
            assert_eq!(restored(&next, &[&keeping])["input"], whole);
        }
        for members in [json!({"previous_response_id": "resp_1"}), json!({"conversation": "c"})] {
            let mut body = json!({"model": "m", "input": [answer]});
            body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
            let body = restored(&read(&body), &[&keeping]);
            assert_eq!(body["input"], json!([result("call_1"), result("call_2"), answer]));
        }
    }
}

#[test]
fn two_client_calls_of_one_message_restore_it_once() {
    let other = wire::call("fc_d", "call_d", "client", "{}");
    let mixed = vec![vec![wire::sealed("rs_1", "Hm."), client(), ours(1), other.clone()]];
    let (keeping, _) = turn(&stateless(false), &mixed);
    let answer = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let input = json!([user("hi"), client(), other, answer("call_c"), answer("call_d")]);
    let next = read(&json!({"model": "m", "store": false, "input": input}));
    let expected = json!([
        user("hi"),
        wire::sealed("rs_1", "Hm."),
        ours(1),
        client(),
        other,
        result("call_1"),
        answer("call_c"),
        answer("call_d"),
    ]);
    assert_eq!(restored(&next, &[&keeping.unwrap()])["input"], expected);
}

#[test]
fn a_turn_that_hides_nothing_is_not_kept() {
    for rounds in
        [vec![vec![wire::message("msg_1", "done")]], vec![vec![wire::reasoning("rs_1", "Hm."), client()]]]
    {
        let request = read(&json!({"model": "m", "stream": true, "input": "hi"}));
        assert!(turn(&request, &rounds).0.is_none());
        assert!(turn(&stateless(false), &rounds).0.is_none());
    }
}

#[test]
fn a_call_that_was_never_run_is_answered_where_its_answer_is_named() {
    let request = read(&json!({"model": "m", "input": "hi"}));
    let body = dialect(RESPONSES).inject(&request, &[]);
    let items = [wire::message("msg_1", "half"), ours(1)];
    let mut answer = dialect(RESPONSES).answer(&request, owned());
    let mut out = Vec::new();
    answer.feed(wire::response("resp_1", "incomplete", &items).to_string().as_bytes(), &mut out).unwrap();
    let round = answer.end_round(&mut out).unwrap();
    answer.finish(&dialects::Ending::default(), &mut out).unwrap();
    let keeping = dialect(RESPONSES).keep(&request, &body, &round, &[], &answer.shown()).unwrap();
    let next = read(&json!({"model": "m", "input": "go on", "previous_response_id": "resp_1"}));
    let input = restored(&next, &[&keeping])["input"].clone();
    assert_eq!((&input[0]["call_id"], &input[1]["content"]), (&json!("call_1"), &json!("go on")));
    assert!(input[0]["output"].as_str().unwrap().contains("not run"));
}

#[test]
fn unsealed_reasoning_does_not_come_back_to_one_that_stores_nothing() {
    let mixed = vec![vec![wire::reasoning("rs_1", "Hm."), ours(1), client()]];
    let (keeping, _) = turn(&read(&json!({"model": "m", "input": [user("hi")]})), &mixed);
    let answer = json!({"type": "function_call_output", "call_id": "call_c", "output": "x"});
    let next = read(&json!({"model": "m", "store": false, "input": [user("hi"), client(), answer]}));
    let expected = json!([user("hi"), ours(1), client(), result("call_1"), answer]);
    assert_eq!(restored(&next, &[&keeping.unwrap()])["input"], expected);
}

/// A turn of which only the trace is left.
fn expired(keeping: &Keeping) -> Keeping {
    Keeping { keys: keeping.keys.clone(), kept: keeping.kept.trace() }
}

#[test]
fn reasoning_whose_calls_have_expired_goes_too() {
    for stored in [true, false] {
        let rounds = vec![
            vec![wire::sealed("rs_1", "Hm."), ours(1)],
            vec![wire::sealed("rs_2", "So."), wire::message("msg_2", "done")],
        ];
        let stores = read(&json!({"model": "m", "input": [user("hi")]}));
        let (keeping, output) = turn(&if stored { stores.clone() } else { stateless(false) }, &rounds);
        let input = [vec![user("hi")], output, vec![user("x")]].concat();
        let next = read(&json!({"model": "m", "store": stored, "input": input}));
        let body = restored(&next, &[&expired(&keeping.unwrap())]);
        let expected =
            json!([user("hi"), wire::sealed("rs_2", "So."), wire::message("msg_2", "done"), user("x")]);
        assert_eq!(body["input"], expected);
        if stored {
            let names = ["rs_1", "msg_2"].map(|id| json!({"type": "item_reference", "id": id}));
            let next = read(&json!({"model": "m", "input": names}));
            let body = restored(&next, &[&expired(turn(&stores, &rounds).0.as_ref().unwrap())]);
            assert_eq!(body["input"], json!([names[1]]));
        }
    }
}

#[test]
fn a_client_hears_that_the_other_results_have_expired() {
    let mixed = vec![vec![wire::sealed("rs_1", "Hm."), ours(1), client()]];
    let (keeping, _) = turn(&stateless(false), &mixed);
    let keeping = expired(&keeping.unwrap());
    let ours = &keeping.kept.results[0];
    assert!(ours.get().contains("call_1") && ours.get().contains("expired"), "{ours}");
    for members in [json!({"previous_response_id": "resp_1"}), json!({"conversation": "c"})] {
        let answer = json!({"type": "function_call_output", "call_id": "call_c", "output": "sunny"});
        let mut body = json!({"model": "m", "input": [answer]});
        body.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
        let mut named = Keeping { keys: keeping.keys.clone(), kept: keeping.kept.clone() };
        named.keys.push("response:resp_1".to_owned());
        let input = restored(&read(&body), &[&named])["input"].clone();
        assert_eq!((&input[0]["call_id"], &input[1]["call_id"]), (&json!("call_1"), &json!("call_c")));
    }
    for (output, told) in
        [(json!("sunny"), "/1/output"), (json!([]), "/1/output/0/text"), (json!(""), "/1/output")]
    {
        let answer = json!({"type": "function_call_output", "call_id": "call_c", "output": output});
        let input = json!([wire::sealed("rs_1", "Hm."), client(), answer]);
        let body = restored(&read(&json!({"model": "m", "store": false, "input": input})), &[&keeping]);
        assert_eq!(body["input"].as_array().unwrap().len(), 2, "{body}");
        let told = body["input"].pointer(told).unwrap().as_str().unwrap();
        assert!(told.contains("expired") && told.starts_with(output.as_str().unwrap_or_default()), "{body}");
    }
}
