//! `omni-skills skills ...`: look at skills of a running gateway, change and run them.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::failure::Failure;
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
    /// List skills
    List {
        /// Only those whose name, description or tags hold this
        #[arg(long)]
        q: Option<String>,
        /// Only those in this mode
        #[arg(long)]
        mode: Option<Mode>,
        /// Only those of this owner: an API key id, or `system`
        #[arg(long)]
        owner: Option<String>,
        /// How many, at most 200
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Which page
        #[arg(long, default_value_t = 1)]
        page: u32,
    },
    /// Show one skill
    Show {
        /// Its id, its name, or `name@version`
        skill: String,
    },
    /// Install a skill from a JSON file: `{name, description, handlerCode, schema, ...}`
    Install {
        /// The file; `-` reads standard input
        file: PathBuf,
        /// Overwrite this name and version of the owner
        #[arg(long)]
        replace: bool,
    },
    /// Let a skill run again
    Enable {
        /// Its id, its name, or `name@version`
        skill: String,
    },
    /// Stop a skill through every door, at once
    Disable {
        /// Its id, its name, or `name@version`
        skill: String,
    },
    /// Say when a skill is offered
    Mode {
        /// Its id, its name, or `name@version`
        skill: String,
        /// The mode
        mode: Mode,
    },
    /// Remove a skill; its history stays
    Delete {
        /// Its id, its name, or `name@version`
        skill: String,
    },
    /// Run a skill and print its output
    Exec {
        /// Its name, or `name@constraint`
        skill: String,
        /// Its input, one JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Milliseconds it may take
        #[arg(long)]
        timeout_ms: Option<u64>,
    },
    /// Show which skills a request would be offered, and why
    Select {
        /// What the request says
        text: String,
        /// Skills that the request names
        #[arg(long = "use", value_name = "SKILL")]
        named: Vec<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    On,
    Auto,
    Off,
}

impl Mode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

/// Columns of a list.
const COLUMNS: &[(&str, &str)] = &[
    ("ID", "/id"),
    ("NAME", "/name"),
    ("VERSION", "/version"),
    ("MODE", "/mode"),
    ("ENABLED", "/enabled"),
    ("POLICY", "/policy"),
    ("OWNER", "/apiKeyId"),
    ("DESCRIPTION", "/description"),
];

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let remote = Remote::new(&arguments.gateway, env)?;
    let as_json = arguments.gateway.json;
    match arguments.command {
        Command::List { q, mode, owner, limit, page } => {
            let mode = mode.map(|mode| mode.as_str().to_owned());
            let (limit, page) = (Some(limit.to_string()), Some(page.to_string()));
            let query =
                query(&[("q", q), ("mode", mode), ("owner", owner), ("limit", limit), ("page", page)]);
            let page = remote.ask(Method::GET, &format!("/api/skills{query}"), None).await?;
            if as_json {
                print::json(&page);
            } else {
                print::table(print::rows(&page), COLUMNS);
                print::more(&page);
            }
        }
        Command::Show { skill } => {
            let id = find(&remote, &skill).await?;
            let found = remote.ask(Method::GET, &one(&id), None).await?;
            if as_json { print::json(&found) } else { print::pretty(&found) }
        }
        Command::Install { file, replace } => {
            let mut body = read_object(&read_file(&file)?, &file.display().to_string())?;
            if replace {
                body.insert("replace".to_owned(), true.into());
            }
            let done = remote.ask(Method::POST, "/api/skills/install", Some(&Value::Object(body))).await?;
            let id = done.get("id").and_then(Value::as_str).unwrap_or_default();
            if as_json { print::json(&done) } else { say(&format!("installed as {id}")) }
        }
        Command::Enable { skill } => change(&remote, &skill, &json!({"enabled": true}), as_json).await?,
        Command::Disable { skill } => change(&remote, &skill, &json!({"enabled": false}), as_json).await?,
        Command::Mode { skill, mode } => {
            change(&remote, &skill, &json!({"mode": mode.as_str()}), as_json).await?;
        }
        Command::Delete { skill } => {
            let id = find(&remote, &skill).await?;
            let done = remote.ask(Method::DELETE, &one(&id), None).await?;
            if as_json { print::json(&done) } else { say(&format!("removed {id}")) }
        }
        Command::Exec { skill, input, timeout_ms } => {
            exec(&remote, skill, &input, timeout_ms, as_json).await?;
        }
        Command::Select { text, named } => {
            let mut body = json!({"text": text});
            if let Value::Object(body) = &mut body
                && !named.is_empty()
            {
                body.insert("use".to_owned(), named.into());
            }
            let found = remote.ask(Method::POST, "/api/skills/select", Some(&body)).await?;
            if as_json { print::json(&found) } else { print::pretty(&found) }
        }
    }
    Ok(())
}

fn one(id: &str) -> String {
    format!("/api/skills/{}", segment(id))
}

async fn change(remote: &Remote, skill: &str, body: &Value, as_json: bool) -> Result<()> {
    let id = find(remote, skill).await?;
    let changed = remote.ask(Method::PUT, &one(&id), Some(body)).await?;
    if as_json {
        print::json(&changed);
    } else {
        print::table(std::slice::from_ref(changed.get("skill").unwrap_or(&changed)), COLUMNS);
    }
    Ok(())
}

/// The id of the one skill that is meant.
async fn find(remote: &Remote, skill: &str) -> Result<String> {
    if skill.len() == 36 && skill.bytes().filter(|byte| *byte == b'-').count() == 4 {
        return Ok(skill.to_owned());
    }
    let (name, version) =
        skill.split_once('@').map_or((skill, None), |(name, version)| (name, Some(version)));
    let mut found = Vec::new();
    for page in 1.. {
        let query = query(&[
            ("q", Some(name.to_owned())),
            ("limit", Some("200".to_owned())),
            ("page", Some(page.to_string())),
        ]);
        let answer = remote.ask(Method::GET, &format!("/api/skills{query}"), None).await?;
        let text =
            |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let fits =
            |row: &&Value| text(row, "name") == name && version.is_none_or(|v| text(row, "version") == v);
        found.extend(print::rows(&answer).iter().filter(fits).map(|row| {
            (
                text(row, "id"),
                format!("{}@{} of {}", text(row, "name"), text(row, "version"), text(row, "apiKeyId")),
            )
        }));
        if answer.get("totalPages").and_then(Value::as_u64).unwrap_or(1) <= page {
            break;
        }
    }
    match found.as_slice() {
        [] => bail!("there is no skill `{skill}`; `omni-skills skills list` shows what there is"),
        [(id, _)] => Ok(id.clone()),
        several => {
            let lines: Vec<_> = several.iter().map(|(id, what)| format!("  {id}  {what}")).collect();
            bail!("several skills are called `{skill}`; say which by its id:\n{}", lines.join("\n"))
        }
    }
}

async fn exec(
    remote: &Remote,
    skill: String,
    input: &str,
    timeout_ms: Option<u64>,
    as_json: bool,
) -> Result<()> {
    let mut body = Map::new();
    body.insert("skillName".to_owned(), skill.into());
    body.insert("input".to_owned(), Value::Object(read_object(input, "--input")?));
    if let Some(ms) = timeout_ms {
        body.insert("timeoutMs".to_owned(), ms.into());
    }
    let answer = remote.ask(Method::POST, "/api/skills/executions", Some(&Value::Object(body))).await?;
    let row = answer.get("execution").unwrap_or(&answer);
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    if as_json {
        print::json(&answer);
    } else if let Some(output) = row.get("output").filter(|output| !output.is_null()) {
        print::pretty(output);
    }
    match text("status") {
        "success" => Ok(()),
        status => bail!("{status}: {} (omni-skills executions show {})", text("errorMessage"), text("id")),
    }
}

fn read_file(file: &Path) -> Result<String> {
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// One JSON object, or a wrong command line.
pub(super) fn read_object(text: &str, what: &str) -> Result<Map<String, Value>> {
    let read = serde_json::from_str(text);
    read.map_err(|error| Failure::Usage(format!("{what} is not one JSON object: {error}")).into())
}
