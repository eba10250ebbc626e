//! Hidden rounds of the `gemini` dialect: kept, found again, put back.

use dialects::{Anchor, Ask, Call, ClientRequest, Keeping, Kept, Round};
use domain::ToolResult;
use serde_json::{Value, json};

use crate::support::*;

fn asked(contents: Value) -> ClientRequest {
    let body = json!({"contents": contents}).to_string();
    dialect(GEMINI).read_request(&target(GEMINI, false), body.into()).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn model(parts: Value) -> Value {
    json!({"role": "model", "parts": parts})
}

fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

fn response(name: &str, content: Value) -> Value {
    json!({"functionResponse": {"name": name, "response": content}})
}

/// A turn with these rounds of the model, and what it leaves: the client's view of the answer, what is kept.
fn turn(request: &ClientRequest, rounds: &[Value]) -> (Value, Option<Keeping>, Value) {
    let dialect = dialect(GEMINI);
    let mut answer = dialect.answer(request, owned());
    let (mut body, mut out) = (dialect.inject(request, &[]), Vec::new());
    let mut last: Option<Round> = None;
    let mine = |round: &Round| -> Vec<ToolResult> {
        let is_owned = |id: &str| round.calls.iter().any(|call: &Call| call.owned && call.call.id == id);
        results(round).into_iter().filter(|result| is_owned(&result.call_id)).collect()
    };
    for parts in rounds {
        if let Some(round) = &last {
            body = dialect.follow_up(request, &body, round, &mine(round), Ask::Again, &[]).unwrap();
        }
        let candidate = json!({"content": model(parts.clone()), "finishReason": "STOP"});
        answer
            .feed(json!({"candidates": [candidate], "responseId": "r"}).to_string().as_bytes(), &mut out)
            .unwrap();
        last = Some(answer.end_round(&mut out).unwrap());
    }
    answer.finish(&dialects::Ending::default(), &mut out).unwrap();
    let last = last.unwrap();
    let keeping = dialect.keep(request, &body, &last, &mine(&last), &answer.shown());
    let seen: Value = serde_json::from_slice(&out).unwrap();
    (seen["candidates"][0]["content"].clone(), keeping, serde_json::from_slice(&body).unwrap())
}

/// The contents after everything that was kept has been put back, as the upstream gets them.
fn restored(request: &ClientRequest, keeping: &Keeping) -> Value {
    let dialect = dialect(GEMINI);
    let found: Vec<(Anchor, Kept)> = dialect
        .anchors(request)
        .into_iter()
        .filter(|anchor| keeping.keys.contains(&anchor.key))
        .map(|anchor| (anchor, keeping.kept.clone()))
        .collect();
    let raw = dialect.restore(request, &found);
    let request = ClientRequest { raw, ..request.clone() };
    let body: Value = serde_json::from_slice(&dialect.inject(&request, &[])).unwrap();
    body["contents"].clone()
}

#[test]
fn the_next_question_still_knows_what_the_tools_returned() {
    let first = asked(json!([user("hi")]));
    let signed = json!({"functionCall": {"name": "read__1_0_0", "args": {}}, "thoughtSignature": "c2ln"});
    let (seen, keeping, body) =
        turn(&first, &[json!([{"text": "Let me see. "}, signed]), json!([{"text": "It is 42."}])]);
    assert_eq!(seen["parts"], json!([{"text": "Let me see. "}, {"text": "It is 42."}]));
    let keeping = keeping.unwrap();
    let pieces: Vec<Value> =
        ["Let me ", "see. It", "", " is 42."].iter().map(|text| model(json!([{"text": text}]))).collect();
    for shown in [vec![seen], pieces] {
        let mut contents = vec![user("hi")];
        contents.extend(shown.clone());
        contents.push(user("why?"));
        let whole = restored(&asked(json!(contents)), &keeping);
        let rounds = &body["contents"];
        assert_eq!(
            whole,
            json!([user("hi"), rounds[1], rounds[2], model(json!([{"text": "It is 42."}])), user("why?")])
        );
        assert_eq!(whole[1]["parts"][1]["thoughtSignature"], "c2ln");

        let changed = asked(json!([user("hi"), model(json!([{"text": "It is 43."}])), user("why?")]));
        assert_eq!(
            restored(&changed, &keeping),
            serde_json::from_slice::<Value>(&changed.raw).unwrap()["contents"]
        );
    }
}

#[test]
fn a_mixed_message_gets_its_calls_and_results_back_in_order() {
    let first = asked(json!([user("both")]));
    let said = json!([
        call("theirs", json!({"q": 1})),
        call("read__1_0_0", json!({"p": 1})),
        call("theirs", json!({"q": 2}))
    ]);
    let (seen, keeping, _) = turn(&first, std::slice::from_ref(&said));
    let keeping = keeping.unwrap();
    let ours = response("read__1_0_0", json!({"result": "result of read__1_0_0"}));
    let answers = |ids: [Option<&Value>; 2]| -> Vec<Value> {
        let one = |(n, id): (usize, Option<&Value>)| {
            let mut part = response("theirs", json!({"n": n}));
            if let Some(id) = id {
                part["functionResponse"]["id"] = id.clone();
            }
            part
        };
        ids.into_iter().enumerate().map(one).collect()
    };
    let ids: Vec<Value> =
        seen["parts"].as_array().unwrap().iter().map(|part| part["functionCall"]["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    let wanted = json!([
        user("both"), model(said),
        {"role": "user", "parts": [response("theirs", json!({"n": 0})), ours, response("theirs", json!({"n": 1}))]},
        user("and?"),
    ]);
    // The client keeps the ids, or drops them, or answers in two contents.
    let bare = model(json!([call("theirs", json!({"q": 1})), call("theirs", json!({"q": 2}))]));
    let with = answers([Some(&ids[0]), Some(&ids[1])]);
    let without = answers([None, None]);
    for contents in [
        json!([user("both"), seen, {"role": "user", "parts": with}, user("and?")]),
        json!([user("both"), bare, {"role": "user", "parts": without}, user("and?")]),
        json!([user("both"), bare, {"role": "user", "parts": [without[0]]}, {"role": "user", "parts": [without[1]]}, user("and?")]),
    ] {
        assert_eq!(restored(&asked(contents), &keeping), wanted);
    }
    // A client that has not answered all of its calls gets no more calls that lack a response.
    for contents in [
        json!([user("both"), bare, {"role": "user", "parts": [without[0]]}]),
        json!([user("both"), bare]),
        json!([user("else"), bare, {"role": "user", "parts": without}]),
    ] {
        assert_eq!(restored(&asked(contents.clone()), &keeping), contents);
    }
}

#[test]
fn rounds_before_a_mixed_message_come_back_too() {
    let first = asked(json!([user("go")]));
    let mixed = json!([call("read__1_0_0", json!({})), call("theirs", json!({}))]);
    let (seen, keeping, body) = turn(&first, &[json!([call("read__1_0_0", json!({"a": 1}))]), mixed.clone()]);
    let answer = json!({"role": "user", "parts": [response("theirs", json!({}))]});
    let whole = restored(&asked(json!([user("go"), seen, answer])), &keeping.unwrap());
    let ours = response("read__1_0_0", json!({"result": "result of read__1_0_0"}));
    let both = json!({"role": "user", "parts": [ours, response("theirs", json!({}))]});
    assert_eq!(whole, json!([user("go"), body["contents"][1], body["contents"][2], model(mixed), both]));
}

#[test]
fn a_turn_without_anything_hidden_is_not_kept() {
    let (_, keeping, _) = turn(&asked(json!([user("hi")])), &[json!([{"text": "hello"}])]);
    assert!(keeping.is_none());
    let (_, keeping, _) = turn(&asked(json!([user("hi")])), &[json!([call("theirs", json!({}))])]);
    assert!(keeping.is_none());
}

#[test]
fn what_has_expired_or_is_odd_changes_nothing() {
    let (_, keeping, _) =
        turn(&asked(json!([user("hi")])), &[json!([call("a__1_0_0", json!({}))]), json!([{"text": "42"}])]);
    let mut keeping = keeping.unwrap();
    let next = asked(json!([user("hi"), model(json!([{"text": "42"}])), user("why?")]));
    assert_ne!(restored(&next, &keeping), serde_json::from_slice::<Value>(&next.raw).unwrap()["contents"]);
    keeping.kept = keeping.kept.trace();
    assert_eq!(restored(&next, &keeping), serde_json::from_slice::<Value>(&next.raw).unwrap()["contents"]);
    for odd in [json!([7, null]), json!([model(json!(7))]), json!([model(json!([7, {"functionCall": 7}]))])] {
        let body = json!({"contents": odd}).to_string();
        let request = ClientRequest { raw: body.clone().into(), ..ClientRequest::default() };
        let anchors = dialect(GEMINI).anchors(&request);
        let found: Vec<_> = anchors.into_iter().map(|anchor| (anchor, keeping.kept.clone())).collect();
        assert_eq!(dialect(GEMINI).restore(&request, &found), body);
    }
}
