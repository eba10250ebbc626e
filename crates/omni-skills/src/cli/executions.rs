//! `omni-skills executions ...`: look at what ran and runs, and decide about calls that wait for a person.

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::remote::{Gateway, Remote};
use super::say;
use crate::config::Environment;

/// Bytes of an input or message on one line of a list.
const SHOWN: usize = 400;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    /// Print JSON, as the REST API gives it
    #[arg(long, global = true)]
    json: bool,
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
    let remote = Remote::new(arguments.gateway, env)?;
    let as_json = arguments.json;
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
        Command::Tail => tail(&remote, as_json).await?,
        Command::Approve { id, input } => {
            let input = input.as_deref().map(read_input).transpose()?;
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

fn read_input(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).context("--input is not one JSON object")
}

fn one(id: &str) -> String {
    format!("/api/skills/executions/{}", segment(id))
}

/// As one segment of a path, or one value of a query.
fn segment(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().map(|b| if plain(&b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
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

/// What a terminal would not show as it is: control characters, and those that change how others are shown.
fn visible(text: &str) -> String {
    let hides = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|c| if hides(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
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
    fn an_id_is_one_segment() {
        assert_eq!(segment("01-a.b~c"), "01-a.b~c");
        assert_eq!(segment("../x?y=é"), "..%2Fx%3Fy%3D%C3%A9");
    }

    #[test]
    fn nothing_is_hidden_from_whoever_decides() {
        assert_eq!(visible("a\u{202e}b\u{2028}c\u{1b}[31m é"), "a\\u{202e}b\\u{2028}c\\u{1b}[31m é");
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
