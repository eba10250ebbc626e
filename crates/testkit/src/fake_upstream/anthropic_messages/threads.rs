//! Conversations that the provider holds: gone on with by id, once each, with the tools that they began with.

use serde_json::{Value, json};

use super::{messages, write};
use crate::fake_upstream::memory::{Held, Memory};
use crate::fake_upstream::provider::{Refusal, Reply, at};

/// The answer that a body goes on with.
fn previous(body: &Value) -> Option<&str> {
    at(body, "/thread/previous_message_id").as_str().filter(|_| at(body, "/thread/type") == "continue")
}

/// The body with all that is held for it.
pub(super) fn whole(body: &Value, memory: &Memory) -> Value {
    let mut whole = body.as_object().cloned().unwrap_or_default();
    if let Some(held) = previous(body).and_then(|id| memory.threads.get(id)) {
        let all: Vec<Value> = held.messages.iter().chain(messages(body)).cloned().collect();
        whole.insert("messages".to_owned(), all.into());
        if !held.tools.is_null() {
            whole.insert("tools".to_owned(), held.tools.clone());
        }
    }
    Value::Object(whole)
}

/// Where the real provider would not go on.
pub(super) fn check(body: &Value, memory: &Memory) -> Result<(), Refusal> {
    let kind = at(body, "/thread/type").as_str();
    if body.get("thread").is_some_and(|thread| !thread.is_null())
        && !matches!(kind, Some("create" | "continue"))
    {
        return Err(Refusal::bad("thread.type", "Input should be 'create' or 'continue'"));
    }
    if kind != Some("continue") {
        return Ok(());
    }
    let held = previous(body).and_then(|id| memory.threads.get(id));
    let held = held
        .ok_or_else(|| Refusal::status(404, "No usable Thread state was found for `previous_message_id`."))?;
    if held.is_continued {
        return Err(Refusal::bad(
            "thread",
            "The response that `previous_message_id` names has already been continued.",
        ));
    }
    let tools = at(body, "/tools");
    if !tools.is_null() && *tools != held.tools {
        return Err(Refusal::bad(
            "tools",
            "A field that must stay the same across a Thread's turns differs.",
        ));
    }
    Ok(())
}

/// Holds what has been said.
pub(super) fn remember(reply: &Reply, memory: &mut Memory) {
    if at(&reply.asked, "/thread").is_null() {
        return;
    }
    let whole = whole(&reply.asked, memory);
    if let Some(held) = previous(&reply.asked).and_then(|id| memory.threads.get_mut(id)) {
        held.is_continued = true;
    }
    let answer = write::plain(reply);
    let mut said = messages(&whole).to_vec();
    said.push(json!({"role": "assistant", "content": at(&answer, "/content")}));
    let id = at(&answer, "/id").as_str().unwrap_or_default().to_owned();
    memory
        .threads
        .insert(id, Held { messages: said, tools: at(&whole, "/tools").clone(), is_continued: false });
}
