//! A history with results inside an assistant message, as a spliced answer shows them, made legal again.
//!
//! Results belong into the user message behind their calls, in front of everything else in it. Blocks keep their
//! bytes and their order.

use bytes::Bytes;

use crate::json;
use crate::reading;
use crate::splice::{Container, Edits, Item};

const MARK: &str = "\"tool_result\"";

/// The body as the provider accepts it; none where nothing was spliced.
pub(super) fn made_legal(body: &[u8]) -> Option<Bytes> {
    if !std::str::from_utf8(body).is_ok_and(|text| text.contains(MARK)) {
        return None;
    }
    let top = reading::open(body).ok()?;
    let messages = top.children("messages")?;
    let role =
        |item: &Item<'_>| messages.element(item).and_then(|one| one.value("role").and_then(json::string));
    let is_spliced = |item: &&Item<'_>| {
        item.value.contains(MARK) && role(item).as_deref() == Some("assistant") && parts(item.value).is_some()
    };
    messages.items.iter().find(is_spliced)?;
    let mut out: Vec<String> = Vec::with_capacity(messages.items.len());
    // Results that wait for the user message behind them.
    let mut waiting: Vec<&str> = Vec::new();
    for item in &messages.items {
        match role(item).as_deref() {
            Some("user") if !waiting.is_empty() => {
                out.push(with_results(item.value, &std::mem::take(&mut waiting))?);
            }
            Some("assistant") => {
                out.extend((!waiting.is_empty()).then(|| message("user", &std::mem::take(&mut waiting))));
                match parts(item.value) {
                    Some(parts) => waiting = write(parts, &mut out),
                    None => out.push(item.value.to_owned()),
                }
            }
            _ => out.push(item.value.to_owned()),
        }
    }
    out.extend((!waiting.is_empty()).then(|| message("user", &waiting)));
    let mut edits = Edits::new(top.doc());
    edits.replace(top.get("messages")?, format!("[{}]", out.join(",")));
    Some(edits.apply().into())
}

/// A stretch of an assistant message: what it says, then results.
#[derive(Default)]
struct Part<'a> {
    said: Vec<&'a str>,
    results: Vec<&'a str>,
}

/// The stretches of a message that holds results; none of any other.
fn parts(message: &str) -> Option<Vec<Part<'_>>> {
    let blocks = Container::object(message, message).ok()?.children("content")?;
    let mut parts = vec![Part::default()];
    for item in &blocks.items {
        let kind = blocks.element(item).and_then(|block| block.value("type").and_then(json::string));
        let is_result = kind.as_deref() == Some("tool_result");
        if !is_result && parts.last().is_some_and(|part| !part.results.is_empty()) {
            parts.push(Part::default());
        }
        let part = parts.last_mut()?;
        if is_result { part.results.push(item.value) } else { part.said.push(item.value) }
    }
    parts.iter().any(|part| !part.results.is_empty()).then_some(parts)
}

/// Writes the stretches as messages; results of the last one are left over.
fn write<'a>(parts: Vec<Part<'a>>, out: &mut Vec<String>) -> Vec<&'a str> {
    let mut left = Vec::new();
    for part in parts {
        out.extend((!left.is_empty()).then(|| message("user", &std::mem::take(&mut left))));
        out.extend((!part.said.is_empty()).then(|| message("assistant", &part.said)));
        left = part.results;
    }
    left
}

fn message(role: &str, blocks: &[&str]) -> String {
    format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(","))
}

/// A user message with results in front.
fn with_results(text: &str, results: &[&str]) -> Option<String> {
    let message = Container::object(text, text).ok()?;
    let results = results.join(",");
    let content = match (message.children("content"), message.value("content")) {
        (Some(blocks), _) => {
            let own = blocks.items.iter().map(|item| item.value);
            std::iter::once(results.as_str()).chain(own).collect::<Vec<_>>().join(",")
        }
        (None, Some(own)) => format!("{results},{{\"type\":\"text\",\"text\":{own}}}"),
        (None, None) => results,
    };
    let mut edits = Edits::new(text);
    edits.members(&message, &[], &[("content", format!("[{content}]"))]);
    Some(edits.apply())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn legal(messages: &Value) -> Value {
        let body = json!({"model": "m", "messages": messages}).to_string();
        let made = made_legal(body.as_bytes()).expect("it was spliced");
        serde_json::from_slice::<Value>(&made).unwrap()["messages"].take()
    }

    fn call(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "n", "input": {}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "r"})
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn results_move_behind_their_calls() {
        let user = json!({"role": "user", "content": "and now?"});
        let assistant = json!({"role": "assistant", "content": [
            text("a"), call("1"), call("2"), result("1"), result("2"), text("b"), call("3"), result("3"), text("c")]});
        let made = legal(&json!([user, assistant, user]));
        let expected = json!([
            user,
            {"role": "assistant", "content": [text("a"), call("1"), call("2")]},
            {"role": "user", "content": [result("1"), result("2")]},
            {"role": "assistant", "content": [text("b"), call("3")]},
            {"role": "user", "content": [result("3")]},
            {"role": "assistant", "content": [text("c")]},
            user,
        ]);
        assert_eq!(made, expected);
    }

    #[test]
    fn results_at_the_end_stand_first_in_the_users_next_message() {
        let assistant = json!({"role": "assistant", "content": [call("1"), call("2"), result("1")]});
        let said = json!({"role": "assistant", "content": [call("1"), call("2")]});
        for (next, behind) in [
            (json!([result("2"), text("b")]), json!([result("1"), result("2"), text("b")])),
            (json!("b\n"), json!([result("1"), text("b\n")])),
        ] {
            let made = legal(&json!([assistant, {"role": "user", "content": next}]));
            assert_eq!(made, json!([said, {"role": "user", "content": behind}]));
        }
        assert_eq!(legal(&json!([assistant])), json!([said, {"role": "user", "content": [result("1")]}]));
    }

    #[test]
    fn a_legal_history_is_left_alone() {
        let messages = json!([
            {"role": "assistant", "content": [call("1")]},
            {"role": "user", "content": [result("1")]},
            {"role": "assistant", "content": "\"tool_result\""},
        ]);
        assert_eq!(made_legal(json!({"messages": messages}).to_string().as_bytes()), None);
        assert_eq!(made_legal(b"{\"messages\":\"tool_result\"}"), None);
    }
}
