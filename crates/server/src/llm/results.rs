//! What a tool result looks like when it reaches the model: bounded, and never an internal matter.

use dialects::Call;
use domain::{ToolResult, text};
use serde_json::{Map, Value};

/// Reads a call's arguments. Nothing, `null` and blanks are an empty object; anything else must be one object.
pub(super) fn arguments(raw: &str) -> Result<Map<String, Value>, String> {
    let trimmed = raw.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Ok(Map::new());
    }
    serde_json::from_str::<Map<String, Value>>(trimmed).map_err(|error| {
        format!(
            "The arguments are not one JSON object ({error}), so the tool was not run. \
             Call it again with a complete JSON object that fits its schema."
        )
    })
}

/// Cuts `content` to `max` bytes on a character boundary, with a mark that says how much is missing.
pub(super) fn bound(content: String, max: usize) -> String {
    if content.len() <= max {
        return content;
    }
    let kept = text::prefix_bytes(&content, max);
    format!("{kept}\n[cut: {} of {} bytes are not shown]", content.len() - kept.len(), content.len())
}

/// A result.
pub(super) fn result(call: &Call, content: String, is_error: bool) -> ToolResult {
    ToolResult {
        call_id: call.call.id.clone(),
        name: call.call.name.clone(),
        content,
        parts: Vec::new(),
        is_error,
    }
}

/// A result that says why nothing was run.
pub(super) fn refused(call: &Call, code: &str, message: &str) -> ToolResult {
    let body = serde_json::json!({"error": message, "code": code});
    result(call, body.to_string(), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_arguments_are_an_empty_object() {
        for raw in ["", "   ", "null", "{}"] {
            assert_eq!(arguments(raw).unwrap(), Map::new(), "{raw:?}");
        }
    }

    #[test]
    fn anything_but_one_object_is_refused() {
        for raw in ["{\"path\":\"a", "[1]", "\"{\\\"path\\\":1}\"", "{\"a\":1}{\"b\":2}", "7"] {
            assert!(arguments(raw).is_err(), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_result_is_a_prefix_and_counts_what_is_missing(content in ".{0,80}", max in 0usize..100) {
            let bounded = bound(content.clone(), max);
            if content.len() <= max {
                prop_assert_eq!(bounded, content);
            } else {
                let kept = bounded.rsplit_once("\n[cut: ").unwrap().0;
                prop_assert!(content.starts_with(kept) && kept.len() <= max);
                let mark = format!("[cut: {} of {} bytes", content.len() - kept.len(), content.len());
                prop_assert!(bounded.contains(&mark));
            }
        }
    }
}
