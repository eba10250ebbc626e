//! Every route in one list, with what it asks of its caller. A handler cannot be added without saying so.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use domain::Scope;
use tower_http::catch_panic::CatchPanicLayer;

use super::access::{Access, guard, known, logged_in};
use super::body::buffer;
use super::middleware::{authenticate, host, panic, request_id};
use crate::api::{executions, health, keys, settings, skills};
use crate::app::App;
use crate::error::{ApiError, Code, render};
use crate::llm;

/// One line of the route list.
#[derive(Clone, Debug)]
pub struct RouteAccess {
    /// Method.
    pub method: Method,
    /// Path with `{parameters}`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
}

const READ: Access = Access::Needs(Scope::ReadSkills);
const EXECUTE: Access = Access::Needs(Scope::ExecuteSkills);
const APPROVE: Access = Access::Needs(Scope::ApproveSkills);
const PROXY: Access = Access::Needs(Scope::Proxy);

fn routes() -> Routes {
    Routes::default()
        .get("/healthz", Access::Public, health::live)
        .get("/readyz", Access::Public, health::ready)
        .get("/api/skills", Access::MANAGE, skills::list::list)
        .post("/api/skills/install", Access::MANAGE, skills::install::install)
        .get("/api/skills/executions", READ, executions::list::list)
        .post("/api/skills/executions", EXECUTE, executions::run::run)
        .get("/api/skills/executions/stream", READ, executions::stream::stream)
        .get("/api/skills/executions/{id}", READ, executions::list::get)
        .post("/api/skills/executions/{id}/approve", APPROVE, executions::decide::approve)
        .post("/api/skills/executions/{id}/deny", APPROVE, executions::decide::deny)
        .get("/api/skills/{id}", Access::MANAGE, skills::list::get)
        .put("/api/skills/{id}", Access::MANAGE, skills::edit::update)
        .delete("/api/skills/{id}", Access::MANAGE, skills::edit::delete)
        .get("/api/keys", Access::MANAGE, keys::list)
        .post("/api/keys", Access::MANAGE, keys::create)
        .put("/api/keys/{id}", Access::MANAGE, keys::update)
        .delete("/api/keys/{id}", Access::MANAGE, keys::delete)
        .post("/api/keys/{id}/rotate", Access::MANAGE, keys::rotate)
        .get("/api/settings", Access::MANAGE, settings::get)
        .patch("/api/settings", Access::MANAGE, settings::change)
        .proxy(PROXY)
        .get("/v1/models", PROXY, llm::models::list)
        .get("/v1beta/models", PROXY, llm::models::list)
        .get("/v1/models/{call}", PROXY, llm::models::one)
        .get("/v1beta/models/{call}", PROXY, llm::models::one)
        .delete("/v1/models/{call}", PROXY, llm::other_paths::handle)
        .other_paths(PROXY, &["/v1/{*path}", "/v1beta/{*path}"])
}

/// The whole gateway as a service.
pub fn router(app: Arc<App>) -> Router {
    routes()
        .router
        .method_not_allowed_fallback(wrong_method)
        .fallback(no_route)
        .layer(from_fn_with_state(Arc::clone(&app), authenticate::authenticate))
        .layer(from_fn_with_state(Arc::clone(&app), host::check))
        .layer(CatchPanicLayer::custom(panic::answer))
        .layer(from_fn(render::render))
        .layer(from_fn(request_id::request_id))
        .with_state(app)
}

/// The route list, for the reference and for tests that walk it.
pub fn route_list() -> Vec<RouteAccess> {
    routes().list
}

#[derive(Default)]
struct Routes {
    router: Router<Arc<App>>,
    list: Vec<RouteAccess>,
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {
        $(fn $name<T: 'static>(self, path: &'static str, access: Access, handler: impl Handler<T, Arc<App>>) -> Self {
            self.add(Method::$method, MethodFilter::$method, path, access, handler)
        })*
    };
}

impl Routes {
    methods! { get GET; post POST; put PUT; patch PATCH; delete DELETE; }

    fn add<T: 'static>(
        mut self,
        method: Method,
        filter: MethodFilter,
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        // The layer added last comes first: nobody makes us read a body before the guard let it in.
        let guarded = move |request: Request, next: Next| guard(access, request, next);
        let route = on(filter, handler).route_layer(from_fn(buffer)).route_layer(from_fn(guarded));
        self.router = self.router.route(path, route);
        self.list.push(RouteAccess { method, path, access });
        self
    }

    /// Whatever else the providers have. Bodies are not read here.
    fn other_paths(mut self, access: Access, paths: &[&'static str]) -> Self {
        for &path in paths {
            let guarded = move |request: Request, next: Next| guard(access, request, next);
            let methods = MethodFilter::GET.or(MethodFilter::POST).or(MethodFilter::DELETE);
            let route = on(methods, llm::other_paths::handle).route_layer(from_fn(guarded));
            self.router = self.router.route(path, route);
            for method in [Method::GET, Method::POST, Method::DELETE] {
                self.list.push(RouteAccess { method, path, access });
            }
        }
        self
    }

    /// The LLM proxy: one route for each dialect.
    fn proxy(mut self, access: Access) -> Self {
        let guarded = move |request: Request, next: Next| guard(access, request, next);
        let proxy = llm::routes().route_layer(from_fn(buffer)).route_layer(from_fn(guarded));
        self.router = self.router.merge(proxy);
        for path in dialects::ALL.iter().flat_map(|dialect| dialect.routes()).copied() {
            self.list.push(RouteAccess { method: Method::POST, path, access });
        }
        self
    }
}

/// Nobody learns from a refusal which paths there are.
fn may_know(request: &Request) -> Result<(), ApiError> {
    let path = request.uri().path();
    if path.starts_with("/api") {
        known(request)
    } else if super::is_proxy_path(path) {
        logged_in(request).map(drop)
    } else {
        Ok(())
    }
}

async fn no_route(request: Request) -> Response {
    let missing = || ApiError::new(Code::RouteNotFound, "there is no such path; check the address");
    may_know(&request).map_or_else(IntoResponse::into_response, |()| missing().into_response())
}

/// axum adds the Allow header.
async fn wrong_method(request: Request) -> Response {
    let message = format!("{} is not possible here; see the Allow header", request.method());
    let wrong = || ApiError::new(Code::MethodNotAllowed, message);
    may_know(&request).map_or_else(IntoResponse::into_response, |()| wrong().into_response())
}
