//! What happens to every request, one file per step; the order is that of [`super::router`].

pub(crate) mod authenticate;
pub(crate) mod client;
pub(crate) mod host;
pub(crate) mod panic;
pub(crate) mod request_id;
