//! Everything that speaks HTTP: the LLM proxy in `llm/`, the REST API in `api/`.
//!
//! Surfaces only translate: which skill, whether it runs and what is kept is decided in `registry`, `executor`
//! and `store`. No SQL and no engine is known here.

mod api;
mod app;
mod authorise;
mod caller;
mod error;
mod http;
mod keyring;
mod llm;
mod openapi;
mod settings;
mod turns;
pub mod upkeep;

pub use api::openapi::openapi;
pub use app::{App, ApprovalWaits, Live, Running, ServerConfig};
pub use caller::Caller;
pub use error::Code as ErrorCode;
pub use http::{Access, RouteAccess, ServeError, route_list, router, serve};
pub use keyring::{Keyring, hash_secret, new_secret};
pub use llm::upstream::{UpstreamConfig, Upstreams, UpstreamsError};
pub use llm::{Budgets, KeptConfig, StickySets, prune_kept};
pub use settings::{
    Definition, Kind, Pinned, ReloadRequest, Reloaded, Reloader, Settings, Source, reconfigure,
    restore_settings,
};
pub use turns::TurnJournal;
