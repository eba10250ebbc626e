//! `omni-skills keys ...`: who may come in.

use anyhow::Result;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::remote::{Gateway, Remote, query, segment};
use super::{print, say};
use crate::config::Environment;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make an API key; its secret is shown this once
    Create {
        /// A name for people
        name: String,
        /// What it may do; may be given more than once (default: what applications need)
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
    },
    /// List API keys, newest first
    List {
        /// How many, at most 200
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Which page
        #[arg(long, default_value_t = 1)]
        page: u32,
    },
    /// Stop an API key for good; what it owned stays
    Revoke {
        /// Its id
        id: String,
    },
}

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let remote = Remote::new(&arguments.gateway, env)?;
    let as_json = arguments.gateway.json;
    match arguments.command {
        Command::Create { name, scopes } => {
            let body = if scopes.is_empty() {
                json!({"name": name})
            } else {
                json!({"name": name, "scopes": scopes})
            };
            let made = remote.ask(Method::POST, "/api/keys", Some(&body)).await?;
            let text = |name: &str| made.get(name).and_then(Value::as_str).unwrap_or_default();
            if as_json {
                print::json(&made);
            } else {
                say(&format!("{}  (shown this once; its id is {})", text("key"), text("id")));
            }
        }
        Command::List { limit, page } => {
            let query = query(&[("limit", Some(limit.to_string())), ("page", Some(page.to_string()))]);
            let page = remote.ask(Method::GET, &format!("/api/keys{query}"), None).await?;
            if as_json {
                print::json(&page);
            } else {
                let columns = [
                    ("ID", "/id"),
                    ("NAME", "/name"),
                    ("SCOPES", "/scopes"),
                    ("REVOKED", "/revoked"),
                    ("CREATED", "/createdAt"),
                    ("LAST USED", "/lastUsedAt"),
                ];
                print::table(print::rows(&page), &columns);
                print::more(&page);
            }
        }
        Command::Revoke { id } => {
            let done = remote.ask(Method::DELETE, &format!("/api/keys/{}", segment(&id)), None).await?;
            if as_json { print::json(&done) } else { say(&format!("revoked {id}")) }
        }
    }
    Ok(())
}
