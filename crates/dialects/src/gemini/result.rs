//! The part that answers a call: a text in `response`, and images and files beside it in `parts`.

use domain::ToolResult;
use serde_json::{Map, Value, json};

use super::ids;
use super::members::{children, each};
use super::part::Part;
use crate::media::{Media, TEXT, version};
use crate::splice::{Container, Edits};

const TAKEN: &[&str] = &["image/png", "image/jpeg", "image/webp", "application/pdf", TEXT];

/// See [`crate::Dialect::media`]: the third generation and later; older ones refuse a response with parts.
pub(super) fn media(model: &str) -> &'static [&'static str] {
    if version(model, "gemini-").is_some_and(|version| version >= 3) { TAKEN } else { &[] }
}

/// The part that answers a call. Only an id that the model gave is given back.
pub(super) fn response(result: &ToolResult) -> String {
    let word = if result.is_error { "error" } else { "result" };
    let mut response = Map::new();
    if !result.call_id.is_empty() && !ids::is_ours(&result.call_id) {
        response.insert("id".to_owned(), result.call_id.clone().into());
    }
    response.insert("name".to_owned(), result.name.clone().into());
    response.insert("response".to_owned(), json!({word: result.content}));
    if !result.parts.is_empty() {
        let blob = |one: Media<'_>| json!({"inlineData": {"mimeType": one.mime, "data": one.data}});
        response.insert("parts".to_owned(), Media::of(&result.parts).map(blob).collect::<Value>());
    }
    json!({"functionResponse": response}).to_string()
}

/// A content or a part without the images and files of responses; none where there are none.
pub(super) fn without_media(text: &str) -> Option<String> {
    let whole = Container::object(text, text).ok()?;
    let parts = if children(&whole, "parts").is_some() { each(&whole, "parts") } else { vec![whole] };
    let mut edits = Edits::new(text);
    let responses = parts.into_iter().filter_map(|whole| Part { whole }.response());
    responses
        .filter(|response| response.value("parts").is_some())
        .for_each(|response| edits.members(&response, &["parts"], &[]));
    (!edits.is_empty()).then(|| edits.apply())
}
