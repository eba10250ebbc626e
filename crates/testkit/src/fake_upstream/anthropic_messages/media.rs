//! Where Anthropic messages answers 400 about images and documents.

use serde_json::Value;

use super::strict::extra;
use crate::fake_upstream::provider::Refusal;
use crate::fake_upstream::rules;

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// Longest base64 of an image.
const IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// An image block.
pub(super) fn image(block: &Value, param: &str) -> Result<(), Refusal> {
    extra(block, &["type", "source", "cache_control"], param)?;
    let (source, param) = (&block["source"], format!("{param}.image.source"));
    if source["type"] != "base64" {
        return by_name(source, &["url", "file"], &param);
    }
    if source["data"].as_str().is_some_and(|data| data.len() > IMAGE_BYTES) {
        return Err(Refusal::bad(param, "image exceeds 5 MB maximum"));
    }
    base64(source, &IMAGES, &param)
}

/// A document block.
pub(super) fn document(block: &Value, param: &str) -> Result<(), Refusal> {
    extra(block, &["type", "source", "title", "context", "citations", "cache_control"], param)?;
    if block.get("title").is_some_and(|title| !title.as_str().is_some_and(|t| (1..=500).contains(&t.len()))) {
        return Err(Refusal::bad(
            format!("{param}.document.title"),
            "String should have 1 to 500 characters",
        ));
    }
    let (source, param) = (&block["source"], format!("{param}.document.source"));
    match source["type"].as_str() {
        Some("base64") => base64(source, &["application/pdf"], &param),
        Some("text") => {
            extra(source, &["type", "media_type", "data"], &param)?;
            let is_text = source["media_type"] == "text/plain";
            if is_text && source["data"].as_str().is_some_and(|data| !data.is_empty()) {
                Ok(())
            } else {
                Err(Refusal::bad(param, "Input should be 'text/plain' with text in it"))
            }
        }
        _ => by_name(source, &["url", "file", "content"], &param),
    }
}

fn base64(source: &Value, types: &[&str], param: &str) -> Result<(), Refusal> {
    extra(source, &["type", "media_type", "data"], param)?;
    if !source["media_type"].as_str().is_some_and(|mime| types.contains(&mime)) {
        return Err(Refusal::bad(format!("{param}.base64.media_type"), format!("Input should be {types:?}")));
    }
    rules::base64(&source["data"], &format!("{param}.base64.data"))
}

fn by_name(source: &Value, kinds: &[&str], param: &str) -> Result<(), Refusal> {
    match source["type"].as_str() {
        Some(kind) if kinds.contains(&kind) => Ok(()),
        _ => Err(Refusal::bad(param, "Input tag does not match any of the expected tags")),
    }
}
