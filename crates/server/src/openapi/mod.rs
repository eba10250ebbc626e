//! The OpenAPI 3.1 document, made from the route list.
//!
//! What an operation takes and gives stands beside its handler, as an [`Operation`] that the route list asks for; no
//! route is described here. What every operation has in common (errors of the listener, of authorisation, of bodies)
//! is added by [`document`], so that nobody has to repeat it.

mod document;
mod operation;
pub(crate) mod schema;
pub(crate) mod shapes;

pub(crate) use document::document;
pub(crate) use operation::{Doc, Operation, Tag};
pub(crate) use schema::Shape;
