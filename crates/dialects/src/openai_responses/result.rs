//! The result of a call as an item: a text, or a list where images and files stand behind the text.

use domain::ToolResult;
use serde_json::{Value, json};

use super::item;
use crate::media::{Media, TEXT, version};
use crate::splice::{Container, Edits};

const TAKEN: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf", TEXT];

/// See [`crate::Dialect::media`]: models that see images.
pub(super) fn media(model: &str) -> &'static [&'static str] {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let blind = ["o1-mini", "o1-preview", "o3-mini"].iter().any(|prefix| name.starts_with(prefix));
    let known = ["gpt-4o", "gpt-4.", "gpt-4-turbo", "chatgpt-4o", "o1", "o3", "o4"];
    let sees = known.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with("gpt-") && version(name, "gpt-").is_some_and(|version| version >= 5));
    if sees && !blind { TAKEN } else { &[] }
}

/// An item that answers a call.
pub(super) fn output(result: &ToolResult) -> String {
    if result.parts.is_empty() {
        return text_output(&result.call_id, &result.content);
    }
    let content = [json!({"type": "input_text", "text": result.content})];
    let all: Vec<Value> = content.into_iter().chain(Media::of(&result.parts).map(|one| part(&one))).collect();
    json!({"type": "function_call_output", "call_id": result.call_id, "output": all}).to_string()
}

/// The same, of text alone.
pub(super) fn text_output(call_id: &str, content: &str) -> String {
    json!({"type": "function_call_output", "call_id": call_id, "output": content}).to_string()
}

fn part(media: &Media<'_>) -> Value {
    if media.is_image() {
        return json!({"type": "input_image", "image_url": media.data_url(), "detail": "auto"});
    }
    let name = media.name.unwrap_or("file");
    json!({"type": "input_file", "filename": name, "file_data": media.data_url()})
}

/// An item without the images and files of a result; none where there are none.
pub(super) fn without_media(text: &str) -> Option<String> {
    let item = Container::object(text, text).ok()?;
    if item::kind(&item) != "function_call_output" {
        return None;
    }
    let parts = item.children("output")?;
    let is_media = |part| {
        let kind = parts.element(part).map(|part| item::kind(&part));
        matches!(kind.as_deref(), Some("input_image" | "input_file"))
    };
    let gone: Vec<bool> = parts.items.iter().map(is_media).collect();
    let mut edits = Edits::new(text);
    edits.elements(&parts, &|i| gone.get(i) == Some(&true), &[]);
    gone.contains(&true).then(|| edits.apply())
}
