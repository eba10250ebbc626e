//! What the document says about the proxy: the providers' own documentation says the rest.

use crate::error::Code;
use crate::openapi::schema::{free_object, text, word};
use crate::openapi::{Doc, Operation, Tag};

/// Paths that are only handed on are the provider's own; it describes them, and `docs/rest.md` says which there are.
pub(crate) const HANDED_ON: Doc = Doc::Outside;

/// A chat of a dialect.
pub(crate) fn chat(path: &'static str) -> Operation {
    let (id, summary) = match path {
        "/v1/chat/completions" => ("chatOpenai", "Chat, as OpenAI's Chat Completions"),
        "/v1/responses" => ("chatResponses", "Chat, as OpenAI's Responses"),
        "/v1/messages" => ("chatAnthropic", "Chat, as Anthropic's Messages"),
        "/v1beta/models/{call}" => ("chatGemini", "Chat, as Gemini's generateContent"),
        _ => ("chatGeminiV1", "Chat, as Gemini's generateContent, version 1"),
    };
    let operation = Operation::new(Tag::Proxy, id, summary)
        .about("Body and answer are the provider's own, streams included; errors have the provider's shape.")
        .body(free_object())
        .gives(free_object())
        .errors(&[
            Code::BadRequest,
            Code::BadHeader,
            Code::MissingUser,
            Code::ModelNotFound,
            Code::ResponseNotFound,
        ])
        .errors(&[Code::UpstreamError, Code::UpstreamBroken, Code::UpstreamUnreachable])
        .errors(&[Code::UpstreamUnavailable, Code::UpstreamTimeout]);
    let operation = operation
        .header("x-omni-skills", word(&["off", "splice-only", "loop"]).default("loop"))
        .header(
            "x-omni-use",
            text().about("The only skills on offer: `name`, `name@constraint`, `set:NAME`."),
        )
        .header("x-omni-budget", text().about("`rounds=3, wall_ms=60000, executions=5, tokens=10000`."))
        .header("x-omni-user", text().about("The end user."))
        .header("x-omni-session", text().about("The conversation."))
        .header("x-omni-transcript", word(&["hidden", "spliced"]).default("hidden"))
        .header("idempotency-key", text().length(0, 255));
    if path.contains("{call}") {
        operation.path("call", text().about("`MODEL:generateContent` or `MODEL:streamGenerateContent`."))
    } else {
        operation
    }
}

/// A list of models.
pub(crate) fn models(id: &'static str) -> Operation {
    shown(Operation::new(Tag::Proxy, id, "The models that can be asked"))
}

/// One model.
pub(crate) fn model(id: &'static str) -> Operation {
    shown(Operation::new(Tag::Proxy, id, "One model"))
}

fn shown(operation: Operation) -> Operation {
    operation
        .about("In the shape of the provider that the credential's form or the path names.")
        .gives(free_object())
        .errors(&[Code::UpstreamError, Code::UpstreamBroken, Code::UpstreamUnreachable])
        .errors(&[Code::UpstreamUnavailable, Code::UpstreamTimeout, Code::ModelNotFound])
}
