//! The document, put into the order of the page.

use askama::Template;
use serde_json::Value;

use super::schema::{Row, kind, rows};
use crate::error::Code;

/// The page.
#[derive(Template)]
#[template(path = "docs.html")]
pub(super) struct Page {
    version: String,
    about: Vec<Vec<Piece>>,
    sections: Vec<Section>,
    shapes: Vec<Shape>,
}

/// What is shown to somebody without a credential.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignIn;

/// Text with code in it.
pub(super) struct Piece {
    code: bool,
    text: String,
}

struct Section {
    name: String,
    about: String,
    operations: Vec<Described>,
}

struct Described {
    id: String,
    method: String,
    path: String,
    summary: String,
    about: Vec<Vec<Piece>>,
    scope: Option<String>,
    parameters: Vec<Parameter>,
    body: Option<Body>,
    answers: Vec<Answer>,
    failures: Vec<Failure>,
    links: Vec<String>,
    /// Whether the answer never ends.
    stream: bool,
}

struct Parameter {
    name: String,
    place: String,
    kind: String,
    required: bool,
    about: Vec<Piece>,
}

struct Body {
    media: String,
    required: bool,
    rows: Vec<Row>,
    example: String,
}

struct Answer {
    status: String,
    media: String,
    rows: Vec<Row>,
}

struct Failure {
    status: String,
    codes: Vec<(&'static str, Vec<Piece>)>,
}

struct Shape {
    name: String,
    rows: Vec<Row>,
}

/// Cuts text at its backticks.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(place, part)| Piece { code: place % 2 == 1, text: part.to_owned() }).collect()
}

fn paragraphs(text: &str) -> Vec<Vec<Piece>> {
    text.split("\n\n").filter(|part| !part.is_empty()).map(pieces).collect()
}

/// A member that is a text; empty where it is absent.
fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn members<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flatten()
}

impl Page {
    pub(super) fn of(document: &Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in members(document, "paths") {
            for (method, operation) in item.as_object().into_iter().flatten() {
                let tag = list(operation, "tags").next().and_then(Value::as_str).unwrap_or_default();
                operations.push((tag.to_owned(), described(document, method, path, operation)));
            }
        }
        let sections = list(document, "tags").map(|tag| {
            let name = text(tag, "name");
            let (own, rest) = std::mem::take(&mut operations).into_iter().partition(|(tag, _)| *tag == name);
            operations = rest;
            let own: Vec<(String, Described)> = own;
            let operations = own.into_iter().map(|(_, operation)| operation).collect();
            Section { name, about: text(tag, "description"), operations }
        });
        let sections = sections.collect();
        let info = document.get("info").unwrap_or(&Value::Null);
        let schemas = document.get("components").unwrap_or(&Value::Null);
        let shapes = members(schemas, "schemas");
        Self {
            version: text(info, "version"),
            about: paragraphs(&text(info, "description")),
            sections,
            shapes: shapes.map(|(name, schema)| Shape { name: name.clone(), rows: rows(schema) }).collect(),
        }
    }
}

fn described(document: &Value, method: &str, path: &str, operation: &Value) -> Described {
    let (mut answers, mut failures) = (Vec::new(), Vec::new());
    for (status, answer) in members(operation, "responses") {
        let shared = answer.get("$ref").and_then(Value::as_str).and_then(|r| document.pointer(r.get(1..)?));
        let answer = shared.unwrap_or(answer);
        if status.starts_with('2') {
            let (media, rows) = content(answer);
            answers.push(Answer { status: status.clone(), media, rows });
        } else {
            failures.push(Failure {
                status: status.clone(),
                codes: list(answer, "x-codes").filter_map(code).collect(),
            });
        }
    }
    let links = members(operation, "responses").flat_map(|(_, answer)| members(answer, "links"));
    let body = operation.get("requestBody").map(|body| {
        let (media, rows) = content(body);
        let required = body.get("required").is_some_and(|r| *r == true);
        Body { media, required, rows, example: example(body) }
    });
    Described {
        id: text(operation, "operationId"),
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        summary: text(operation, "summary"),
        about: paragraphs(&text(operation, "description")),
        scope: operation.get("x-scope").and_then(Value::as_str).map(str::to_owned),
        parameters: list(operation, "parameters").map(parameter).collect(),
        body,
        links: links.map(|(name, _)| name.clone()).collect(),
        stream: answers.iter().any(|answer| answer.media == "text/event-stream"),
        answers,
        failures,
    }
}

fn parameter(parameter: &Value) -> Parameter {
    let schema = parameter.get("schema").unwrap_or(&Value::Null);
    let default = schema.get("default").map(|default| format!(", default {default}")).unwrap_or_default();
    Parameter {
        name: text(parameter, "name"),
        place: text(parameter, "in"),
        kind: kind(schema) + &default,
        required: parameter.get("required").is_some_and(|r| *r == true),
        about: pieces(&text(parameter, "description")),
    }
}

/// The first type, with its schema as rows.
fn content(of: &Value) -> (String, Vec<Row>) {
    let first = members(of, "content").next();
    let schema = first.and_then(|(_, content)| content.get("schema"));
    (first.map(|(media, _)| media.clone()).unwrap_or_default(), schema.map(rows).unwrap_or_default())
}

fn example(body: &Value) -> String {
    let example = members(body, "content").next().and_then(|(_, content)| content.get("example"));
    example.map(|example| format!("{example:#}")).unwrap_or_default()
}

fn code(word: &Value) -> Option<(&'static str, Vec<Piece>)> {
    let code = Code::ALL.iter().find(|code| *word == code.as_str())?;
    Some((code.as_str(), pieces(code.doc())))
}
