//! Reads the file and the environment over it. What is wrong is said with its file and line, or its variable.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::section::{Row, Section, Shape};
use super::source::{Source, Sources};
use super::{Config, Environment, check, sections};

/// Prefix of `OMNI_SKILLS__SECTION__KEY`.
const PREFIX: &str = "OMNI_SKILLS__";
/// The file that is looked for in the working folder and in the data folder.
const FILE_NAME: &str = "omni-skills.toml";

/// A configuration, and where its values come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) sources: Sources,
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
}

impl Loaded {
    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| "the configuration".to_owned(), |file| file.display().to_string())
    }

    /// Where the value of `section.key` comes from.
    pub(crate) fn source(&self, path: &str) -> Source {
        self.sources.get(path).cloned().unwrap_or_default()
    }
}

/// The data folder: the command line, then `DATA_DIR`, then the user's data folder.
pub(crate) fn data_dir(given: Option<PathBuf>, env: &Environment) -> Result<PathBuf> {
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
pub(crate) fn load(given: Option<&Path>, data_dir: &Path, env: &Environment) -> Result<Loaded> {
    let candidates = [PathBuf::from(FILE_NAME), data_dir.join(FILE_NAME)];
    let file = match given {
        Some(path) => Some(path.to_owned()),
        None => candidates.into_iter().find(|path| path.is_file()),
    };
    let text = match &file {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => String::new(),
    };
    let name = file.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    let (config, sources) = read(&text, &name, env)?;
    Ok(Loaded { config, sources, file })
}

fn read(text: &str, name: &str, env: &Environment) -> Result<(Config, Sources)> {
    let sections = sections();
    check::file(text, &sections).map_err(|faults| anyhow!("{}", in_file(name, &faults)))?;
    // Alone first: its faults have lines.
    toml::from_str::<Config>(text).map_err(|error| anyhow!("{}", in_file(name, &error.to_string())))?;
    let mut table: toml::Table = text.parse()?;
    let mut sources = Sources::new();
    for (section, value) in &table {
        for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
            sources.insert(format!("{section}.{key}"), Source::File(name.to_owned()));
        }
    }
    for (variable, path, value) in variables(&sections, env)? {
        let wrong = || format!("environment variable {variable}");
        let mut alone = toml::Table::new();
        put(&mut alone, &path, value.clone()).with_context(wrong)?;
        alone.try_into::<Config>().with_context(wrong)?;
        put(&mut table, &path, value).with_context(wrong)?;
        let path: Vec<_> = path.iter().take(2).map(String::as_str).collect();
        sources.insert(path.join("."), Source::Variable(variable));
    }
    Ok((table.try_into()?, sources))
}

fn in_file(name: &str, faults: &str) -> String {
    let lines: Vec<_> = faults.lines().collect();
    match lines.as_slice() {
        [line] => format!("{name}: {line}"),
        // A drawing by the TOML reader, or several faults.
        _ => format!("{name}:\n{faults}"),
    }
}

/// Variables that set something: their names, the paths they mean, their values. Those with our prefix come last, so
/// that they win over the seeds' names.
fn variables(sections: &[Section], env: &Environment) -> Result<Vec<(String, Vec<String>, toml::Value)>> {
    let mut found = Vec::new();
    for section in sections {
        for row in &section.rows {
            if let Some((variable, text)) = row.variable.and_then(|name| Some((name, env.get(name)?))) {
                let path = vec![section.name.to_owned(), row.key.to_owned()];
                let value = typed(text);
                bounded(&path, &value, row).map_err(|message| anyhow!("{variable}: {message}"))?;
                found.push((variable.to_owned(), path, value));
            }
        }
    }
    for (name, text) in env.with_prefix(PREFIX) {
        let path: Vec<_> =
            name.trim_start_matches(PREFIX).to_lowercase().split("__").map(str::to_owned).collect();
        let value = typed(text);
        meant(sections, &path, &value)
            .map_err(|message| anyhow!("environment variable {name}: {message}"))?;
        found.push((name.to_owned(), path, value));
    }
    Ok(found)
}

/// Whether a path is one of a setting, and the value within its bounds.
fn meant(sections: &[Section], path: &[String], value: &toml::Value) -> Result<(), String> {
    let [name, keys @ ..] = path else { return Ok(()) };
    let Some(section) = sections.iter().find(|section| section.name == name) else {
        return Err(check::unknown(name, "section", sections.iter().map(|section| section.name)));
    };
    let [first, rest @ ..] = keys else { return Err(format!("write {PREFIX}SECTION__KEY")) };
    match section.shape {
        Shape::Free => Ok(()),
        Shape::List => Err("this section is a list; set it in the file".to_owned()),
        Shape::Named => match rest {
            [key, ..] => row(&section.rows, name, key).map(drop),
            [] => Err(format!("write {PREFIX}SECTION__NAME__KEY")),
        },
        Shape::Table => {
            let found = row(&section.rows, name, first)?;
            match (rest, found.inside) {
                ([key, ..], Some(inside)) => row(&inside(), &format!("{name}.{first}"), key).map(drop),
                _ => bounded(path, value, found),
            }
        }
    }
}

fn row<'r>(rows: &'r [Row], name: &str, key: &str) -> Result<&'r Row, String> {
    let unknown = || check::unknown(key, &format!("key of `{name}`"), rows.iter().map(|row| row.key));
    rows.iter().find(|row| row.key == key).ok_or_else(unknown)
}

fn bounded(path: &[String], value: &toml::Value, row: &Row) -> Result<(), String> {
    match (value.as_integer(), row.bounds) {
        (Some(number), _) => check::within(&path.join("."), number, row),
        (None, Some((least, most))) => Err(format!("has to be a number from {least} to {most}")),
        (None, None) => Ok(()),
    }
}

/// TOML where it is TOML, else a string.
fn typed(text: &str) -> toml::Value {
    let read = format!("v = {text}").parse::<toml::Table>().ok().filter(|table| table.len() == 1);
    read.and_then(|mut table| table.remove("v")).unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

fn put(table: &mut toml::Table, path: &[String], value: toml::Value) -> Result<()> {
    match path {
        [] => bail!("there is nothing to set"),
        [key] => drop(table.insert(key.clone(), value)),
        [section, rest @ ..] => {
            let inner = table.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            let inner = inner.as_table_mut().with_context(|| format!("`{section}` is no table"))?;
            put(inner, rest, value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UsageInput;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        Environment::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn fault(text: &str, pairs: &[(&str, &str)]) -> String {
        format!("{:#}", read(text, "a.toml", &env(pairs)).unwrap_err())
    }

    #[test]
    fn the_environment_wins_over_the_file_and_both_over_the_default() {
        let file =
            "[server]\nport = 1\nallowed_hosts = ['a']\n[limits]\nsandbox_timeout_ms = 3\nfile_bytes = 4\n";
        let env = env(&[
            ("OMNI_SKILLS__SERVER__PORT", "2"),
            ("OMNI_SKILLS__USAGE__INPUT", "last"),
            ("SKILLS_MAX_FILE_BYTES", "5"),
            ("OMNI_SKILLS__SERVER__TLS__CERT", "c"),
            ("OMNI_SKILLS__SERVER__TLS__KEY", "k"),
            ("OMNI_SKILLS__POLICY__eval_code", "manual"),
        ]);
        let (config, sources) = read(file, "a.toml", &env).unwrap();
        assert_eq!((config.server.port, config.server.allowed_hosts), (2, vec!["a".to_owned()]));
        assert_eq!(config.usage.input, UsageInput::Last);
        assert_eq!((config.limits.sandbox_timeout_ms, config.limits.file_bytes), (3, 5));
        assert_eq!(config.server.tls.unwrap().key, PathBuf::from("k"));
        assert_eq!(config.policy["eval_code"], domain::Policy::Manual);
        assert_eq!(sources["server.port"], Source::Variable("OMNI_SKILLS__SERVER__PORT".to_owned()));
        assert_eq!(sources["server.allowed_hosts"], Source::File("a.toml".to_owned()));
        assert_eq!(sources["limits.file_bytes"], Source::Variable("SKILLS_MAX_FILE_BYTES".to_owned()));
        assert_eq!(sources.get("turn.rounds"), None);
    }

    #[test]
    fn our_own_variables_win_over_the_names_of_the_seeds() {
        let both = [("SKILLS_MAX_FILE_BYTES", "5"), ("OMNI_SKILLS__LIMITS__FILE_BYTES", "6")];
        assert_eq!(read("", "", &env(&both)).unwrap().0.limits.file_bytes, 6);
    }

    #[test]
    fn a_wrong_variable_is_named() {
        let prot = fault("", &[("OMNI_SKILLS__SERVER__PROT", "1")]);
        assert!(
            prot.contains("OMNI_SKILLS__SERVER__PROT") && prot.contains("did you mean `port`?"),
            "{prot}"
        );
        let text = fault("", &[("OMNI_SKILLS__SERVER__PORT", "many")]);
        assert!(text.contains("OMNI_SKILLS__SERVER__PORT") && text.contains("many"), "{text}");
        let bound = fault("", &[("SKILLS_SANDBOX_TIMEOUT_MS", "90000")]);
        assert!(bound.contains("SKILLS_SANDBOX_TIMEOUT_MS") && bound.contains("from 1 to 60000"), "{bound}");
        assert!(fault("", &[("SKILLS_SANDBOX_TIMEOUT_MS", "soon")]).contains("has to be a number"));
        assert!(fault("", &[("OMNI_SKILLS__UPSTREAMS__NAME", "a")]).contains("set it in the file"));
    }

    #[test]
    fn a_wrong_file_is_named_with_its_line() {
        assert_eq!(
            fault("[server]\nprot = 1\n", &[]),
            "a.toml: line 2: `prot` is no key of `server`; did you mean `port`?"
        );
        let kind = fault("\n[server]\nport = 'many'\n", &[]);
        assert!(kind.starts_with("a.toml:") && kind.contains("line 3"), "{kind}");
        let syntax = fault("[server\n", &[]);
        assert!(syntax.starts_with("a.toml:") && syntax.contains("line 1"), "{syntax}");
    }
}
