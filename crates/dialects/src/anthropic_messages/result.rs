//! The result of a call as a block: a text, or a list where images and documents stand behind the text.

use domain::ToolResult;
use serde_json::{Map, Value, json};

use crate::json;
use crate::media::{Media, TEXT};
use crate::splice::{Container, Edits};

const TAKEN: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", TEXT];
/// Longest title of a document, in characters.
const TITLE_CHARS: usize = 255;

/// See [`crate::Dialect::media`]: every Claude since the third generation.
pub(super) fn media(model: &str) -> &'static [&'static str] {
    let blind = ["claude-1", "claude-2", "claude-v", "claude-instant"];
    if model.contains("claude") && !blind.iter().any(|name| model.contains(name)) { TAKEN } else { &[] }
}

/// The block that answers a call.
pub(super) fn tool_result(result: &ToolResult) -> Value {
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_result".into());
    block.insert("tool_use_id".to_owned(), result.call_id.clone().into());
    block.insert("content".to_owned(), content(result));
    if result.is_error {
        block.insert("is_error".to_owned(), true.into());
    }
    Value::Object(block)
}

/// An error holds text alone: the provider refuses anything else in one.
fn content(result: &ToolResult) -> Value {
    if result.parts.is_empty() || result.is_error {
        return result.content.clone().into();
    }
    // An empty text block is refused.
    let text = Some(&result.content).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    text.into_iter().chain(Media::of(&result.parts).filter_map(|one| part(&one))).collect()
}

fn part(media: &Media<'_>) -> Option<Value> {
    let mut source = json!({"type": "base64", "media_type": media.mime, "data": media.data});
    if media.is_image() {
        return Some(json!({"type": "image", "source": source}));
    }
    if media.mime == TEXT {
        source = json!({"type": "text", "media_type": TEXT, "data": media.text()?});
    }
    Some(match media.name {
        Some(name) => {
            let title = domain::text::prefix_chars(name, TITLE_CHARS);
            json!({"type": "document", "source": source, "title": title})
        }
        None => json!({"type": "document", "source": source}),
    })
}

/// A message or a result without the images and documents of results; none where there are none.
pub(super) fn without_media(text: &str) -> Option<String> {
    let object = Container::object(text, text).ok()?;
    let mut edits = Edits::new(text);
    if kind(&object).as_deref() == Some("tool_result") {
        take_out(&object, &mut edits);
    } else if let Some(blocks) = object.children("content") {
        let results = blocks.items.iter().filter_map(|item| blocks.element(item));
        results
            .filter(|block| kind(block).as_deref() == Some("tool_result"))
            .for_each(|block| take_out(&block, &mut edits));
    }
    (!edits.is_empty()).then(|| edits.apply())
}

fn take_out(result: &Container<'_>, edits: &mut Edits<'_>) {
    let Some(content) = result.children("content") else { return };
    let is_media = |item| {
        let kind = content.element(item).and_then(|block| kind(&block));
        matches!(kind.as_deref(), Some("image" | "document"))
    };
    let gone: Vec<bool> = content.items.iter().map(is_media).collect();
    if gone.contains(&true) {
        edits.elements(&content, &|i| gone.get(i) == Some(&true), &[]);
    }
}

fn kind(object: &Container<'_>) -> Option<String> {
    object.value("type").and_then(json::string)
}
