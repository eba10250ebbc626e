//! `GET /api/openapi.json`: what this API is, for programs.

use std::sync::LazyLock;

use axum::Json;
use serde_json::Value;

use crate::http::route_list;
use crate::openapi::schema::free_object;
use crate::openapi::{Operation, Tag, document};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(&route_list()));

/// The OpenAPI 3.1 document of every route.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Operations, "getOpenapi", "This document").gives(free_object())
}

/// The handler.
pub(crate) async fn get() -> Json<&'static Value> {
    Json(openapi())
}
