//! Whole conversations: the upstream always sees everything that was ever said, the client only its own.

use std::collections::HashMap;

use bytes::Bytes;
use dialects::{Anchor, Ask, ClientRequest, Ending, Kept};
use domain::ToolResult;
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::held;

use crate::support::*;

/// What the model says once: a text, its thinking, and calls that are ours (true) or the client's.
#[derive(Clone, Debug)]
struct Said {
    text: String,
    thinks: bool,
    calls: Vec<bool>,
    stream: bool,
}

fn said() -> impl Strategy<Value = Said> {
    let text = prop_oneof![Just(String::new()), Just("done".to_owned()), "[a-z é🙂\n\"]{1,8}"];
    (text, any::<bool>(), prop::collection::vec(any::<bool>(), 0..4), any::<bool>()).prop_map(
        |(mut text, thinks, calls, stream)| {
            // An answer without a word shows nothing by which it could be known again.
            if calls.is_empty() && text.trim().is_empty() {
                text.push_str("done");
            }
            Said { text, thinks, calls, stream }
        },
    )
}

/// One real provider, one client and the gateway between them.
struct World {
    dialect: &'static str,
    kept: HashMap<String, String>,
    /// All that was said, as the provider has to see it; each message in the form of [`plain_form`].
    truth: Vec<Value>,
    /// The client's own messages.
    client: Vec<Value>,
    ids: usize,
}

impl World {
    fn new(dialect: &'static str) -> Self {
        Self { dialect, kept: HashMap::new(), truth: Vec::new(), client: Vec::new(), ids: 0 }
    }

    fn user(&mut self, message: Value) {
        self.truth.push(plain_form(self.dialect, &message));
        self.client.push(message);
    }

    fn id(&mut self) -> String {
        self.ids += 1;
        format!("c{}", self.ids)
    }

    /// The upstream's answer, with what it has to see again.
    fn answer(&mut self, said: &Said) -> (String, Vec<(String, bool)>) {
        let calls: Vec<(String, bool)> = said.calls.iter().map(|ours| (self.id(), *ours)).collect();
        let name = |ours: bool| if ours { "read__1_0_0" } else { "theirs" };
        if self.dialect == CHAT {
            let text = if said.text.is_empty() { Value::Null } else { said.text.clone().into() };
            let mut message = json!({"role": "assistant", "content": text});
            let list: Vec<Value> = calls
                .iter()
                .map(|(id, ours)| json!({"id": id, "type": "function", "function": {"name": name(*ours), "arguments": "{}"}}))
                .collect();
            if !list.is_empty() {
                message["tool_calls"] = list.clone().into();
            }
            self.truth.push(plain_form(CHAT, &message));
            let finish = if list.is_empty() { "stop" } else { "tool_calls" };
            if !said.stream {
                let choices = json!([{"index": 0, "message": message, "finish_reason": finish}]);
                return (json!({"id": "c1", "choices": choices}).to_string(), calls);
            }
            let mut deltas = vec![json!({"role": "assistant", "content": ""})];
            deltas.extend((!said.text.is_empty()).then(|| json!({"content": said.text})));
            for (index, mut one) in list.into_iter().enumerate() {
                one["index"] = index.into();
                deltas.push(call(one));
            }
            return (chat(&deltas, finish), calls);
        }
        let mut blocks = Vec::new();
        let signature = format!("sig{}", self.ids);
        self.ids += 1;
        if said.thinks {
            blocks.push(json!({"type": "thinking", "thinking": "hm", "signature": signature}));
        }
        if !said.text.trim().is_empty() {
            blocks.push(json!({"type": "text", "text": said.text}));
        }
        blocks.extend(
            calls
                .iter()
                .map(|(id, ours)| json!({"type": "tool_use", "id": id, "name": name(*ours), "input": {}})),
        );
        if blocks.is_empty() {
            blocks.push(json!({"type": "text", "text": "."}));
        }
        self.truth.push(plain_form(MESSAGES, &json!({"role": "assistant", "content": blocks})));
        let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
        let body = if said.stream {
            let blocks: Vec<_> = blocks.into_iter().map(|block| (block, Vec::new())).collect();
            messages(&blocks, stop)
        } else {
            json!({"id": "msg_1", "role": "assistant", "content": blocks, "stop_reason": stop}).to_string()
        };
        (body, calls)
    }

    /// Results of these calls, for the truth.
    fn results(&mut self, ids: &[String]) {
        let messages: Vec<Value> = ids.iter().map(|id| result_of(self.dialect, id)).collect();
        if self.dialect == CHAT {
            self.truth.extend(messages.iter().map(|message| plain_form(CHAT, message)));
        } else {
            self.truth.push(plain_form(MESSAGES, &json!({"role": "user", "content": messages})));
        }
    }

    /// One request of the client and all its rounds, the way the server runs them. Says which calls the client has
    /// to answer.
    fn turn(&mut self, rounds: &mut impl Iterator<Item = Said>) -> Vec<String> {
        let dialect = dialect(self.dialect);
        let first = rounds.next().unwrap_or(Said {
            text: "over".into(),
            thinks: false,
            calls: vec![],
            stream: false,
        });
        let stream = first.stream;
        let body = json!({"model": "m", "stream": stream, "messages": self.client});
        let mut request = dialect.read_request("/x", body.to_string().into()).unwrap();
        self.restore(&mut request);
        let mut body = dialect.inject(&request, &[tool("read__1_0_0")]);
        let mut answer = dialect.answer(&request, owned());
        let mut out = Vec::new();
        let mut next = Some(first);
        loop {
            self.check(&body);
            let said = next.take().or_else(|| rounds.next());
            let said = said.unwrap_or(Said { text: "over".into(), thinks: false, calls: vec![], stream });
            let (bytes, calls) = self.answer(&Said { stream, ..said });
            answer.feed(bytes.as_bytes(), &mut out).unwrap();
            let round = answer.end_round(&mut out).unwrap();
            let result = |(id, _): &(String, bool)| ToolResult {
                call_id: id.clone(),
                name: "read__1_0_0".into(),
                content: format!("result of {id}"),
                parts: Vec::new(),
                is_error: false,
            };
            let ours: Vec<ToolResult> = calls.iter().filter(|(_, ours)| *ours).map(result).collect();
            let theirs: Vec<String> =
                calls.iter().filter(|(_, ours)| !ours).map(|(id, _)| id.clone()).collect();
            if !calls.is_empty() {
                let all: Vec<String> = calls.iter().map(|(id, _)| id.clone()).collect();
                self.results(&all);
            }
            if !theirs.is_empty() || ours.is_empty() {
                answer.finish(&Ending::default(), &mut out).unwrap();
                let keeping = dialect.keep(&request, &body, &round, &ours, &answer.shown());
                if let Some(keeping) = keeping {
                    let payload = serde_json::to_string(&keeping.kept).unwrap();
                    self.kept.extend(keeping.keys.into_iter().map(|key| (key, payload.clone())));
                }
                let text = String::from_utf8(out).unwrap();
                assert!(!text.contains("read__1_0_0"), "the client saw a call of ours: {text}");
                self.client.push(held::assistant_message(self.dialect, &text));
                return theirs;
            }
            body = dialect.follow_up(&request, &body, &round, &ours, Ask::Again, &[]).unwrap();
        }
    }

    fn restore(&self, request: &mut ClientRequest) {
        let dialect = dialect(self.dialect);
        let anchors = dialect.anchors(request).into_iter();
        let kept: Vec<(Anchor, Kept)> = anchors
            .filter_map(|anchor| Some((serde_json::from_str(self.kept.get(&anchor.key)?).unwrap(), anchor)))
            .map(|(kept, anchor)| (anchor, kept))
            .collect();
        let restored = dialect.restore(request, &kept);
        if restored != request.raw {
            request.unrestored = Some(std::mem::replace(&mut request.raw, restored));
        }
    }

    /// The upstream sees everything, in place and in order.
    fn check(&self, body: &Bytes) {
        let body: Value = serde_json::from_slice(body).unwrap();
        let seen = body["messages"].as_array().unwrap().iter();
        let seen: Vec<Value> = seen.map(|message| plain_form(self.dialect, message)).collect();
        assert_eq!(seen, self.truth, "client: {}", json!(self.client));
    }
}

fn result_of(dialect: &str, id: &str) -> Value {
    let content = format!("result of {id}");
    if dialect == CHAT {
        json!({"role": "tool", "tool_call_id": id, "content": content})
    } else {
        json!({"type": "tool_result", "tool_use_id": id, "content": content})
    }
}

/// A message without what clients may write in several ways.
fn plain_form(dialect: &str, message: &Value) -> Value {
    let mut message = message.clone();
    if dialect == CHAT && message["content"].is_null() {
        message["content"] = "".into();
    }
    message
}

/// What the client sends back for its calls.
fn answer_calls(world: &mut World, ids: &[String]) {
    let results: Vec<Value> = ids.iter().map(|id| result_of(world.dialect, id)).collect();
    if world.dialect == CHAT {
        world.client.extend(results);
    } else {
        world.client.push(json!({"role": "user", "content": results}));
    }
}

fn converse(dialect: &'static str, questions: Vec<Vec<Said>>) {
    let mut world = World::new(dialect);
    for rounds in questions {
        world.user(json!({"role": "user", "content": "go on"}));
        let mut rounds = rounds.into_iter();
        loop {
            let calls = world.turn(&mut rounds);
            if calls.is_empty() {
                break;
            }
            answer_calls(&mut world, &calls);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_upstream_sees_everything_and_the_client_only_its_own(
        questions in prop::collection::vec(prop::collection::vec(said(), 1..4), 1..5),
    ) {
        for dialect in [CHAT, MESSAGES] {
            converse(dialect, questions.clone());
        }
    }
}
