//! Every setting, once: one TOML file, then the environment on top of it. One section is one file here.
//!
//! A key that we do not know is an error, never ignored. Nothing else in the program reads the environment.

mod approval;
mod demo;
mod environment;
mod selection;
mod server;
mod turn;
mod upstreams;
mod usage;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

pub(crate) use approval::{Approval, EffectFree};
pub(crate) use demo::Demo;
pub(crate) use environment::Environment;
pub(crate) use selection::{Selection, WithClientTools};
pub(crate) use server::Server;
pub(crate) use turn::{Memory, Turn};
pub(crate) use upstreams::{OneOrMany, Upstream};
pub(crate) use usage::{Usage, UsageInput};

/// Prefix of `OMNI_SKILLS__SECTION__KEY`.
const PREFIX: &str = "OMNI_SKILLS__";
/// The file that is looked for in the working folder and in the data folder.
const FILE_NAME: &str = "omni-skills.toml";

/// The configuration file, with a default for everything.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) selection: Selection,
    pub(crate) turn: Turn,
    pub(crate) approval: Approval,
    pub(crate) usage: Usage,
    pub(crate) demo: Demo,
    pub(crate) upstreams: Vec<Upstream>,
}

/// The data folder: the command line, then `DATA_DIR`, then the user's data folder.
pub(crate) fn data_dir(given: Option<PathBuf>, env: &Environment) -> anyhow::Result<PathBuf> {
    if let Some(dir) = given.or_else(|| env.get("DATA_DIR").map(PathBuf::from)) {
        return Ok(dir);
    }
    if let Some(base) = env.get("XDG_DATA_HOME") {
        return Ok(Path::new(base).join("omni-skills"));
    }
    let home = env.get("HOME").context("neither DATA_DIR nor HOME is set; give --data-dir")?;
    Ok(Path::new(home).join(".local/share/omni-skills"))
}

/// Reads the file (the given one, else the working folder's, else the data folder's) and the environment over it.
pub(crate) fn load(given: Option<&Path>, data_dir: &Path, env: &Environment) -> anyhow::Result<Config> {
    let candidates = [PathBuf::from(FILE_NAME), data_dir.join(FILE_NAME)];
    let file = match given {
        Some(path) => Some(path.to_owned()),
        None => candidates.into_iter().find(|path| path.is_file()),
    };
    let (text, origin) = match &file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            (text.with_context(|| format!("cannot read {}", path.display()))?, path.display().to_string())
        }
        None => (String::new(), "the environment".to_owned()),
    };
    parse(&text, env).with_context(|| format!("in {origin}"))
}

fn parse(text: &str, env: &Environment) -> anyhow::Result<Config> {
    let mut table: toml::Table = text.parse()?;
    for (name, value) in &env.0 {
        if let Some(path) = name.strip_prefix(PREFIX) {
            overlay(&mut table, path, value).with_context(|| format!("environment variable {name}"))?;
        }
    }
    Ok(table.try_into()?)
}

/// Puts `SECTION__KEY` into the table; the value is read as TOML where it is TOML, else as a string.
fn overlay(table: &mut toml::Table, path: &str, value: &str) -> anyhow::Result<()> {
    let lower = path.to_lowercase();
    let Some((section, key)) = lower.split_once("__") else { bail!("write {PREFIX}SECTION__KEY") };
    let typed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut t| t.remove("v"));
    let section = table.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let Some(section) = section.as_table_mut() else { bail!("this section is a list; set it in the file") };
    section.insert(key.to_owned(), typed.unwrap_or_else(|| toml::Value::String(value.to_owned())));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        Environment(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn everything_has_a_default() {
        let config = parse("", &Environment::default()).unwrap();
        assert_eq!(config.server.port, 20128);
        assert!(config.server.host.is_loopback() && config.demo.enabled);
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let file = "[server]\nport = 1\nallowed_hosts = ['a']\n";
        let env = env(&[("OMNI_SKILLS__SERVER__PORT", "2"), ("OMNI_SKILLS__USAGE__INPUT", "last")]);
        let config = parse(file, &env).unwrap();
        assert_eq!(config.server.port, 2);
        assert_eq!(config.server.allowed_hosts, ["a"]);
        assert_eq!(config.usage.input, UsageInput::Last);
    }

    #[test]
    fn unknown_keys_are_named_with_the_known_ones() {
        for text in ["[server]\nprot = 1\n", "[sever]\nport = 1\n", "[[upstreams]]\nname='a'\nbase='b'\n"] {
            let error = format!("{:#}", parse(text, &Environment::default()).unwrap_err());
            assert!(error.contains("unknown field") && error.contains("expected"), "{error}");
        }
    }

    #[test]
    fn numbers_of_the_environment_have_bounds() {
        let env = env(&[("SKILLS_SANDBOX_TIMEOUT_MS", "90000")]);
        assert!(env.number("SKILLS_SANDBOX_TIMEOUT_MS", 10_000, 1..=60_000).is_err());
        assert_eq!(env.number("SKILLS_MAX_FILE_BYTES", 7, 1..=9).unwrap(), 7);
    }
}
