//! The dialects from outside: requests, golden turns, odd providers, properties.

mod answers;
mod follow_ups;
mod golden;
mod injection;
mod odd_chat;
mod odd_messages;
mod properties;
mod requests;
mod script;
mod support;
