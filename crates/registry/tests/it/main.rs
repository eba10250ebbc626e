//! The registry from outside: what is selected, resolved and listed, and what a write makes visible.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic, as tests do")]

mod entries;
mod fake;
mod listing;
mod resolution;
mod selection;
mod skills;
mod standing;
mod writes;
