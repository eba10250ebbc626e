//! `omni-skills config ...`: look at a configuration before it is used, and let a running gateway read its own again.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::remote::{Gateway, Remote};
use super::{print, say};
use crate::config::{self, Environment};
use crate::reload::Origin;
use crate::wire;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read the file and the environment and say what is wrong with them; nothing is started or changed
    Check {
        /// Configuration file (default: ./omni-skills.toml, then the data folder's)
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the database and the workspaces
        #[arg(long)]
        data_dir: Option<PathBuf>,
    },
    /// Let a running gateway read its configuration again: whole, or not at all
    Reload,
    /// Print every setting with its default and what it means, as Markdown
    Reference,
}

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let as_json = arguments.gateway.json;
    match arguments.command {
        Command::Check { config, data_dir } => {
            super::install_tls();
            let origin =
                Origin { file: config, data_dir: config::data_dir(data_dir, env)?, ..Origin::default() };
            let loaded = origin.load(env)?;
            wire::check(&loaded, env)?;
            let file = loaded.file.as_ref().map(|file| file.display().to_string());
            match &file {
                _ if as_json => print::json(&json!({"file": file, "good": true})),
                Some(file) => say(&format!("{file} is good")),
                None => say("there is no configuration file; the environment and the defaults are good"),
            }
        }
        Command::Reload => {
            let remote = Remote::new(&arguments.gateway, env)?;
            let done = remote.ask(Method::POST, "/api/config/reload", Some(&json!({}))).await?;
            if as_json {
                print::json(&done);
            } else {
                tell(&done);
            }
        }
        Command::Reference => say(config::markdown().trim_end()),
    }
    Ok(())
}

fn tell(done: &Value) {
    let list = |name: &str| -> Vec<&str> {
        done.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (applied, later) = (list("applied"), list("needsRestart"));
    if applied.is_empty() && later.is_empty() {
        say("nothing has changed");
    }
    if !applied.is_empty() {
        say(&format!("holds now: {}", applied.join(", ")));
    }
    if !later.is_empty() {
        say(&format!("needs a restart: {}", later.join(", ")));
    }
}
