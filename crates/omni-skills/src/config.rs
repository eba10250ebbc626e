//! Every setting, once: one TOML file, then the environment on top of it.
//!
//! A key that we do not know is an error, never ignored. Nothing else in the program reads the environment.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use domain::limits;
use serde::Deserialize;

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

/// `[server]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    /// Address to listen on.
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    pub(crate) port: u16,
    /// Host names that requests may name beside the loopback ones.
    pub(crate) allowed_hosts: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self { host: IpAddr::from([127, 0, 0, 1]), port: 20128, allowed_hosts: Vec::new() }
    }
}

/// `[selection]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Selection {
    /// Best `auto` skills injected into one request.
    pub(crate) auto_max_skills: usize,
    /// Least score of an `auto` skill that is injected.
    pub(crate) auto_min_score: i32,
    /// Bytes of all injected definitions of one request.
    pub(crate) max_injected_bytes: usize,
    /// Whether file and code skills are offered beside tools of the client without being named.
    pub(crate) with_client_tools: WithClientTools,
    /// Whether a conversation keeps the skills that it was offered.
    pub(crate) sticky: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            auto_max_skills: limits::AUTO_MAX_SKILLS,
            auto_min_score: limits::AUTO_MIN_SCORE,
            max_injected_bytes: limits::INJECTED_BYTES,
            with_client_tools: WithClientTools::Named,
            sticky: true,
        }
    }
}

/// `with_client_tools`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WithClientTools {
    /// Only when the request names them.
    Named,
    /// Like any other skill.
    All,
}

/// `[turn]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Turn {
    /// Rounds in which our tools may run.
    pub(crate) rounds: u32,
    /// Milliseconds after which no further round or execution starts.
    pub(crate) wall_ms: u64,
    /// Executions of one turn.
    pub(crate) executions: u32,
    /// Bytes of one tool result that reach the model.
    pub(crate) result_bytes: usize,
    /// Bytes of all tool results that reach the model.
    pub(crate) results_bytes: usize,
    /// Tokens that the upstream reports for the rounds, after which the next is the last; 0: any number.
    pub(crate) tokens: u64,
    /// Milliseconds of silence after which a stream gets a keep-alive.
    pub(crate) keep_alive_ms: u64,
    /// Whether the model gets the tool rounds of earlier answers back, which the client never sees.
    pub(crate) memory: Memory,
    /// Milliseconds since their last use after which hidden rounds are forgotten.
    pub(crate) memory_ttl_ms: u64,
    /// Bytes of the hidden rounds of one API key; beyond it the least recently used are forgotten.
    pub(crate) memory_bytes: u64,
}

/// `memory`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Memory {
    /// Of every answer.
    #[default]
    Full,
    /// Only where an open call of the client's own tools needs them.
    Off,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            rounds: limits::ROUNDS,
            wall_ms: limits::TURN_MS,
            executions: limits::EXECUTIONS_PER_TURN,
            result_bytes: limits::RESULT_BYTES,
            results_bytes: limits::TURN_RESULT_BYTES,
            tokens: 0,
            keep_alive_ms: limits::KEEP_ALIVE_MS,
            memory: Memory::Full,
            memory_ttl_ms: limits::KEPT_TTL_MS,
            memory_bytes: limits::KEPT_OWNER_BYTES,
        }
    }
}

/// `[approval]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Approval {
    /// Whether runs of `hybrid` skills that change nothing outside themselves go ahead.
    pub(crate) effect_free: EffectFree,
    /// Milliseconds a streamed turn waits for a person, where one is there.
    pub(crate) timeout_ms: u64,
    /// Milliseconds a plain answer waits.
    pub(crate) plain_timeout_ms: u64,
    /// Milliseconds after which nobody can decide about a waiting call any more.
    pub(crate) expires_ms: u64,
    /// Names of skills whose policy is `auto` in this process.
    pub(crate) allow: Vec<String>,
}

/// `effect_free`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectFree {
    /// They run.
    #[default]
    Auto,
    /// They ask like any other.
    Ask,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            effect_free: EffectFree::Auto,
            timeout_ms: limits::APPROVAL_WAIT_MS,
            plain_timeout_ms: limits::APPROVAL_WAIT_PLAIN_MS,
            expires_ms: limits::APPROVAL_EXPIRES_MS,
            allow: Vec::new(),
        }
    }
}

/// `[usage]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    /// Which rounds' input tokens an answer reports.
    pub(crate) input: UsageInput,
}

/// `input`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UsageInput {
    /// All rounds together: what the provider bills.
    #[default]
    Sum,
    /// The last round: how full the context is.
    Last,
}

/// `[demo]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Demo {
    /// Whether the model `demo` is answered by the built-in stand-in.
    pub(crate) enabled: bool,
}

impl Default for Demo {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `[[upstreams]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    /// Unique name.
    pub(crate) name: String,
    /// One dialect, or several.
    pub(crate) dialect: OneOrMany,
    /// What precedes `/v1`.
    pub(crate) base_url: String,
    /// Environment variable that holds the credential.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
    /// File that holds the credential.
    #[serde(default)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Whether the client's own credential goes through; by default where the server has none.
    #[serde(default)]
    pub(crate) passthrough: Option<bool>,
    /// Globs over model names.
    #[serde(default = "every_model")]
    pub(crate) models: Vec<String>,
    /// Globs over model names that are never offered a tool.
    #[serde(default)]
    pub(crate) no_tools: Vec<String>,
    /// Headers set on every request to it.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Milliseconds to connect.
    #[serde(default = "connect_ms")]
    pub(crate) connect_timeout_ms: u64,
    /// Milliseconds to the first byte of an answer.
    #[serde(default = "first_byte_ms")]
    pub(crate) first_byte_timeout_ms: u64,
    /// Milliseconds of silence inside an answer.
    #[serde(default = "idle_ms")]
    pub(crate) idle_timeout_ms: u64,
}

/// A string or a list of strings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// A string.
    One(String),
    /// A list.
    Many(Vec<String>),
}

fn every_model() -> Vec<String> {
    vec!["*".to_owned()]
}

const fn connect_ms() -> u64 {
    10_000
}

const fn first_byte_ms() -> u64 {
    600_000
}

const fn idle_ms() -> u64 {
    300_000
}

/// The environment, taken once at the start.
#[derive(Debug, Default)]
pub(crate) struct Environment(pub(crate) BTreeMap<String, String>);

impl Environment {
    /// The process's.
    pub(crate) fn of_process() -> Self {
        let pairs = std::env::vars_os();
        Self(pairs.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|v| v.trim()).filter(|v| !v.is_empty())
    }

    /// A number within bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        default: u64,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> anyhow::Result<u64> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse::<u64>().ok().filter(|n| bounds.contains(n));
        number.with_context(|| format!("{name} must be a number from {} to {}", bounds.start(), bounds.end()))
    }
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
