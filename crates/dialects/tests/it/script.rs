//! Random rounds, and how a provider of each dialect would send them, streamed and plain.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::responses_wire as wire;
use crate::support::{CHAT, RESPONSES, call, chat, chunk, messages, sse};

/// A call with its arguments in the pieces in which they are streamed.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedCall {
    pub(crate) ours: bool,
    pub(crate) pieces: Vec<String>,
}

impl ScriptedCall {
    fn name(&self) -> &'static str {
        if self.ours { "read__1_0_0" } else { "read" }
    }

    fn arguments(&self) -> String {
        self.pieces.concat()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ScriptedRound {
    pub(crate) texts: Vec<String>,
    pub(crate) calls: Vec<ScriptedCall>,
    tokens: u64,
    /// Its place in the turn, for ids.
    number: usize,
}

fn scripted_call(ours: impl Strategy<Value = bool>) -> impl Strategy<Value = ScriptedCall> {
    (ours, prop::option::of("[a-zé🙂\"\\\\]{0,6}"), 1usize..5).prop_map(|(ours, value, size)| {
        let text = value.map_or_else(|| "{}".to_owned(), |value| json!({"v": value}).to_string());
        let chars: Vec<char> = text.chars().collect();
        ScriptedCall { ours, pieces: chars.chunks(size).map(|piece| piece.iter().collect()).collect() }
    })
}

/// Rounds of a turn: all but the last call only tools of ours.
pub(crate) fn turn() -> impl Strategy<Value = Vec<ScriptedRound>> {
    let texts = || prop::collection::vec("[a-z é那🙂\n]{1,5}", 0..4);
    let round = |ours| (texts(), prop::collection::vec(scripted_call(ours), 0..4), 0u64..50);
    let scripted = |(texts, calls, tokens)| ScriptedRound { texts, calls, tokens, number: 0 };
    let early = round(Just(true).boxed()).prop_map(scripted);
    let last = round(any::<bool>().boxed()).prop_map(scripted);
    (prop::collection::vec(early, 0..3), last).prop_map(|(mut rounds, last)| {
        rounds.push(last);
        rounds.iter_mut().enumerate().for_each(|(number, round)| round.number = number);
        rounds
    })
}

fn ids(round: &ScriptedRound) -> impl Iterator<Item = (String, &ScriptedCall)> {
    round.calls.iter().enumerate().map(|(i, call)| (format!("call_{i}"), call))
}

impl ScriptedRound {
    pub(crate) fn stream(&self, dialect: &str) -> String {
        match dialect {
            CHAT => self.chat_stream(),
            RESPONSES => wire::stream(&self.id(), &self.items()),
            _ => self.message_stream(),
        }
    }

    pub(crate) fn plain(&self, dialect: &str) -> String {
        let called = !self.calls.is_empty();
        if dialect == CHAT {
            let text = self.texts.concat();
            let mut message = json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }});
            let calls: Vec<_> = ids(self)
                .map(|(id, call)| json!({"id": id, "type": "function", "function": {"name": call.name(), "arguments": call.arguments()}}))
                .collect();
            if called {
                message["tool_calls"] = calls.into();
            }
            let finish = if called { "tool_calls" } else { "stop" };
            let choices = json!([{"index": 0, "message": message, "finish_reason": finish}]);
            return json!({"id": "c1", "choices": choices, "usage": self.chat_usage()}).to_string();
        }
        if dialect == RESPONSES {
            return wire::response(&self.id(), "completed", &self.items()).to_string();
        }
        let mut content: Vec<Value> = Vec::new();
        if !self.texts.is_empty() {
            content.push(json!({"type": "text", "text": self.texts.concat()}));
        }
        content.extend(ids(self).map(|(id, call)| {
            let input: Value = serde_json::from_str(&call.arguments()).unwrap();
            json!({"type": "tool_use", "id": id, "name": call.name(), "input": input})
        }));
        let stop = if called { "tool_use" } else { "end_turn" };
        let usage = json!({"input_tokens": 10, "output_tokens": 5});
        json!({"id": "msg_1", "role": "assistant", "content": content, "stop_reason": stop, "usage": usage})
            .to_string()
    }

    fn id(&self) -> String {
        format!("resp_{}", self.number)
    }

    fn items(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.texts.is_empty() {
            items.push(wire::message(&format!("msg_{}", self.number), &self.texts.concat()));
        }
        items.extend(ids(self).map(|(id, call)| {
            wire::call(&format!("fc_{}{id}", self.number), &id, call.name(), &call.arguments())
        }));
        items
    }

    fn chat_usage(&self) -> Value {
        json!({"prompt_tokens": self.tokens, "completion_tokens": 1, "total_tokens": self.tokens + 1})
    }

    fn chat_stream(&self) -> String {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        deltas.extend(self.texts.iter().map(|text| json!({"content": text})));
        for (index, (id, one)) in ids(self).enumerate() {
            let function = json!({"name": one.name(), "arguments": ""});
            deltas.push(call(json!({"index": index, "id": id, "type": "function", "function": function})));
            deltas.extend(
                one.pieces
                    .iter()
                    .map(|piece| call(json!({"index": index, "function": {"arguments": piece}}))),
            );
        }
        let finish = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        let mut usage = chunk(&json!({}), &Value::Null);
        usage["choices"] = json!([]);
        usage["usage"] = self.chat_usage();
        chat(&deltas, finish).replace("data: [DONE]", &format!("{}data: [DONE]", sse(&[usage])))
    }

    fn message_stream(&self) -> String {
        let mut blocks = Vec::new();
        if !self.texts.is_empty() {
            let deltas = self.texts.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
            blocks.push((json!({"type": "text", "text": ""}), deltas));
        }
        for (id, one) in ids(self) {
            let start = json!({"type": "tool_use", "id": id, "name": one.name(), "input": {}});
            let deltas =
                one.pieces.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            blocks.push((start, deltas.collect()));
        }
        messages(&blocks, if self.calls.is_empty() { "end_turn" } else { "tool_use" })
    }
}
