//! `omni-skills doctor`: what a gateway needs on this machine, and whether one answers. Changes nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::remote::{Gateway, Remote};
use super::{print, say};
use crate::config::{self, Environment};
use crate::reload::Origin;
use crate::{database, wire};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    gateway: Gateway,
    /// Configuration file (default: ./omni-skills.toml, then the data folder's)
    #[arg(long)]
    config: Option<PathBuf>,
    /// Folder of the database and the workspaces
    #[arg(long)]
    data_dir: Option<PathBuf>,
}

/// What was found about one thing.
struct Finding {
    about: &'static str,
    state: State,
    says: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Worth knowing, no failure.
    Note,
    Bad,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "fault",
        }
    }
}

pub(super) async fn run(arguments: Arguments, env: &Environment) -> Result<()> {
    let mut found = Vec::new();
    let data_dir = config::data_dir(arguments.data_dir, env)?;
    let origin = Origin { file: arguments.config, data_dir: data_dir.clone(), ..Origin::default() };
    super::install_tls();
    found.push(configuration(&origin, env));
    found.push(folder(&data_dir));
    found.push(stored(&data_dir, env));
    found.push(match wire::sandbox(env) {
        Ok(about) => Finding { about: "sandbox", state: State::Good, says: about },
        Err(why) => {
            Finding { about: "sandbox", state: State::Note, says: format!("eval_code is not offered: {why}") }
        }
    });
    found.push(open_files());
    found.push(gateway(&arguments.gateway, env).await);
    for finding in &found {
        if arguments.gateway.json {
            print::json(
                &json!({"about": finding.about, "state": finding.state.as_str(), "says": finding.says}),
            );
        } else {
            say(&format!(
                "{:<5}  {:<13}  {}",
                finding.state.as_str(),
                finding.about,
                print::visible(&finding.says)
            ));
        }
    }
    match found.iter().filter(|finding| finding.state == State::Bad).count() {
        0 => Ok(()),
        faults => bail!("{faults} of {} are not as they should be", found.len()),
    }
}

fn configuration(origin: &Origin, env: &Environment) -> Finding {
    let checked = origin.load(env).and_then(|loaded| wire::check(&loaded, env).map(|()| loaded.file));
    let (state, says) = match checked {
        Ok(Some(file)) => (State::Good, file.display().to_string()),
        Ok(None) => (State::Good, "no file; the environment and the defaults".to_owned()),
        Err(error) => (State::Bad, format!("{error:#}")),
    };
    Finding { about: "configuration", state, says }
}

fn folder(data_dir: &Path) -> Finding {
    let shown = data_dir.display();
    let (state, says) = match std::fs::metadata(data_dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (State::Note, format!("{shown} is not there yet; `omni-skills serve` makes it"))
        }
        Err(error) => (State::Bad, format!("{shown}: {error}")),
        Ok(found) if !found.is_dir() => (State::Bad, format!("{shown} is no folder")),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            (State::Bad, format!("{shown} can be read by others; run: chmod 700 {shown}"))
        }
        Ok(_) => (State::Good, shown.to_string()),
    };
    Finding { about: "data folder", state, says }
}

fn stored(data_dir: &Path, env: &Environment) -> Finding {
    let file = database::file(data_dir);
    let (state, says) = match std::fs::metadata(&file) {
        _ if database::server_address(env).is_some() => {
            (State::Good, "the server in DATABASE_URL".to_owned())
        }
        Ok(found) => (State::Good, format!("{}, {} bytes", file.display(), found.len())),
        Err(_) => (State::Note, format!("{} is not there yet", file.display())),
    };
    Finding { about: "database", state, says }
}

fn open_files() -> Finding {
    use rustix::process::{Resource, getrlimit};
    let (state, says) = match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < 4096 => {
            (State::Note, format!("{most} at most; raise it for many connections (ulimit -Hn)"))
        }
        Some(most) => (State::Good, format!("{most} at most")),
        None => (State::Good, "any number".to_owned()),
    };
    Finding { about: "open files", state, says }
}

async fn gateway(gateway: &Gateway, env: &Environment) -> Finding {
    let asked = async {
        let remote = Remote::new(gateway, env)?;
        let ready: Value = remote.ask(Method::GET, "/readyz", None).await?;
        anyhow::Ok((remote.address().to_owned(), ready))
    };
    let (state, says) = match asked.await {
        Ok((address, ready)) => (State::Good, format!("{address} answers: {ready}")),
        Err(error) if error.is::<super::failure::Failure>() => (State::Note, format!("{error}")),
        Err(error) => (State::Bad, format!("{error:#}")),
    };
    Finding { about: "gateway", state, says }
}
