//! Rules of a Messages stream.

use serde_json::Value;

use super::frames::Frame;
use super::{Call, Summary, rule, str_at};

/// Where the lifecycle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Between,
    InBlock,
    Ending,
    Over,
}

#[derive(Debug)]
struct Lint {
    state: State,
    summary: Summary,
    blocks: u64,
    kind: String,
    call: Call,
}

pub(super) fn lint(frames: &[Frame]) -> Result<Summary, String> {
    let mut lint = Lint {
        state: State::Before,
        summary: Summary::default(),
        blocks: 0,
        kind: String::new(),
        call: Call::default(),
    };
    for (i, frame) in frames.iter().enumerate() {
        let event: Value =
            serde_json::from_str(&frame.data).map_err(|error| format!("event {i}: {error}"))?;
        let kind = str_at(&event, "/type");
        rule(frame.event == kind, i, "the event's name is not its type")?;
        rule(lint.state != State::Over, i, "comes after the end")?;
        lint.take(kind, &event, i)?;
    }
    rule(lint.state == State::Over, frames.len(), "the end is missing")?;
    Ok(lint.summary)
}

impl Lint {
    fn take(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        let is_next = event.get("index").and_then(Value::as_u64) == Some(self.blocks);
        match (kind, self.state) {
            ("ping", _) => {}
            ("error", _) => {
                rule(!str_at(event, "/error/message").is_empty(), i, "an error without a message")?;
                self.summary.error = event.get("error").cloned();
                self.summary.finish = None;
                self.state = State::Over;
            }
            ("message_start", State::Before) => {
                rule(str_at(event, "/message/role") == "assistant", i, "the role is not assistant")?;
                rule(event.pointer("/message/usage").is_some(), i, "no usage in the start")?;
                str_at(event, "/message/id").clone_into(&mut self.summary.id);
                rule(!self.summary.id.is_empty(), i, "no id")?;
                self.state = State::Between;
            }
            ("content_block_start", State::Between) => {
                rule(is_next, i, "block indexes have a gap")?;
                self.begin_block(event, i)?;
                self.state = State::InBlock;
            }
            ("content_block_delta", State::InBlock) => {
                rule(is_next, i, "a delta of another block")?;
                self.take_delta(event, i)?;
            }
            ("content_block_stop", State::InBlock) => {
                rule(is_next, i, "the stop of another block")?;
                let call = std::mem::take(&mut self.call);
                if self.kind == "tool_use" {
                    self.summary.calls.push(call);
                }
                self.blocks += 1;
                self.state = State::Between;
            }
            ("message_delta", State::Between | State::Ending) => {
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.summary.finish = reason.map(str::to_owned).or(self.summary.finish.take());
                self.summary.usage = event.get("usage").cloned().or(self.summary.usage.take());
                self.summary.omni = event.get("omni").cloned().or(self.summary.omni.take());
                self.state = State::Ending;
            }
            ("message_stop", State::Ending) => {
                let finish = self.summary.finish.as_deref();
                rule(finish.is_some(), i, "stopped without a reason")?;
                if finish == Some("tool_use") {
                    let calls = &self.summary.calls;
                    rule(!calls.is_empty(), i, "stopped for tool use that is not there")?;
                    rule(calls.iter().all(has_object), i, "a call's input is no object")?;
                }
                self.state = State::Over;
            }
            _ => return Err(format!("event {i}: {kind} may not come in the state {:?}", self.state)),
        }
        Ok(())
    }

    fn begin_block(&mut self, event: &Value, i: usize) -> Result<(), String> {
        str_at(event, "/content_block/type").clone_into(&mut self.kind);
        rule(!self.kind.is_empty(), i, "a block without a type")?;
        let text = |name: &str| str_at(event, &format!("/content_block/{name}")).to_owned();
        match self.kind.as_str() {
            "text" => self.summary.texts.push(text("text")),
            "thinking" => self.summary.thinking.push_str(&text("thinking")),
            "tool_use" => {
                self.call = Call { id: text("id"), name: text("name"), arguments: String::new() };
                rule(
                    !self.call.id.is_empty() && !self.call.name.is_empty(),
                    i,
                    "a call without id and name",
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    fn take_delta(&mut self, event: &Value, i: usize) -> Result<(), String> {
        let kind = str_at(event, "/delta/type");
        let fits = match kind {
            "text_delta" | "citations_delta" => self.kind == "text",
            "thinking_delta" | "signature_delta" => self.kind == "thinking",
            "input_json_delta" => self.kind.ends_with("tool_use"),
            _ => !kind.is_empty(),
        };
        rule(fits, i, "the delta does not fit its block")?;
        if let Some(last) = self.summary.texts.last_mut() {
            last.push_str(str_at(event, "/delta/text"));
        }
        self.summary.thinking.push_str(str_at(event, "/delta/thinking"));
        self.call.arguments.push_str(str_at(event, "/delta/partial_json"));
        Ok(())
    }
}

/// Nothing at all stands for an empty object.
fn has_object(call: &Call) -> bool {
    let object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    call.arguments.is_empty() || object(&call.arguments)
}
