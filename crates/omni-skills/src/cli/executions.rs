//! `omni-skills executions ...`: look at what ran and runs, and decide about calls that wait for a person.

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::print::visible;
use super::remote::{Gateway, Remote, segment};
use super::say;
use super::skills::read_object;
use crate::config::Environment;

/// Bytes of an input or message on one line of a list.
const SHOWN: usize = 400;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List executions, newest first
    List {
        /// Only those in this status: pending, running, success, error, timeout
        #[arg(long)]
        status: Option<String>,
        /// Only those that wait for a person
        #[arg(long)]
        waiting: bool,
        /// How many, at most 200
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Show one execution
    Show {
        /// Its id
        id: String,
    },
    /// Print what happens until interrupted; while it runs, turns wait for your decisions
    Tail,
    /// Stop a running or waiting execution
    Cancel {
        /// Its id
        id: String,
    },
    /// Let a waiting call run
    Approve {
        /// Id of the execution
        id: String,
        /// Run it with this input (JSON) instead of the model's
        #[arg(long, value_name = "JSON")]
        input: Option<String>,
    },
    /// Refuse a waiting call
    Deny {
        /// Id of the execution
        id: String,
        /// Why; the model is told
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let remote = Remote::new(&arguments.gateway, env)?;
    let as_json = arguments.gateway.json;
    match arguments.command {
        Command::List { status, waiting, limit } => {
            let status = status.map(|s| format!("&status={}", segment(&s))).unwrap_or_default();
            let waiting = if waiting { "&approval=waiting" } else { "" };
            let path = format!("/api/skills/executions?limit={limit}{status}{waiting}");
            let page = remote.ask(Method::GET, &path, None).await?;
            print_list(&page, as_json);
        }
        Command::Show { id } => {
            let answer = remote.ask(Method::GET, &one(&id), None).await?;
            say(&visible(&format!("{:#}", answer.get("execution").unwrap_or(&answer))));
        }
        Command::Cancel { id } => {
            let answer = remote.ask(Method::POST, &format!("{}/cancel", one(&id)), Some(&json!({}))).await?;
            print_one(&answer, as_json);
        }
        Command::Tail => tail(&remote, as_json).await?,
        Command::Approve { id, input } => {
            let input = input.map(|text| read_object(&text, "--input")).transpose()?;
            let body = input.map_or_else(|| json!({}), |input| json!({"input": input}));
            let answer = remote.ask(Method::POST, &format!("{}/approve", one(&id)), Some(&body)).await?;
            print_one(&answer, as_json);
        }
        Command::Deny { id, reason } => {
            let body = reason.map_or_else(|| json!({}), |reason| json!({"reason": reason}));
            let answer = remote.ask(Method::POST, &format!("{}/deny", one(&id)), Some(&body)).await?;
            print_one(&answer, as_json);
        }
    }
    Ok(())
}

fn one(id: &str) -> String {
    format!("/api/skills/executions/{}", segment(id))
}

fn print_list(page: &Value, as_json: bool) {
    if as_json {
        return say(&visible(&page.to_string()));
    }
    let rows = page.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for row in rows {
        say(&line(row));
    }
    if rows.is_empty() {
        say("none");
    }
}

fn print_one(answer: &Value, as_json: bool) {
    let row = answer.get("execution").unwrap_or(answer);
    say(&if as_json { visible(&row.to_string()) } else { line(row) });
}

/// One execution on one line; what it is to do too, while it waits.
fn line(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("-");
    let approval = row.pointer("/approval/state").and_then(Value::as_str);
    let state = approval.map_or_else(|| text("status").to_owned(), |a| format!("{} ({a})", text("status")));
    let id = row.get("id").or_else(|| row.get("executionId")).and_then(Value::as_str).unwrap_or("-");
    let what = match (approval, row.get("input"), row.get("errorMessage").and_then(Value::as_str)) {
        (Some("waiting"), Some(input), _) => input.to_string(),
        (_, _, Some(message)) => message.to_owned(),
        _ => String::new(),
    };
    let shown = domain::text::prefix_bytes(&what, SHOWN);
    let hidden = what.len() - shown.len();
    let more = format!(" [{hidden} more bytes: omni-skills executions show {id}]");
    let what = visible(shown) + if hidden > 0 { &more } else { "" };
    format!("{id}  {state:<20}  {}@{}  {}  {what}", text("skillName"), text("version"), text("apiKeyId"))
        .trim_end()
        .to_owned()
}

/// Server-sent events, one line each.
async fn tail(remote: &Remote, as_json: bool) -> Result<()> {
    let mut answer = remote.open(Method::GET, "/api/skills/executions/stream", None).await?;
    let mut waiting = Vec::new();
    while let Some(piece) = answer.chunk().await.context("the gateway ended the connection")? {
        waiting.extend_from_slice(&piece);
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let rest = waiting.split_off(end + 1);
            let line = std::mem::replace(&mut waiting, rest);
            if let Some(data) = String::from_utf8_lossy(&line).strip_prefix("data:") {
                print_event(data.trim(), as_json);
            }
        }
    }
    Ok(())
}

fn print_event(data: &str, as_json: bool) {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    if as_json {
        return say(&visible(data));
    }
    match event.get("event").and_then(Value::as_str) {
        Some(name) => say(&format!("{name:<18}  {}", line(&event))),
        None => say(&format!("some events were missed: {data}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_input_says_how_much_more_there_is() {
        let row = json!({"id": "i", "status": "pending", "approval": {"state": "waiting"}, "input": "x".repeat(1000)});
        assert!(line(&row).ends_with("[602 more bytes: omni-skills executions show i]"), "{}", line(&row));
    }

    #[test]
    fn a_waiting_call_shows_what_it_is_to_do() {
        let row = json!({"id": "i", "status": "pending", "approval": {"state": "waiting"}, "skillName": "file_write",
            "version": "1.0.0", "apiKeyId": "k", "input": {"path": "a"}});
        assert_eq!(line(&row), "i  pending (waiting)     file_write@1.0.0  k  {\"path\":\"a\"}");
    }
}
