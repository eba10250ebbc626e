//! The dialects from outside: requests, golden turns, odd providers, properties.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "helpers of tests stop at the first surprise and take literals"
)]

mod answers;
mod follow_ups;
mod gemini;
mod gemini_memory;
mod gemini_requests;
mod gemini_schema;
mod golden;
mod injection;
mod kept;
mod kept_properties;
mod media;
mod odd_chat;
mod odd_messages;
mod properties;
mod requests;
mod responses;
mod responses_memory;
mod responses_stored;
mod responses_streams;
mod responses_wire;
mod script;
mod spliced;
mod support;
mod threads;
mod wire_forms;
