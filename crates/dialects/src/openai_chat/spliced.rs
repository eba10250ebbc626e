//! Results of ours that the client asked to see: `tool_results` of a message, and how a history with them is made
//! legal again.
//!
//! Providers refuse a member that they do not know, and a call without its result: the results go where the dialect
//! has a place for them, and are dropped where their calls are not in the message.

use std::collections::HashSet;

use bytes::Bytes;
use domain::ToolResult;
use serde_json::json;

use crate::json;
use crate::reading;
use crate::splice::{Container, Edits, Item};

const MEMBER: &str = "tool_results";

/// One element of `tool_results`.
pub(super) fn result(result: &ToolResult) -> String {
    json!({"tool_call_id": result.call_id, "name": result.name, "output": result.content}).to_string()
}

/// The body as a provider accepts it; the same bytes where nothing was spliced.
pub(super) fn made_legal(body: Bytes) -> Bytes {
    let marked = std::str::from_utf8(&body).is_ok_and(|text| text.contains("\"tool_results\""));
    let edited = if marked { edited(&body) } else { None };
    edited.map_or(body, Bytes::from)
}

fn edited(body: &[u8]) -> Option<String> {
    let top = reading::open(body).ok()?;
    let messages = top.children("messages")?;
    let mut edits = Edits::new(top.doc());
    for (i, item) in messages.items.iter().enumerate() {
        let Ok(message) = Container::object(item.value, item.value) else { continue };
        if message.get(MEMBER).is_none() || word(&message, "role").as_deref() != Some("assistant") {
            continue;
        }
        let mut own = Edits::new(item.value);
        own.members(&message, &[MEMBER], &[]);
        let mut all = vec![own.apply()];
        all.extend(missing(&message, messages.items.get(i + 1..).unwrap_or_default()));
        edits.replace(item, all.join(","));
    }
    (!edits.is_empty()).then(|| edits.apply())
}

/// Messages for the results whose calls stand in the message and have no answer behind it.
fn missing(message: &Container<'_>, behind: &[Item<'_>]) -> Vec<String> {
    let calls: HashSet<String> =
        elements(message, "tool_calls").filter_map(|call| word(&call, "id")).collect();
    let behind = behind.iter().map_while(|item| {
        let message = Container::object(item.value, item.value).ok()?;
        (word(&message, "role")? == "tool").then(|| word(&message, "tool_call_id").unwrap_or_default())
    });
    let answered: HashSet<String> = behind.collect();
    let wanted = |id: &String| calls.contains(id) && !answered.contains(id);
    let results = elements(message, MEMBER).filter_map(|result| {
        let id = word(&result, "tool_call_id").filter(wanted)?;
        let output = result.value("output").unwrap_or("\"\"");
        let content = json::string(output).unwrap_or_else(|| output.to_owned());
        Some(json!({"role": "tool", "tool_call_id": id, "content": content}).to_string())
    });
    results.collect()
}

fn elements<'a>(message: &Container<'a>, name: &str) -> impl Iterator<Item = Container<'a>> {
    let list = message.children(name);
    let all: Vec<_> =
        list.iter().flat_map(|list| list.items.iter().filter_map(|item| list.element(item))).collect();
    all.into_iter()
}

fn word(object: &Container<'_>, name: &str) -> Option<String> {
    object.value(name).and_then(json::string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legal(body: &str) -> String {
        String::from_utf8(made_legal(body.to_owned().into()).to_vec()).unwrap()
    }

    #[test]
    fn results_without_their_calls_are_dropped() {
        let body =
            r#"{"messages": [ {"role":"assistant","content":"a","tool_results":[{"tool_call_id":"1"}]} ,1]}"#;
        assert_eq!(legal(body), r#"{"messages": [ {"role":"assistant","content":"a"} ,1]}"#);
    }

    #[test]
    fn open_calls_get_their_results_and_answered_ones_keep_theirs() {
        let body = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"1"},{"id":"2"}],"tool_results":[{"tool_call_id":"1","output":"x"},{"tool_call_id":"2","output":{"y":1}}]},{"role":"tool","tool_call_id":"1","content":"own"},{"role":"user"}]}"#;
        let expected = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"1"},{"id":"2"}]},{"content":"{\"y\":1}","role":"tool","tool_call_id":"2"},{"role":"tool","tool_call_id":"1","content":"own"},{"role":"user"}]}"#;
        let (ours, wanted): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&legal(body)).unwrap(), serde_json::from_str(expected).unwrap());
        assert_eq!(ours, wanted);
    }

    #[test]
    fn other_bodies_keep_their_bytes() {
        for body in [
            r#"{ "messages": [ {"role":"user","tool_results":[]} ] }"#,
            r#"{"messages":[{"role":"user","content":"\"tool_results\""}]}"#,
            "\"tool_results\"",
            "{",
        ] {
            assert_eq!(legal(body), body);
        }
    }
}
