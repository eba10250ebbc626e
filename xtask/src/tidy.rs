//! `cargo xtask tidy`: the layering of the crates and the size of the files, held to the letter.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, root, say};

/// Which of our crates each crate may import. Arrows point from programs to surfaces to services to rules.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("dialects", &["domain"]),
    ("store", &["domain"]),
    ("store-sql", &["domain", "store"]),
    ("registry", &["domain", "store"]),
    ("executor", &["domain", "registry", "store"]),
    ("launcher", &[]),
    ("aot", &["launcher"]),
    ("sandbox", &["domain", "launcher"]),
    ("builtins", &["domain", "executor", "sandbox"]),
    ("server", &["dialects", "domain", "executor", "registry", "sandbox", "store"]),
    (
        "omni-skills",
        &[
            "builtins",
            "dialects",
            "domain",
            "executor",
            "registry",
            "sandbox",
            "server",
            "store",
            "store-sql",
        ],
    ),
    ("testkit", &["dialects", "domain", "store"]),
    ("xtask", &[]),
];

/// Outside crates that a layer must never reach directly.
const NEVER: &[(&str, &[&str])] = &[
    ("domain", &["tokio", "http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("dialects", &["tokio", "http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("store", &["tokio", "http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("registry", &["http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("executor", &["http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("sandbox", &["http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("builtins", &["http", "axum", "reqwest", "rusqlite", "tokio-postgres"]),
    ("server", &["rusqlite", "tokio-postgres", "wasmtime"]),
];

/// Longest source file, in lines.
const LINES_MAX: usize = 600;
/// Median source file, in lines.
const LINES_MEDIAN: usize = 150;

pub(crate) fn tidy() -> Result<()> {
    let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).context("cargo metadata")?;
    let mut faults = layers(&metadata);
    faults.extend(sizes()?);
    if faults.is_empty() {
        say("tidy: layers and sizes hold");
        return Ok(());
    }
    bail!("not tidy:\n  {}", faults.join("\n  "))
}

fn layers(metadata: &Value) -> Vec<String> {
    let empty = Vec::new();
    let packages = metadata.get("packages").and_then(Value::as_array).unwrap_or(&empty);
    let name = |v: &Value| v.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let mut faults = Vec::new();
    for package in packages {
        let package_name = name(package);
        let Some((_, allowed)) = LAYERS.iter().find(|(n, _)| *n == package_name) else {
            faults.push(format!("{package_name} is not in the table of layers (xtask/src/tidy.rs)"));
            continue;
        };
        let never = NEVER.iter().find(|(n, _)| *n == package_name).map_or(&[][..], |(_, never)| never);
        for dependency in package.get("dependencies").and_then(Value::as_array).unwrap_or(&empty) {
            if dependency.get("kind").and_then(Value::as_str) == Some("dev") {
                continue;
            }
            let used = name(dependency);
            if ours.contains(&used) && !allowed.contains(&used.as_str()) {
                faults.push(format!("{package_name} may not import {used}"));
            }
            if never.contains(&used.as_str()) {
                faults.push(format!("{package_name} may never use {used}"));
            }
        }
    }
    faults
}

fn sizes() -> Result<Vec<String>> {
    let listed =
        Command::new("git").args(["ls-files", "*.rs", "*.py", "*.js"]).current_dir(root()).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut counts = Vec::new();
    let mut faults = Vec::new();
    for file in listed.lines().filter(|f| root().join(f).is_file()) {
        let lines = std::fs::read_to_string(root().join(Path::new(file)))?.lines().count();
        if lines > LINES_MAX {
            faults.push(format!("{file} has {lines} lines; {LINES_MAX} is the limit"));
        }
        counts.push(lines);
    }
    counts.sort_unstable();
    if let Some(median) = counts.get(counts.len() / 2).filter(|m| **m > LINES_MEDIAN) {
        faults.push(format!("the median file has {median} lines; {LINES_MEDIAN} is the limit"));
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_real_tree_holds() {
        tidy().unwrap();
    }

    #[test]
    fn an_upward_arrow_is_found() {
        let metadata = json!({"packages": [
            {"name": "domain", "dependencies": [{"name": "store", "kind": null}, {"name": "tokio", "kind": null}]},
            {"name": "store", "dependencies": [{"name": "server", "kind": "dev"}]},
            {"name": "mystery", "dependencies": []},
            {"name": "server", "dependencies": []},
        ]});
        let faults = layers(&metadata).join("; ");
        assert!(faults.contains("domain may not import store"), "{faults}");
        assert!(faults.contains("domain may never use tokio"), "{faults}");
        assert!(faults.contains("mystery is not in the table"), "{faults}");
        assert!(!faults.contains("may not import server"), "dev-dependencies are free: {faults}");
    }
}
