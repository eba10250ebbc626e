//! Answers that show calls and results, sent back: the provider sees what it has said, in the places where it said it.

use dialects::{Anchor, Ask, ClientRequest, Ending, Keeping, Kept};
use domain::ToolResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::*;

/// What the model says once. Of its calls some are ours (true).
#[derive(Clone, Debug)]
struct Said {
    text: bool,
    thinks: bool,
    calls: Vec<bool>,
    /// Whether its calls have ids, where that is up to the provider.
    named: bool,
}

fn said(calls: impl Strategy<Value = Vec<bool>>) -> impl Strategy<Value = Said> {
    (any::<bool>(), any::<bool>(), calls, any::<bool>()).prop_map(|(text, thinks, calls, named)| Said {
        text,
        thinks,
        calls,
        named,
    })
}

/// Rounds of a turn: only the last one calls what is the client's, or nothing.
fn turn() -> impl Strategy<Value = Vec<Said>> {
    let early = said(prop::collection::vec(Just(true), 1..4));
    let last = said(prop::collection::vec(any::<bool>(), 0..4))
        .prop_filter("somebody goes on", |last| last.calls.is_empty() || last.calls.contains(&false));
    (prop::collection::vec(early, 0..3), last).prop_map(|(mut rounds, last)| {
        rounds.push(last);
        rounds
    })
}

/// How a client handles what it got.
#[derive(Clone, Copy, Debug)]
struct Habits {
    drops_ids: bool,
    answers_apart: bool,
}

/// A provider that is told everything, and a client that sees it spliced.
struct World {
    dialect: &'static str,
    habits: Habits,
    truth: Vec<Value>,
    client: Vec<Value>,
    number: usize,
}

impl World {
    fn new(dialect: &'static str, habits: Habits) -> Self {
        Self { dialect, habits, truth: Vec::new(), client: Vec::new(), number: 0 }
    }

    fn word(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}_{}", self.number)
    }

    fn asks(&mut self) {
        let message = match self.dialect {
            GEMINI => json!({"role": "user", "parts": [{"text": "go on"}]}),
            _ => json!({"role": "user", "content": "go on"}),
        };
        self.truth.push(message.clone());
        self.client.push(message);
    }

    /// The items or parts of one answer.
    fn says(&mut self, said: &Said) -> Vec<Value> {
        let mut all = Vec::new();
        let name = |ours: bool| if ours { "read__1_0_0" } else { "theirs" };
        let says_text = said.text || said.calls.is_empty();
        if self.dialect == RESPONSES {
            all.extend(said.thinks.then(|| wire::sealed(&self.word("rs"), "Hm.")));
            all.extend(says_text.then(|| wire::message(&self.word("msg"), "I see.")));
            for ours in &said.calls {
                let (id, call_id) = (self.word("fc"), self.word("call"));
                all.push(wire::call(&id, &call_id, name(*ours), "{}"));
            }
            return all;
        }
        all.extend(said.thinks.then(|| json!({"text": "Hm.", "thought": true})));
        all.extend(says_text.then(|| json!({"text": "I see."})));
        for (n, ours) in said.calls.iter().enumerate() {
            let mut part = json!({"functionCall": {"name": name(*ours), "args": {"n": n}}});
            if said.named {
                part["functionCall"]["id"] = self.word("fc").into();
            }
            if said.thinks && n == 0 {
                part["thoughtSignature"] = self.word("sig").into();
            }
            all.push(part);
        }
        all
    }

    fn body(&mut self, all: &[Value]) -> String {
        let id = self.word("resp");
        if self.dialect == RESPONSES {
            return wire::response(&id, "completed", all).to_string();
        }
        let content = json!({"role": "model", "parts": all});
        let candidate = json!({"content": content, "finishReason": "STOP"});
        json!({"candidates": [candidate], "responseId": id}).to_string()
    }

    fn request(&self) -> ClientRequest {
        let include = ["reasoning.encrypted_content"];
        let body = match self.dialect {
            GEMINI => json!({"contents": self.client}),
            _ => json!({"model": "m", "store": false, "include": include, "input": self.client}),
        };
        dialect(self.dialect).read_request(&target(self.dialect, false), body.to_string().into()).unwrap()
    }

    /// What the upstream is asked must be the truth.
    fn check(&self, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap();
        let history = if self.dialect == GEMINI { &body["contents"] } else { &body["input"] };
        assert_eq!(*history, json!(self.truth));
    }

    /// One request of the client with all its rounds; gives the calls that it has to answer.
    fn turn(&mut self, rounds: &[Said], last_is_ours: bool) -> Vec<Value> {
        let dialect = dialect(self.dialect);
        let request = self.request();
        let mut body = dialect.inject(&request, &[]);
        let mut answer = dialect.answer(&request, owned());
        let mut out = Vec::new();
        let mut theirs = Vec::new();
        for (n, said) in rounds.iter().enumerate() {
            self.check(&body);
            let all = self.says(said);
            answer.feed(self.body(&all).as_bytes(), &mut out).unwrap();
            let round = answer.end_round(&mut out).unwrap();
            let ours: Vec<ToolResult> = round
                .calls
                .iter()
                .filter(|call| call.owned)
                .map(|call| ToolResult {
                    call_id: call.call.id.clone(),
                    name: call.call.name.clone(),
                    content: format!("result {}", call.call.arguments),
                    parts: Vec::new(),
                    is_error: call.call.arguments.contains('1'),
                })
                .collect();
            let is_last = n + 1 == rounds.len();
            if !ours.is_empty() {
                let shows_all = answer.splice(&ours, is_last && last_is_ours);
                assert_eq!(shows_all, self.dialect == GEMINI);
            }
            self.says_truly(&all, said, &ours);
            if is_last {
                answer.finish(&Ending::default(), &mut out).unwrap();
                if self.dialect == RESPONSES {
                    let keeping = dialect.keep(&request, &body, &round, &ours, &answer.shown());
                    assert!(ours.is_empty() || keeping.is_none(), "nothing comes back a second time");
                }
                theirs = all.into_iter().filter(|one| one.to_string().contains("\"theirs\"")).collect();
                let wanted: Vec<String> =
                    round.calls.iter().filter(|call| !call.owned).map(|call| call.call.id.clone()).collect();
                assert_eq!(answer.shown().call_ids, wanted);
            } else {
                body = dialect.follow_up(&request, &body, &round, &ours, Ask::Again, &[]).unwrap();
            }
        }
        self.client_takes(&serde_json::from_slice(&out).unwrap());
        theirs
    }

    /// Adds a round to the truth. Results of the client's calls are in it at once.
    fn says_truly(&mut self, all: &[Value], said: &Said, ours: &[ToolResult]) {
        if self.dialect == RESPONSES {
            self.truth.extend(all.iter().cloned());
            let output = |result: &ToolResult| json!({"type": "function_call_output", "call_id": result.call_id, "output": result.content});
            self.truth.extend(ours.iter().map(output));
            return;
        }
        self.truth.push(json!({"role": "model", "parts": all}));
        let mut ours = ours.iter();
        let calls = all.iter().filter_map(|part| part.get("functionCall"));
        let parts: Vec<Value> = calls
            .zip(&said.calls)
            .map(|(call, is_ours)| {
                let mut response = if *is_ours {
                    let result = ours.next().unwrap();
                    let word = if result.is_error { "error" } else { "result" };
                    json!({"name": call["name"], "response": {word: result.content}})
                } else {
                    json!({"name": call["name"], "response": {"answer": call["args"]}})
                };
                if call["id"].is_string() && (*is_ours || !self.habits.drops_ids) {
                    response["id"] = call["id"].clone();
                }
                json!({"functionResponse": response})
            })
            .collect();
        self.truth.extend((!parts.is_empty()).then(|| json!({"role": "user", "parts": parts})));
    }

    fn client_takes(&mut self, answer: &Value) {
        if self.dialect == RESPONSES {
            self.client.extend(answer["output"].as_array().unwrap().iter().cloned());
        } else {
            self.client.push(answer["candidates"][0]["content"].clone());
        }
    }

    /// The client answers its calls.
    fn answers(&mut self, calls: &[Value]) {
        if self.dialect == RESPONSES {
            for call in calls {
                let output =
                    json!({"type": "function_call_output", "call_id": call["call_id"], "output": "ok"});
                self.truth.push(output.clone());
                self.client.push(output);
            }
            return;
        }
        let shown = self.client.last().unwrap()["parts"].as_array().unwrap().clone();
        let is_spliced = shown.last().is_some_and(|part| part.get("functionResponse").is_some());
        let shown = shown.iter().filter_map(|part| part.get("functionCall"));
        let mut parts: Vec<Value> = shown
            .filter(|call| call["name"] == "theirs")
            .map(|call| {
                let mut response = json!({"name": "theirs", "response": {"answer": call["args"]}});
                if !self.habits.drops_ids && call["id"].is_string() {
                    response["id"] = call["id"].clone();
                }
                json!({"functionResponse": response})
            })
            .collect();
        // Where one of the calls is the gateway's, each has an id, and any order will do.
        if parts.iter().all(|part| part["functionResponse"]["id"].is_string()) && is_spliced {
            parts.reverse();
        }
        let user = |parts: &[Value]| json!({"role": "user", "parts": parts});
        if self.habits.answers_apart && is_spliced {
            self.client.extend(parts.chunks(1).map(user));
        } else {
            self.client.push(user(&parts));
        }
    }
}

fn converse(dialect: &'static str, habits: Habits, turns: &[Vec<Said>]) {
    let mut world = World::new(dialect, habits);
    for rounds in turns {
        world.asks();
        let calls = world.turn(rounds, false);
        if !calls.is_empty() {
            world.answers(&calls);
            let done = Said { text: true, thinks: false, calls: vec![], named: false };
            assert_eq!(world.turn(&[done], false), Vec::<Value>::new());
        }
    }
    // One round, and nothing behind its results but the user's next question.
    world.asks();
    world.turn(&[Said { text: false, thinks: true, calls: vec![true, true], named: false }], true);
    world.asks();
    world.turn(&[Said { text: true, thinks: false, calls: vec![], named: false }], false);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_was_spliced_comes_back_as_it_was_said(
        turns in prop::collection::vec(turn(), 1..4), drops_ids: bool, answers_apart: bool,
    ) {
        for dialect in [RESPONSES, GEMINI] {
            converse(dialect, Habits { drops_ids, answers_apart }, &turns);
        }
    }

    #[test]
    fn odd_histories_never_panic_and_stay_json(parts in prop::collection::vec(prop::sample::select(vec![
        json!({"functionCall": {"name": "a"}}), json!({"functionResponse": {"name": "a"}}), json!({"text": "x"}), json!(7),
        json!({"function_response": {"name": "a", "id": 7}}), json!({"functionResponse": null}), json!({"functionCall": []}),
    ]), 0..8), cut in 0usize..8) {
        let cut = cut.min(parts.len());
        let contents = json!([{"role": "model", "parts": parts[..cut]}, {"role": "user", "parts": parts[cut..]}]);
        let body = json!({"contents": contents}).to_string();
        let request = dialect(GEMINI).read_request(&target(GEMINI, false), body.clone().into()).unwrap();
        let now: Value = serde_json::from_slice(&request.raw).unwrap();
        prop_assert!(request.was_spliced || request.raw == body);
        for content in now["contents"].as_array().unwrap() {
            let parts = content["parts"].as_array().unwrap();
            let is_result = |part: &Value| part["functionResponse"].is_object() || part["function_response"].is_object();
            prop_assert!(content["role"] != "model" || !parts.iter().any(is_result));
        }
    }
}

/// One turn of stored answers, its results spliced.
fn stored(rounds: &[Vec<Value>], more: Value) -> (Option<Keeping>, Value) {
    let dialect = dialect(RESPONSES);
    let mut body = json!({"model": "m", "input": "hi"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let request = dialect.read_request("/v1/responses", body.to_string().into()).unwrap();
    let mut body = dialect.inject(&request, &[tool("f__1_0_0")]);
    let mut answer = dialect.answer(&request, owned());
    let mut out = Vec::new();
    for (n, items) in rounds.iter().enumerate() {
        let response = wire::response(&format!("resp_{}", n + 1), "completed", items).to_string();
        answer.feed(response.as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        let all = results(&round).into_iter().zip(&round.calls);
        let ours: Vec<ToolResult> = all.filter(|(_, call)| call.owned).map(|(result, _)| result).collect();
        let is_last = n + 1 == rounds.len();
        if !ours.is_empty() {
            answer.splice(&ours, is_last);
        }
        if is_last {
            answer.finish(&Ending::default(), &mut out).unwrap();
            let keeping = dialect.keep(&request, &body, &round, &ours, &answer.shown());
            let answer: Value = serde_json::from_slice(&out).unwrap();
            return (keeping, answer["output"].clone());
        }
        body = dialect.follow_up(&request, &body, &round, &ours, Ask::Again, &[]).unwrap();
    }
    panic!("a turn without rounds");
}

/// The input of a later request, after what was kept has been put back.
fn later(body: &Value, keeping: &Keeping) -> Value {
    let dialect = dialect(RESPONSES);
    let request = dialect.read_request("/v1/responses", body.to_string().into()).unwrap();
    let copy = |kept: &Kept| serde_json::from_str::<Kept>(&serde_json::to_string(kept).unwrap()).unwrap();
    let anchors = dialect.anchors(&request).into_iter().filter(|anchor| keeping.keys.contains(&anchor.key));
    let found: Vec<(Anchor, Kept)> = anchors.map(|anchor| (anchor, copy(&keeping.kept))).collect();
    serde_json::from_slice::<Value>(&dialect.restore(&request, &found)).unwrap()["input"].take()
}

fn ours(n: usize) -> Value {
    wire::call(&format!("fc_{n}"), &format!("call_{n}"), "f__1_0_0", "")
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "result of f__1_0_0"})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn the_answer_of_that_name_is_not_told_twice_and_lacks_no_result() {
    let client = wire::call("fc_c", "call_c", "client", "{}");
    let first = vec![wire::reasoning("rs_1", "Hm."), ours(1)];
    let theirs = json!({"type": "function_call_output", "call_id": "call_c", "output": "ok"});

    // All is stored but what the last round has called.
    let (keeping, items) = stored(&[first.clone(), vec![ours(2), client.clone()]], json!({}));
    let keeping = keeping.unwrap();
    let kinds: Vec<_> = items.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds.join(" "),
        "reasoning function_call function_call_output function_call function_call function_call_output"
    );
    assert_eq!(items[1]["arguments"], "{}", "blank ones are refused in a history");
    let wanted = json!([output("call_2"), theirs, user("x")]);
    for input in [
        json!([theirs, user("x")]),
        json!([output("call_2"), theirs, user("x")]),
        json!([output("call_1"), output("call_2"), theirs, user("x")]),
        Value::Array([items.as_array().unwrap().clone(), vec![theirs.clone(), user("x")]].concat()),
    ] {
        let body = json!({"model": "m", "previous_response_id": "resp_2", "input": input});
        assert_eq!(later(&body, &keeping), wanted, "{input}");
    }
    // Without the name the history has it all, stored or not.
    let input = [vec![user("hi")], items.as_array().unwrap().clone(), vec![theirs, user("x")]].concat();
    for store in [true, false] {
        assert_eq!(later(&json!({"model": "m", "store": store, "input": input}), &keeping), json!(input));
    }

    // Nothing but a question, after one round.
    let (keeping, _) = stored(std::slice::from_ref(&first), json!({}));
    let body = json!({"model": "m", "previous_response_id": "resp_1", "input": "x"});
    let question = json!({"type": "message", "role": "user", "content": "x"});
    assert_eq!(later(&body, &keeping.unwrap()), json!([output("call_1"), question]));
}

#[test]
fn a_conversation_gets_the_results_beside_the_clients() {
    let client = wire::call("fc_c", "call_c", "client", "{}");
    let more = json!({"conversation": "c"});
    let (keeping, _) = stored(&[vec![ours(1), client]], more);
    let theirs = json!({"type": "function_call_output", "call_id": "call_c", "output": "ok"});
    let keeping = keeping.unwrap();
    for input in [json!([theirs]), json!([output("call_1"), theirs])] {
        let body = json!({"model": "m", "conversation": "c", "input": input});
        assert_eq!(later(&body, &keeping), json!([output("call_1"), theirs]));
    }
    let (keeping, _) =
        stored(&[vec![ours(1)], vec![wire::message("msg_1", "done")]], json!({"conversation": "c"}));
    assert!(keeping.is_none(), "the conversation has it all");
}

#[test]
fn reasoning_is_shown_with_what_it_needs_to_come_back() {
    let rounds =
        |last: Value| [vec![wire::sealed("rs_1", "Hm."), ours(1)], vec![wire::sealed("rs_2", "So."), last]];
    let (_, items) = stored(&rounds(wire::message("msg_1", "done")), json!({"store": false}));
    assert!(
        items[0]["encrypted_content"].is_string() && items[3]["encrypted_content"].is_string(),
        "{items}"
    );
    // Nothing is spliced, nothing more is shown.
    let only = [vec![wire::sealed("rs_2", "So."), wire::message("msg_1", "done")]];
    let (_, items) = stored(&only, json!({"store": false}));
    assert_eq!(items[0], wire::reasoning("rs_2", "So."));
}

#[test]
fn a_call_without_a_result_is_not_shown_nor_what_led_to_it() {
    let dialect = dialect(RESPONSES);
    let request = dialect.read_request("/v1/responses", r#"{"model":"m","input":"hi"}"#.into()).unwrap();
    let mut answer = dialect.answer(&request, owned());
    let mut out = Vec::new();
    let rounds = [
        vec![wire::reasoning("rs_1", "Hm."), ours(1)],
        vec![wire::message("msg_2", "So"), wire::reasoning("rs_2", "And?"), ours(2)],
    ];
    for (n, items) in rounds.iter().enumerate() {
        let response = wire::response(&format!("resp_{n}"), "completed", items).to_string();
        answer.feed(response.as_bytes(), &mut out).unwrap();
        let round = answer.end_round(&mut out).unwrap();
        if n == 0 {
            answer.splice(&results(&round), false);
        } else {
            answer.finish(&Ending::default(), &mut out).unwrap();
            let keeping = dialect.keep(&request, &request.raw, &round, &[], &answer.shown()).unwrap();
            assert!(keeping.kept.results[0].get().contains("not_run"), "the stored answer has the call");
        }
    }
    let answer: Value = serde_json::from_slice(&out).unwrap();
    let ids: Vec<_> = answer["output"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, [&json!("rs_1"), &json!("fc_1"), &Value::Null, &json!("msg_2")]);
}
