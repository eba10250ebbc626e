//! `GET /api/openapi.json`: what this API is, for programs.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::app::App;
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

/// The handler. Behind a base path the document says so.
pub(crate) async fn get(State(app): State<Arc<App>>) -> Response {
    let base = &app.config().base_path;
    if base.is_empty() {
        return Json(openapi()).into_response();
    }
    let mut document = openapi().clone();
    if let Some(server) = document.pointer_mut("/servers/0/url") {
        *server = format!("{base}/").into();
    }
    Json(document).into_response()
}
