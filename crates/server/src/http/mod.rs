//! From a socket to a handler: the listener, the route list, and what happens to every request in between.
//!
//! No handler is here. Who may call what stands in the route list ([`router`]) and nowhere else.

mod access;
mod base_path;
mod body;
mod fields;
mod idempotency;
mod listener;
mod middleware;
mod path;
pub(crate) mod query;
mod router;

pub use access::Access;
pub use listener::{ServeError, serve};
pub use router::{RouteAccess, route_list, router};

pub(crate) use body::Object;
pub(crate) use fields::Fields;
pub(crate) use idempotency::idempotency_key;
pub(crate) use middleware::request_id::RequestId;
pub(crate) use path::Id;

/// Whether a path belongs to the LLM proxy: its errors have the dialect's shape and its bodies may be large.
pub(crate) fn is_proxy_path(path: &str) -> bool {
    path.starts_with("/v1")
}
