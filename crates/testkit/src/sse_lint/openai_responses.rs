//! Rules of a Responses stream.

use serde_json::Value;

use super::frames::Frame;
use super::{Call, Summary, rule, str_at};

/// An output item as the events tell it.
#[derive(Debug, Default)]
struct Item {
    id: String,
    kind: String,
    /// Texts of its parts, by content or summary index.
    parts: Vec<Part>,
    arguments: String,
    done: Option<Value>,
}

#[derive(Debug, Default)]
struct Part {
    text: String,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Lint {
    summary: Summary,
    begun: bool,
    next: Option<u64>,
    items: Vec<Item>,
    is_over: bool,
}

pub(super) fn lint(frames: &[Frame]) -> Result<Summary, String> {
    let mut lint = Lint::default();
    for (i, frame) in frames.iter().enumerate() {
        let event: Value =
            serde_json::from_str(&frame.data).map_err(|error| format!("event {i}: {error}"))?;
        let kind = str_at(&event, "/type");
        rule(frame.event == kind, i, "the event's name is not its type")?;
        rule(!lint.is_over, i, "comes after the end")?;
        lint.count(kind, &event, i)?;
        lint.take(kind, &event, i)?;
    }
    rule(lint.is_over || lint.summary.error.is_some(), frames.len(), "the end is missing")?;
    Ok(lint.summary)
}

impl Lint {
    fn count(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        let Some(number) = event.get("sequence_number").and_then(Value::as_u64) else {
            return rule(kind == "error", i, "no sequence number");
        };
        rule(self.next.is_none_or(|next| next == number), i, "sequence numbers have a gap")?;
        self.next = Some(number + 1);
        Ok(())
    }

    fn take(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        rule(
            self.summary.error.is_none() || kind == "response.failed",
            i,
            "only response.failed may follow an error",
        )?;
        rule(
            self.begun || kind == "response.created" || kind == "error",
            i,
            "comes before response.created",
        )?;
        match kind {
            "error" => {
                let message = event.pointer("/error/message").or_else(|| event.get("message"));
                rule(
                    message.is_some_and(|m| m.as_str().is_some_and(|m| !m.is_empty())),
                    i,
                    "an error without a message",
                )?;
                self.summary.error = Some(event.clone());
            }
            "response.created" => {
                rule(!self.begun, i, "a second response.created")?;
                rule(
                    event.pointer("/response/output") == Some(&Value::Array(Vec::new())),
                    i,
                    "begins with output",
                )?;
                str_at(event, "/response/id").clone_into(&mut self.summary.id);
                rule(!self.summary.id.is_empty(), i, "no id")?;
                self.begun = true;
            }
            "response.in_progress" => {
                rule(self.items.is_empty(), i, "in_progress after the first item")?;
                self.is_this_response(event, i)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => self.end(kind, event, i)?,
            "response.output_item.added" => self.add(event, i)?,
            _ if event.get("output_index").is_some() => self.item_event(kind, event, i)?,
            _ => {}
        }
        Ok(())
    }

    fn is_this_response(&self, event: &Value, i: usize) -> Result<(), String> {
        rule(str_at(event, "/response/id") == self.summary.id, i, "another response's id")
    }

    fn add(&mut self, event: &Value, i: usize) -> Result<(), String> {
        let index = event.get("output_index").and_then(Value::as_u64);
        rule(index == u64::try_from(self.items.len()).ok(), i, "output indexes have a gap")?;
        let item = Item {
            id: str_at(event, "/item/id").to_owned(),
            kind: str_at(event, "/item/type").to_owned(),
            ..Item::default()
        };
        rule(!item.kind.is_empty() && !item.id.is_empty(), i, "an item without id and type")?;
        rule(self.items.iter().all(|other| other.id != item.id), i, "an item's id is taken")?;
        self.items.push(item);
        Ok(())
    }

    fn item_event(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        let index = event.get("output_index").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let item = index.and_then(|index| self.items.get_mut(index));
        let item = item.ok_or_else(|| format!("event {i}: an item that has not begun"))?;
        rule(item.done.is_none(), i, "the item is done")?;
        if kind == "response.output_item.done" {
            rule(str_at(event, "/item/id") == item.id, i, "another item's id")?;
            rule(str_at(event, "/item/type") == item.kind, i, "another item's type")?;
            let whole = event.get("item").cloned().unwrap_or_default();
            item.check(&whole, i)?;
            self.summary_of(&whole, i)?;
            if let Some(item) = index.and_then(|index| self.items.get_mut(index)) {
                item.done = Some(whole);
            }
            return Ok(());
        }
        rule(str_at(event, "/item_id") == item.id, i, "another item's id")?;
        item.take(kind, event, i)
    }

    fn summary_of(&mut self, item: &Value, i: usize) -> Result<(), String> {
        let texts = |list: &str, kind: &str| -> String {
            let parts = item.get(list).and_then(Value::as_array).into_iter().flatten();
            parts.filter(|part| str_at(part, "/type") == kind).map(|part| str_at(part, "/text")).collect()
        };
        match str_at(item, "/type") {
            "message" => self.summary.texts.push(texts("content", "output_text")),
            "reasoning" => self.summary.thinking.push_str(&texts("summary", "summary_text")),
            "function_call" | "custom_tool_call" => {
                let call = Call {
                    id: str_at(item, "/call_id").to_owned(),
                    name: str_at(item, "/name").to_owned(),
                    arguments: format!("{}{}", str_at(item, "/arguments"), str_at(item, "/input")),
                };
                rule(!call.id.is_empty() && !call.name.is_empty(), i, "a call without id and name")?;
                self.summary.calls.push(call);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        self.is_this_response(event, i)?;
        let status = str_at(event, "/response/status");
        rule(kind == format!("response.{status}"), i, "the status is not the event's")?;
        self.is_over = true;
        if kind == "response.failed" {
            rule(!str_at(event, "/response/error/message").is_empty(), i, "failed without a message")?;
            self.summary
                .error
                .get_or_insert_with(|| event.pointer("/response/error").cloned().unwrap_or_default());
            return Ok(());
        }
        let streamed: Vec<&Value> = self.items.iter().filter_map(|item| item.done.as_ref()).collect();
        rule(streamed.len() == self.items.len(), i, "an item is not done")?;
        let output: Vec<&Value> =
            event.pointer("/response/output").and_then(Value::as_array).into_iter().flatten().collect();
        rule(output == streamed, i, "the output is not what was streamed")?;
        let reason = event.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
        rule((status == "incomplete") == reason.is_some(), i, "incomplete without a reason")?;
        self.summary.finish = Some(reason.unwrap_or(status).to_owned());
        self.summary.usage = event.pointer("/response/usage").filter(|usage| !usage.is_null()).cloned();
        self.summary.omni = event.pointer("/response/omni").cloned();
        Ok(())
    }
}

impl Item {
    fn take(&mut self, kind: &str, event: &Value, i: usize) -> Result<(), String> {
        let place = event.get("content_index").or_else(|| event.get("summary_index")).and_then(Value::as_u64);
        let place = place.and_then(|place| usize::try_from(place).ok());
        match kind {
            "response.content_part.added" | "response.reasoning_summary_part.added" => {
                rule(place == Some(self.parts.len()), i, "indexes of parts have a gap")?;
                self.parts.push(Part { text: str_at(event, "/part/text").to_owned(), is_over: false });
                return Ok(());
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments.push_str(str_at(event, "/delta"));
                return Ok(());
            }
            "response.function_call_arguments.done" => {
                return rule(str_at(event, "/arguments") == self.arguments, i, "not the arguments that came");
            }
            _ => {}
        }
        let Some(place) = place else { return Ok(()) };
        let part = self.parts.get_mut(place);
        let part = part.ok_or_else(|| format!("event {i}: a part that has not begun"))?;
        rule(!part.is_over, i, "the part is done")?;
        if kind.ends_with("_text.delta") {
            part.text.push_str(str_at(event, "/delta"));
        } else if kind.ends_with("part.done") {
            rule(str_at(event, "/part/text") == part.text, i, "not the text that came")?;
            part.is_over = true;
        } else if kind.ends_with("_text.done") {
            rule(str_at(event, "/text") == part.text, i, "not the text that came")?;
        }
        Ok(())
    }

    /// Whether the whole item is what its events said.
    fn check(&self, whole: &Value, i: usize) -> Result<(), String> {
        rule(self.parts.iter().all(|part| part.is_over), i, "a part is not done")?;
        let list = match self.kind.as_str() {
            "message" => "content",
            "reasoning" => "summary",
            "function_call" => {
                return rule(str_at(whole, "/arguments") == self.arguments, i, "not the arguments that came");
            }
            _ => return Ok(()),
        };
        let parts = whole.get(list).and_then(Value::as_array).into_iter().flatten();
        let said: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
        let streamed: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        rule(said == streamed, i, "not the texts that came")
    }
}
