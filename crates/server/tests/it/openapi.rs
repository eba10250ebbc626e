//! The document: it is whole, it hangs together, and the copy in the repository is the one that is served.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use server::{Access, openapi, route_list};

use crate::conformance::each_with;
use crate::generated::compare;
use crate::harness::Gateway;

/// Method, path and operation.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let paths = openapi()["paths"].as_object().unwrap();
    let of_path = |(path, item): (&'static String, &'static Value)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    };
    paths.iter().flat_map(of_path).collect()
}

/// The providers' paths, and files of pages.
fn is_elsewhere(path: &str) -> bool {
    path.starts_with("/v1") || path.starts_with("/assets/")
}

#[test]
fn the_copy_in_the_repository_is_what_is_served() {
    compare("openapi.json", &format!("{:#}\n", openapi()));
}

#[tokio::test]
async fn whoever_may_read_is_given_the_document() {
    let gateway = Gateway::start().await;
    let (_, reader) = gateway.key("reader", &["read:skills"]).await;
    let served = gateway.call(&reader, "GET", "/api/openapi.json", None).await.ok();
    assert_eq!(&served, openapi());
    assert_eq!(served["openapi"], "3.1.0");
    gateway.call("", "GET", "/api/openapi.json", None).await.expect(401, "missing_credential");
}

#[test]
fn every_route_of_ours_is_in_it_with_its_scope() {
    for route in route_list().iter().filter(|route| !is_elsewhere(route.path)) {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = &openapi()["paths"][route.path][&method];
        let what = format!("{method} {}", route.path);
        assert!(operation.is_object(), "{what}");
        match route.access {
            Access::Public => assert_eq!(operation["security"], serde_json::json!([]), "{what}"),
            Access::Needs(scope) => assert_eq!(operation["x-scope"], scope.as_str(), "{what}"),
        }
    }
}

#[test]
fn names_are_unique_and_sentences_are_there() {
    let mut ids = BTreeSet::new();
    let tags: Vec<&Value> = openapi()["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (method, path, operation) in operations() {
        let what = format!("{method} {path}");
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "{what}: {id} is taken");
        let summary = operation["summary"].as_str().unwrap();
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{what}: {summary:?}");
        assert!(operation["tags"].as_array().unwrap().iter().all(|tag| tags.contains(&tag)), "{what}");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{what} never succeeds");
    }
}

#[test]
fn every_reference_and_every_link_leads_somewhere() {
    let document = openapi();
    let mut references = Vec::new();
    each_with(document, "$ref", &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let by_id: BTreeMap<&str, &Value> =
        operations().into_iter().map(|(_, _, o)| (o["operationId"].as_str().unwrap(), o)).collect();
    let mut links = Vec::new();
    each_with(document, "links", &mut links);
    let links: Vec<&Value> = links.iter().flat_map(|of| of["links"].as_object().unwrap().values()).collect();
    assert!(links.len() >= 7, "{links:?}");
    for link in links {
        let target = by_id.get(link["operationId"].as_str().unwrap()).unwrap_or_else(|| panic!("{link}"));
        let known: Vec<&Value> =
            target["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
        for name in link["parameters"].as_object().unwrap().keys() {
            assert!(known.contains(&&Value::from(name.as_str())), "{link}");
        }
    }
}

#[test]
fn schemas_are_schemas_and_examples_fit_them() {
    let document = openapi();
    for (method, path, operation) in operations() {
        let content = operation["requestBody"]["content"].as_object();
        for (media, body) in content.into_iter().flatten() {
            let what = format!("{method} {path} {media}");
            let whole = serde_json::json!({"allOf": [body["schema"]], "components": document["components"]});
            let schema = jsonschema::validator_for(&whole).unwrap_or_else(|e| panic!("{what}: {e}"));
            if let Some(example) = body.get("example") {
                assert!(schema.is_valid(example), "{what}: the example does not fit: {example}");
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let valid = jsonschema::meta::is_valid(schema);
        assert!(valid, "{name} is no JSON Schema");
    }
}
