//! Tests of the fakes themselves: a fake that lets everything pass would prove nothing.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panic, as tests do"
)]

mod client;
mod gemini;
mod held;
mod media;
mod refusals_anthropic_messages;
mod refusals_openai_chat;
mod refusals_openai_responses;
mod rounds;
