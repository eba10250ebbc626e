//! Run one tool call: `pending`, `running`, then `success`, `error` or `timeout`.
//!
//! The only way anything runs, for every door. It knows nothing of HTTP, of dialects or of what handlers do:
//! handlers are given to it by name.

mod admit;
mod approve;
mod attempt;
mod bounds;
mod breaker;
mod breakers;
mod cancel;
mod config;
mod echo;
mod events;
mod executor;
mod fingerprint;
mod handler;
mod history;
mod lifecycle;
mod model_result;
mod once;
mod places;
#[cfg(test)]
mod places_tests;
mod refusal;
mod run;
mod schema;
mod schema_check;
mod schema_cost;
#[cfg(test)]
mod schema_cost_tests;
mod schema_parts;
mod schema_pattern;

pub use breaker::{Breaker, Leave};
pub use cancel::Cancelled;
pub use config::ExecutorConfig;
pub use echo::{ECHO_HANDLER, Echo};
pub use events::{Decider, Event, EventKind, Heard, Subscription};
pub use executor::{Executor, INTERRUPTED};
pub use handler::{Handler, HandlerError, HandlerTable, Output, RunContext, Sandboxed};
pub use model_result::model_result;
pub use refusal::{Refusal, whole_seconds};
pub use run::{OwnerLimits, Recorded, RefusedCall, Run};
pub use schema::{SchemaError, Violation, check_schema};
