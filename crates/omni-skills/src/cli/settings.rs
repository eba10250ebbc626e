//! `omni-skills settings ...`: what holds at once and is kept in the database.

use anyhow::Result;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::print;
use super::remote::{Gateway, Remote};
use crate::config::Environment;

/// Where they are.
const PATH: &str = "/api/settings";

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show settings with where they come from
    Get {
        /// One of them, such as `executor.timeoutMs`
        name: Option<String>,
    },
    /// Change a setting
    Set {
        /// Its name, such as `executor.timeoutMs`
        name: String,
        /// The value; `null` takes it back; `-` reads standard input, for secrets
        value: String,
    },
}

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let remote = Remote::new(&arguments.gateway, env)?;
    let as_json = arguments.gateway.json;
    let (shown, name) = match arguments.command {
        Command::Get { name } => (remote.ask(Method::GET, PATH, None).await?, name),
        Command::Set { name, value } => {
            let body = nested(&name, read(value)?);
            (remote.ask(Method::PATCH, PATH, Some(&body)).await?, Some(name))
        }
    };
    if as_json && name.is_none() {
        print::json(&shown);
        return Ok(());
    }
    let all = rows(&shown);
    let wanted: Vec<Value> =
        all.into_iter().filter(|row| name.as_deref().is_none_or(|name| row["name"] == name)).collect();
    if let (Some(name), true) = (&name, wanted.is_empty()) {
        return Err(Failure::Usage(format!(
            "there is no setting `{name}`; `omni-skills settings get` lists them"
        ))
        .into());
    }
    if as_json {
        wanted.iter().for_each(print::json);
    } else {
        print::table(
            &wanted,
            &[("NAME", "/name"), ("VALUE", "/value"), ("SOURCE", "/source"), ("FROM", "/from")],
        );
    }
    Ok(())
}

fn read(value: String) -> Result<Value> {
    let mut text = value;
    if text == "-" {
        text.clear();
        std::io::stdin().read_line(&mut text)?;
        text.truncate(text.trim_end().len());
        return Ok(text.into());
    }
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| text.into()))
}

/// `a.b` as an object in an object.
fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.').fold(value, |inner, key| Value::Object(Map::from_iter([(key.to_owned(), inner)])))
}

/// One row for each setting.
fn rows(shown: &Value) -> Vec<Value> {
    let sources = shown.get("sources").and_then(Value::as_object).into_iter().flatten();
    let row = |(name, source): (&String, &Value)| {
        let pointer = format!("/{}", name.replace('.', "/"));
        let value = shown.pointer(&pointer).cloned();
        // Secrets are only said to be there.
        let value = value.or_else(|| {
            shown
                .pointer(&format!("{pointer}Set"))
                .map(|set| if *set == true { json!("(set)") } else { Value::Null })
        });
        json!({"name": name, "value": value, "source": source.get("source"), "from": source.get("name"), "pinned": source.get("pinned")})
    };
    sources.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_point_is_a_member_of_an_object() {
        assert_eq!(nested("executor.timeoutMs", 5.into()), json!({"executor": {"timeoutMs": 5}}));
        assert_eq!(nested("skillsEnabled", false.into()), json!({"skillsEnabled": false}));
    }

    #[test]
    fn a_secret_is_only_said_to_be_there() {
        let shown = json!({"a": {"b": 1}, "keySet": true, "sources": {"a.b": {"source": "file", "name": "f", "pinned": true}, "key": {"source": "database", "pinned": false}}});
        let rows = rows(&shown);
        assert_eq!(
            rows[0],
            json!({"name": "a.b", "value": 1, "source": "file", "from": "f", "pinned": true})
        );
        assert_eq!(rows[1]["value"], "(set)");
    }
}
