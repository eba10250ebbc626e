//! Every route in one list, with what it asks of its caller and what it takes and gives. A handler cannot be added
//! without saying both.

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
use super::middleware::{authenticate, client, host, panic, request_id};
use crate::api::docs;
use crate::app::App;
use crate::error::{ApiError, Code, render};
use crate::llm;
use crate::openapi::Doc;

/// One line of the route list.
#[derive(Clone, Debug)]
pub struct RouteAccess {
    /// Method.
    pub method: Method,
    /// Path with `{parameters}`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// What it takes and gives.
    pub(crate) doc: Doc,
}

const READ: Access = Access::Needs(Scope::ReadSkills);
const EXECUTE: Access = Access::Needs(Scope::ExecuteSkills);
const APPROVE: Access = Access::Needs(Scope::ApproveSkills);
const PROXY: Access = Access::Needs(Scope::Proxy);

fn routes() -> Routes {
    operations(executions(skills(records(keys(proxy(Routes::default()))))))
}

fn skills(routes: Routes) -> Routes {
    use crate::api::skills::{cache, edit, install, list, resolve};
    routes
        .get("/api/skills", Access::MANAGE, list::list_doc(), list::list)
        .post("/api/skills/install", Access::MANAGE, install::install_doc(), install::install)
        .get("/api/skills/resolve", READ, resolve::resolve_doc(), resolve::resolve)
        .post("/api/skills/cache/invalidate", Access::MANAGE, cache::invalidate_doc(), cache::invalidate)
        .get("/api/skills/{id}", Access::MANAGE, list::get_doc(), list::get)
        .put("/api/skills/{id}", Access::MANAGE, edit::update_doc(), edit::update)
        .delete("/api/skills/{id}", Access::MANAGE, edit::delete_doc(), edit::delete)
}

fn executions(routes: Routes) -> Routes {
    use crate::api::executions::{cancel, decide, list, run, stream};
    routes
        .get("/api/skills/executions", READ, list::list_doc(), list::list)
        .post("/api/skills/executions", EXECUTE, run::run_doc(), run::run)
        .get("/api/skills/executions/stream", READ, stream::stream_doc(), stream::stream)
        .get("/api/skills/executions/{id}", READ, list::get_doc(), list::get)
        .post("/api/skills/executions/{id}/cancel", EXECUTE, cancel::cancel_doc(), cancel::cancel)
        .post("/api/skills/executions/{id}/approve", APPROVE, decide::approve_doc(), decide::approve)
        .post("/api/skills/executions/{id}/deny", APPROVE, decide::deny_doc(), decide::deny)
}

fn records(routes: Routes) -> Routes {
    use crate::api::{artifacts, audit, sets, turns, upstreams};
    routes
        .get("/api/turns", READ, turns::list_doc(), turns::list)
        .get("/api/turns/{id}", READ, turns::get_doc(), turns::get)
        .get("/api/usage", READ, turns::usage_doc(), turns::usage)
        .get("/api/artifacts/{id}", READ, artifacts::get_doc(), artifacts::get)
        .get("/api/sets", Access::MANAGE, sets::list_doc(), sets::list)
        .get("/api/sets/{id}", Access::MANAGE, sets::get_doc(), sets::get)
        .put("/api/sets/{id}", Access::MANAGE, sets::put_doc(), sets::put)
        .delete("/api/sets/{id}", Access::MANAGE, sets::delete_doc(), sets::delete)
        .get("/api/audit", Access::MANAGE, audit::list_doc(), audit::list)
        .get("/api/upstreams", Access::MANAGE, upstreams::list_doc(), upstreams::list)
}

fn keys(routes: Routes) -> Routes {
    use crate::api::{keys, tokens};
    routes
        .get("/api/tokens", Access::MANAGE, tokens::list_doc(), tokens::list)
        .post("/api/tokens", Access::MANAGE, tokens::create_doc(), tokens::create)
        .delete("/api/tokens/{id}", Access::MANAGE, tokens::delete_doc(), tokens::delete)
        .get("/api/keys/{id}", Access::MANAGE, keys::get_doc(), keys::get)
        .get("/api/keys", Access::MANAGE, keys::list_doc(), keys::list)
        .post("/api/keys", Access::MANAGE, keys::create_doc(), keys::create)
        .put("/api/keys/{id}", Access::MANAGE, keys::update_doc(), keys::update)
        .delete("/api/keys/{id}", Access::MANAGE, keys::delete_doc(), keys::delete)
        .post("/api/keys/{id}/rotate", Access::MANAGE, keys::rotate_doc(), keys::rotate)
}

fn operations(routes: Routes) -> Routes {
    use crate::api::{config, health, openapi, settings};
    routes
        .get("/healthz", Access::Public, health::live_doc(), health::live)
        .get("/readyz", Access::Public, health::ready_doc(), health::ready)
        .get("/api/settings", Access::MANAGE, settings::get_doc(), settings::get)
        .patch("/api/settings", Access::MANAGE, settings::change_doc(), settings::change)
        .post("/api/config/reload", Access::MANAGE, config::reload_doc(), config::reload)
        .get("/api/openapi.json", READ, openapi::get_doc(), openapi::get)
        .get("/api/docs", READ, docs::get_doc(), docs::get)
        .get("/assets/docs.css", Access::Public, docs::ASSET, docs::style)
        .get("/assets/docs.js", Access::Public, docs::ASSET, docs::script)
}

fn proxy(routes: Routes) -> Routes {
    use crate::llm::{docs, models, other_paths};
    routes
        .proxy(PROXY)
        .get("/v1/models", PROXY, docs::models("listModels"), models::list)
        .get("/v1beta/models", PROXY, docs::models("listGeminiModels"), models::list)
        .get("/v1/models/{call}", PROXY, docs::model("getModel"), models::one)
        .get("/v1beta/models/{call}", PROXY, docs::model("getGeminiModel"), models::one)
        .delete("/v1/models/{call}", PROXY, docs::HANDED_ON, other_paths::handle)
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
        .layer(from_fn_with_state(Arc::clone(&app), client::find))
        .layer(CatchPanicLayer::custom(panic::answer))
        .layer(from_fn(render::render))
        .layer(from_fn(docs::sign_in))
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
        $(fn $name<T: 'static>(
            self,
            path: &'static str,
            access: Access,
            doc: impl Into<Doc>,
            handler: impl Handler<T, Arc<App>>,
        ) -> Self {
            let route = RouteAccess { method: Method::$method, path, access, doc: doc.into() };
            self.add(MethodFilter::$method, route, handler)
        })*
    };
}

impl Routes {
    methods! { get GET; post POST; put PUT; patch PATCH; delete DELETE; }

    fn add<T: 'static>(
        mut self,
        filter: MethodFilter,
        line: RouteAccess,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        let access = line.access;
        // The layer added last comes first: nobody makes us read a body before the guard let it in.
        let guarded = move |request: Request, next: Next| guard(access, request, next);
        let route = on(filter, handler).route_layer(from_fn(buffer)).route_layer(from_fn(guarded));
        self.router = self.router.route(line.path, route);
        self.list.push(line);
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
                self.list.push(RouteAccess { method, path, access, doc: llm::docs::HANDED_ON });
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
            let doc = llm::docs::chat(path).into();
            self.list.push(RouteAccess { method: Method::POST, path, access, doc });
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
