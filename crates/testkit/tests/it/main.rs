//! Tests of the fakes themselves: a fake that lets everything pass would prove nothing.

mod client;
mod refusals_anthropic_messages;
mod refusals_openai_chat;
mod rounds;
