//! The tables of `docs/rest.md` are made from the document and the list of codes: what is not there cannot be found by
//! a user.

use std::fmt::Write as _;

use serde_json::Value;
use server::{Access, ErrorCode, openapi, route_list};

use crate::generated::compare_part;

#[test]
fn every_route_is_in_the_reference() {
    let mut table = "| endpoint | needs | what |\n|---|---|---|\n".to_owned();
    for route in route_list() {
        let method = route.method.as_str();
        let operation = &openapi()["paths"][route.path][method.to_ascii_lowercase()];
        let needs = match route.access {
            Access::Public => "-".to_owned(),
            Access::Needs(scope) => format!("`{}`", scope.as_str()),
        };
        let what =
            if operation.is_object() { described(operation) } else { "handed on, see below".to_owned() };
        writeln!(table, "| `{method} {}` | {needs} | {what} |", route.path).unwrap();
    }
    compare_part("docs/rest.md", "endpoints", &table);
}

#[test]
fn every_code_is_in_the_reference() {
    let mut table = "| code | status | means |\n|---|---|---|\n".to_owned();
    for code in ErrorCode::ALL {
        writeln!(table, "| `{}` | {} | {} |", code.as_str(), code.status().as_u16(), code.doc()).unwrap();
    }
    compare_part("docs/rest.md", "codes", &table);
}

/// The summary, and what may be sent along.
fn described(operation: &Value) -> String {
    let mut out = operation["summary"].as_str().unwrap().to_owned();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query: Vec<&str> =
        parameters.filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap()).collect();
    if !query.is_empty() {
        write!(out, "; `?{}`", query.join(", ")).unwrap();
    }
    for body in operation["requestBody"]["content"].as_object().into_iter().flat_map(|c| c.values()) {
        let schema = &body["schema"];
        let required =
            |name: &String| schema["required"].as_array().is_some_and(|r| r.contains(&name.as_str().into()));
        let mark = |name: &String| if required(name) { name.clone() } else { format!("{name}?") };
        let members: Vec<String> =
            schema["properties"].as_object().into_iter().flat_map(|p| p.keys()).map(mark).collect();
        if !members.is_empty() {
            write!(out, "; `{{{}}}`", members.join(", ")).unwrap();
        }
    }
    out
}
