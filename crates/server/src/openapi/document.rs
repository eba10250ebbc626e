//! From the route list to the document.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::operation::{Answer, Body, Doc, Link, Operation, Parameter, Place, Tag};
use super::schema::{Schema, Shape, free_object, text};
use super::shapes::ERROR;
use crate::error::Code;
use crate::http::{Access, RouteAccess, is_proxy_path};

const ABOUT: &str = "Skills for LLMs behind one gateway: the registry, its executions, and who may do what.

Send bodies as `Content-Type: application/json`. Times are RFC 3339, UTC. Errors are \
`{error, code, details?, requestId}` with a stable `code`. A key acts only as itself; the management token may do \
everything.";

/// The whole document.
pub(crate) fn document(routes: &[RouteAccess]) -> Value {
    let mut shapes = BTreeMap::new();
    let mut failures = BTreeMap::new();
    let mut paths = Map::new();
    collect(ERROR, &mut shapes);
    for route in routes {
        let Doc::Operation(operation) = &route.doc else { continue };
        for shape in operation.shapes() {
            collect(shape, &mut shapes);
        }
        let path = paths.entry(route.path).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(path) = path {
            let method = route.method.as_str().to_ascii_lowercase();
            path.insert(method, written(operation, route, &mut failures));
        }
    }
    let used = |tag: &Tag| routes.iter().any(|r| matches!(&r.doc, Doc::Operation(o) if o.tag == *tag));
    let tags = Tag::ALL.iter().filter(|tag| used(tag));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Omni Skills",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Skills for LLMs behind one gateway",
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": tags.map(|tag| json!({"name": tag.name(), "description": tag.about()})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": shapes,
            "responses": failures,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key (`osk_...`) or a management token (`omt_...`).",
                },
                "omniKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-omni-key",
                    "description": "The same, beside a credential of the client's own.",
                },
            },
        },
    })
}

/// A shape and everything that it refers to.
fn collect(shape: Shape, into: &mut BTreeMap<&'static str, Value>) {
    if into.contains_key(shape.name) {
        return;
    }
    let schema = (shape.schema)();
    into.insert(shape.name, schema.json());
    for inner in schema.uses() {
        collect(*inner, into);
    }
}

impl Operation {
    fn shapes(&self) -> Vec<Shape> {
        let parameters = self.parameters.iter().map(|parameter| &parameter.schema);
        let answers = self.answers.iter().map(|answer| &answer.schema);
        let body = self.body.iter().map(|body| &body.schema);
        parameters.chain(answers).chain(body).flat_map(Schema::uses).copied().collect()
    }
}

fn written(operation: &Operation, route: &RouteAccess, failures: &mut BTreeMap<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("tags".to_owned(), json!([operation.tag.name()]));
    out.insert("operationId".to_owned(), operation.id.into());
    out.insert("summary".to_owned(), operation.summary.into());
    let mut about = operation.about.to_owned();
    match route.access {
        Access::Public => out.insert("security".to_owned(), json!([])),
        Access::Needs(scope) => {
            let gap = if about.is_empty() { "" } else { "\n\n" };
            about = format!("{about}{gap}Needs the scope `{}`.", scope.as_str());
            let scopes = json!([scope.as_str()]);
            out.insert("x-scope".to_owned(), scope.as_str().into());
            out.insert("security".to_owned(), json!([{"bearer": scopes.clone()}, {"omniKey": scopes}]))
        }
    };
    if !about.is_empty() {
        out.insert("description".to_owned(), about.into());
    }
    let parameters = parameters(operation, route.path);
    if !parameters.is_empty() {
        out.insert("parameters".to_owned(), parameters.iter().map(parameter).collect());
    }
    if let Some(body) = &operation.body {
        out.insert("requestBody".to_owned(), request_body(body));
    }
    out.insert("responses".to_owned(), responses(operation, route, failures));
    Value::Object(out)
}

/// Those that are described, and those that the path names beside them.
fn parameters(operation: &Operation, path: &'static str) -> Vec<Parameter> {
    let described =
        |name: &str| operation.parameters.iter().any(|p| p.place == Place::Path && p.name == name);
    let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let rest = named.filter(|name| !described(name)).map(|name| Parameter {
        place: Place::Path,
        name,
        required: true,
        schema: text().length(1, 200),
    });
    rest.chain(operation.parameters.iter().cloned()).collect()
}

fn parameter(parameter: &Parameter) -> Value {
    let mut schema = parameter.schema.json();
    let about = schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
    let mut out =
        json!({"name": parameter.name, "in": parameter.place.word(), "required": parameter.required});
    if let Value::Object(out) = &mut out {
        out.extend(about.map(|about| ("description".to_owned(), about)));
        out.insert("schema".to_owned(), schema);
    }
    out
}

fn request_body(body: &Body) -> Value {
    let mut content = Map::from_iter([("schema".to_owned(), body.schema.json())]);
    content.extend(body.example.clone().map(|example| ("example".to_owned(), example)));
    json!({"required": body.required, "content": {body.media: content}})
}

/// Failures are described once for each set of codes, and referred to.
fn responses(operation: &Operation, route: &RouteAccess, failures: &mut BTreeMap<String, Value>) -> Value {
    let mut out = BTreeMap::new();
    for answer in &operation.answers {
        out.insert(answer.status.as_u16().to_string(), success(answer, &operation.links));
    }
    let mut codes: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in operation.errors.iter().copied().chain(implied(operation, route)) {
        let of_status = codes.entry(code.status().as_u16()).or_default();
        if !of_status.contains(&code) {
            of_status.push(code);
        }
    }
    for (status, codes) in codes {
        let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let look = match status {
            _ if is_proxy_path(route.path) => Look::Proxy,
            401 if operation.page => Look::Page,
            _ => Look::Rest,
        };
        let name = format!("{status}.{}{}", words.join("."), look.suffix());
        out.insert(status.to_string(), json!({"$ref": format!("#/components/responses/{name}")}));
        failures.entry(name).or_insert_with(|| failure(&codes, look));
    }
    json!(out)
}

fn success(answer: &Answer, links: &[Link]) -> Value {
    let about = answer.status.canonical_reason().unwrap_or_default();
    let mut out = Map::from_iter([("description".to_owned(), about.into())]);
    if answer.status != StatusCode::NO_CONTENT {
        out.insert("content".to_owned(), json!({answer.media: {"schema": answer.schema.json()}}));
    }
    if !links.is_empty() {
        let links = links.iter().map(|link| (link.operation.to_owned(), written_link(link)));
        out.insert("links".to_owned(), links.collect());
    }
    Value::Object(out)
}

fn written_link(link: &Link) -> Value {
    let parameters: Map<_, _> =
        link.parameters.iter().map(|(name, from)| ((*name).to_owned(), (*from).into())).collect();
    json!({"operationId": link.operation, "parameters": parameters})
}

/// What becomes of a refusal: its shape is the provider's on the proxy; a browser may get a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Rest,
    Page,
    Proxy,
}

impl Look {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Rest => "",
            Self::Page => ".page",
            Self::Proxy => ".proxy",
        }
    }
}

/// The errors of one status.
fn failure(codes: &[Code], look: Look) -> Value {
    let lines: Vec<String> =
        codes.iter().map(|code| format!("* `{}`: {}", code.as_str(), code.doc())).collect();
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let schema = if look == Look::Proxy { free_object() } else { ERROR.refer() };
    let mut content = Map::from_iter([("application/json".to_owned(), json!({"schema": schema.json()}))]);
    if look == Look::Page {
        content.insert("text/html".to_owned(), json!({"schema": text().json()}));
    }
    let mut out = Map::from_iter([
        ("description".to_owned(), lines.join("\n").into()),
        ("content".to_owned(), Value::Object(content)),
        ("x-codes".to_owned(), words.into()),
    ]);
    let header = match codes.first().map(|code| code.status()) {
        Some(StatusCode::UNAUTHORIZED) => Some(("WWW-Authenticate", "How to log in.")),
        Some(StatusCode::METHOD_NOT_ALLOWED) => Some(("Allow", "The methods that are possible.")),
        _ => None,
    };
    if let Some((name, about)) = header {
        let described = json!({name: {"description": about, "schema": text().json()}});
        out.insert("headers".to_owned(), described);
    }
    Value::Object(out)
}

/// What any operation of its kind may answer.
fn implied(operation: &Operation, route: &RouteAccess) -> Vec<Code> {
    let api = route.path.starts_with("/api");
    let needs = matches!(route.access, Access::Needs(_));
    let json = operation.body.as_ref().is_some_and(|body| body.media == "application/json");
    let reads_query = operation.parameters.iter().any(|p| p.place == Place::Query);
    let named = route.path.contains('{');
    let groups: [(bool, &[Code]); 7] = [
        (true, &[Code::InvalidHost, Code::HostRefused, Code::MethodNotAllowed, Code::Internal]),
        (true, &[Code::BrokenBody, Code::BodyTimeout, Code::BodyTooLarge]),
        (api, &[Code::OriginRefused]),
        (needs, &[Code::MissingCredential, Code::InvalidCredential, Code::MissingScope, Code::ShuttingDown]),
        (json, &[Code::MalformedJson, Code::UnsupportedMediaType, Code::InvalidType]),
        (json || reads_query, &[Code::InvalidField]),
        (named && api, &[Code::RouteNotFound]),
    ];
    groups.into_iter().filter(|(applies, _)| *applies).flat_map(|(_, codes)| codes).copied().collect()
}
