//! Answers that the provider stores: what is noted of them, and how they are shown again.

use bytes::Bytes;
use dialects::{Ask, ClientRequest, Ending, Issued};
use domain::ToolResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

const OURS: &str = "f__1_0_0";

fn read(body: &Value) -> ClientRequest {
    dialect(RESPONSES).read_request("/v1/responses", body.to_string().into()).unwrap()
}

/// A turn of these rounds; what is noted of it, and the client's object without what only the last event has.
fn turn(request: &ClientRequest, rounds: &[Vec<Value>], echo: &Value) -> (Option<Issued>, Value) {
    let dialect = dialect(RESPONSES);
    let mut answer = dialect.answer(request, owned());
    let (mut out, mut body) = (Vec::new(), dialect.inject(request, &[tool(OURS)]));
    for (n, items) in rounds.iter().enumerate() {
        let id = format!("resp_{}", n + 1);
        let mut whole = wire::response(&id, "completed", items);
        whole.as_object_mut().unwrap().extend(echo.as_object().unwrap().clone());
        let round = if request.stream {
            let mut events = wire::events(&id, items, "completed");
            for event in events.iter_mut().filter(|event| event["response"].is_object()) {
                event["response"].as_object_mut().unwrap().extend(echo.as_object().unwrap().clone());
            }
            wire::sse(&events)
        } else {
            whole.to_string()
        };
        answer.feed(round.as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        if n + 1 == rounds.len() {
            answer.finish(&Ending::default(), &mut out).unwrap();
            let issued = dialect.issued(request, Some(&round), &answer.shown(), &[OURS.to_owned()]);
            let text = String::from_utf8(out).unwrap();
            let last: Value = serde_json::from_str(text.rsplit("data: ").next().unwrap()).unwrap();
            return (issued, last.get("response").cloned().unwrap_or(last));
        }
        let results: Vec<ToolResult> = results(&round);
        body = dialect.follow_up(request, &body, &round, &results, Ask::Again, &[]).unwrap();
        answer.asks(&body);
    }
    panic!("a turn without rounds");
}

fn shown(body: &Value, id: &str, issued: &Issued) -> Value {
    let written: Issued = serde_json::from_str(&serde_json::to_string(issued).unwrap()).unwrap();
    let body = dialect(RESPONSES).retrieved(&body.to_string().into(), id, &written).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn ours(n: usize) -> Value {
    wire::call(&format!("fc_{n}"), &format!("call_{n}"), OURS, "{}")
}

fn result(n: usize) -> Value {
    json!({"id": format!("fco_{n}"), "type": "function_call_output", "call_id": format!("call_{n}"), "output": "secret"})
}

fn two_rounds() -> Vec<Vec<Value>> {
    vec![
        vec![wire::message("msg_1", "Let me see."), ours(1)],
        vec![wire::reasoning("rs_2", "So."), wire::message("msg_2", "done")],
    ]
}

#[test]
fn a_stored_answer_is_what_the_client_saw() {
    for stream in [false, true] {
        let mut request =
            read(&json!({"model": "m", "stream": stream, "input": "x", "previous_response_id": "mine"}));
        let theirs = request.raw.clone();
        request.raw = Bytes::from(String::from_utf8(theirs.to_vec()).unwrap().replace("mine", "resp_0"));
        request.unrestored = Some(theirs);
        let tools = json!([{"type": "function", "name": "client"}, {"type": "function", "name": OURS}]);
        let echo = json!({"tools": tools, "tool_choice": "auto", "previous_response_id": "resp_0"});
        let (issued, seen) = turn(&request, &two_rounds(), &echo);
        let issued = issued.unwrap();
        let id = if stream { "resp_1" } else { "resp_2" };
        assert_eq!((issued.ids.join(" "), issued.calls.join(" ")), ("resp_1 resp_2".into(), "call_1".into()));
        assert_eq!((&seen["id"], &seen["previous_response_id"]), (&json!(id), &json!("mine")));
        let mut stored = wire::response("resp_2", "completed", &two_rounds()[1]);
        stored.as_object_mut().unwrap().extend(echo.as_object().unwrap().clone());
        stored["previous_response_id"] = json!("resp_1");
        assert_eq!(shown(&stored, id, &issued), seen, "stream={stream}");
    }
}

#[test]
fn an_answer_of_one_round_hides_no_more_than_our_tools() {
    let request = read(&json!({"model": "m", "input": "x"}));
    let rounds = [vec![wire::message("msg_1", "done")]];
    let echo = json!({"tools": [{"type": "function", "name": OURS}]});
    let (issued, seen) = turn(&request, &rounds, &echo);
    let issued = issued.unwrap();
    assert!(issued.differs.is_none() && !issued.is_plain("resp_1"));
    let mut stored = wire::response("resp_1", "completed", &rounds[0]);
    stored["tools"] = echo["tools"].clone();
    assert_eq!(shown(&stored, "resp_1", &issued), seen);
    let passed = dialects::Shown { id: Some("resp_1".to_owned()), ..dialects::Shown::default() };
    assert!(dialect(RESPONSES).issued(&request, None, &passed, &[]).unwrap().is_plain("resp_1"));
    let unstored = read(&json!({"model": "m", "input": "x", "store": false}));
    assert!(turn(&unstored, &rounds, &echo).0.is_none());
    assert!(dialect(RESPONSES).issued(&unstored, None, &passed, &[]).is_none());
}

#[test]
fn lists_errors_and_deletions_show_nothing_of_ours() {
    let (issued, _) = turn(&read(&json!({"model": "m", "input": "x"})), &two_rounds(), &json!({}));
    let issued = issued.unwrap();
    let user = json!({"id": "msg_u", "type": "message", "role": "user", "content": []});
    let theirs = wire::call("fc_c", "call_c", "client", "{}");
    // A call of an earlier turn is known by its name, its result by the call, whatever the order.
    let all = [result(9), ours(9), theirs.clone(), result(1), ours(1), user.clone()];
    for reverse in [false, true] {
        let mut data = all.to_vec();
        let mut left = vec![theirs.clone(), user.clone()];
        if reverse {
            data.reverse();
            left.reverse();
        }
        let ends = [&data[0]["id"], &data[data.len() - 1]["id"]];
        let list = json!({"object": "list", "data": data, "first_id": ends[0], "last_id": ends[1], "has_more": false});
        let ends = [left[0]["id"].clone(), left[1]["id"].clone()];
        let expected = json!({"object": "list", "data": left, "first_id": ends[0], "last_id": ends[1], "has_more": false});
        assert_eq!(shown(&list, "mine", &issued), expected);
    }
    for object in ["response", "response.deleted"] {
        let gone = |id: &str| json!({"id": id, "object": object, "deleted": true});
        assert_eq!(shown(&gone("resp_2"), "mine", &issued), gone("mine"));
    }
    let error = json!({"error": {"message": "Response with id 'resp_2' not found."}});
    assert_eq!(shown(&error, "mine", &issued)["error"]["message"], "Response with id 'mine' not found.");
    // Without the client's own list the last round's is what there is.
    let bare = Issued { differs: None, ..issued };
    let stored = wire::response("resp_2", "completed", &[wire::message("msg_2", "done"), ours(2)]);
    assert_eq!(shown(&stored, "mine", &bare)["output"], json!([wire::message("msg_2", "done")]));
}

#[test]
fn calls_that_were_put_back_or_inherited_stay_hidden() {
    let mut request = read(&json!({"model": "m", "input": [{"role": "user", "content": "x"}]}));
    request.hidden_calls = vec!["call_0".to_owned()];
    request.unrestored = Some(request.raw.clone());
    request.raw = json!({"model": "m", "input": [ours(1), result(1), {"role": "user", "content": "x"}]})
        .to_string()
        .into();
    let (issued, _) = turn(&request, &[vec![wire::message("msg_1", "done"), ours(2)]], &json!({}));
    assert_eq!(issued.unwrap().calls, ["call_0", "call_1", "call_2"]);
}

proptest! {
    #[test]
    fn odd_bodies_never_panic_and_hide_what_is_ours(
        object in "(response|list|response.deleted|x)?", member in "(output|data|tools|error|id)", ours in any::<bool>(),
    ) {
        let issued = Issued { ids: vec!["resp_9".to_owned()], calls: vec!["call_1".to_owned()], tools: vec![OURS.to_owned()], ..Issued::default() };
        let item = if ours { result(1) } else { json!(["call_1", 7, null]) };
        for value in [json!([item]), item.clone(), json!(null), json!("resp_9")] {
            let body = json!({"object": object, member.as_str(): value});
            let seen = dialect(RESPONSES).retrieved(&body.to_string().into(), "mine", &issued).unwrap();
            let seen: Value = serde_json::from_slice(&seen).unwrap();
            let listed = (object.as_str(), member.as_str());
            if ours && value.is_array() && [("response", "output"), ("list", "data")].contains(&listed) {
                prop_assert_eq!(&seen[member.as_str()], &json!([]));
            }
        }
        for text in ["", "[]", "7", "{", "\u{0}"] {
            prop_assert!(dialect(RESPONSES).retrieved(&Bytes::from(text), "mine", &issued).is_none());
        }
    }
}
