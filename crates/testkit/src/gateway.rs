//! The built gateway as a child process on a fresh data folder, for tests and benchmarks from outside.
//!
//! It is stopped by its pid, never by name, and takes its data folder with it.
#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its gateway has nothing to report but this"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    /// The management token.
    pub token: String,
    program: PathBuf,
    environment: Vec<(String, String)>,
    data: Arc<tempfile::TempDir>,
}

/// The management token of every gateway under test.
const TOKEN: &str = "omt_test-token-of-a-gateway-under-test";

impl Gateway {
    /// Starts `program` with this configuration text, on a free port.
    pub fn start(program: &Path, config: &str) -> Self {
        Self::start_with(program, config, &[])
    }

    /// As [`Gateway::start`], with more variables in its environment, such as `DATABASE_URL`.
    pub fn start_with(program: &Path, config: &str, environment: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment: Vec<_> = environment.iter().map(owned).collect();
        let data = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(data.path().join("omni-skills.toml"), config).expect("the configuration is written");
        let (process, base) = spawn(program, data.path(), &environment);
        let (token, program, data) = (TOKEN.to_owned(), program.to_owned(), Arc::new(data));
        Self { process, base, token, program, environment, data }
    }

    /// Starts it in front of one upstream that speaks every dialect; `more` is further configuration.
    pub fn in_front_of(program: &Path, upstream: &str, more: &str) -> Self {
        Self::start(program, &Self::config_in_front_of(upstream, more))
    }

    /// The configuration of [`Gateway::in_front_of`].
    pub fn config_in_front_of(upstream: &str, more: &str) -> String {
        let dialects: Vec<_> = dialects::ALL.iter().map(|d| format!("\"{}\"", d.name())).collect();
        let dialects = dialects.join(", ");
        let entry =
            format!("[[upstreams]]\nname = \"fake\"\ndialect = [{dialects}]\nbase_url = \"{upstream}\"\n");
        format!("{entry}passthrough = false\n{more}")
    }

    /// Starts one more on the same data folder.
    #[must_use]
    pub fn beside(&self) -> Self {
        let (process, base) = spawn(&self.program, self.data.path(), &self.environment);
        let (token, program, environment) =
            (self.token.clone(), self.program.clone(), self.environment.clone());
        Self { process, base, token, program, environment, data: Arc::clone(&self.data) }
    }

    /// Kills it without warning and starts it again on the same data.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        self.process.stop();
    }

    /// Starts it again on the same data, after [`Gateway::kill`].
    pub fn restart(&mut self) {
        (self.process, self.base) = spawn(&self.program, self.data.path(), &self.environment);
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// Its data folder.
    pub fn data_dir(&self) -> &Path {
        self.data.path()
    }
}

/// A child that never outlives its owner.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn stop(&mut self) {
        // Killed or gone already: either is stopped.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(program: &Path, data: &Path, environment: &[(String, String)]) -> (Process, String) {
    let mut command = Command::new(program);
    command.args(["serve", "--port", "0", "--config"]).arg(data.join("omni-skills.toml"));
    command.arg("--data-dir").arg(data).env("OMNI_SKILLS_MGMT_TOKEN", TOKEN).env("RUST_LOG", "warn");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let mut process = Process(command.stdout(Stdio::piped()).spawn().expect("the gateway starts"));
    let stdout = process.0.stdout.take().expect("its output is piped");
    for line in BufReader::new(stdout).lines() {
        let line = line.expect("its output is text");
        if let Some((_, base)) = line.split_once("listens on ") {
            return (process, base.trim().to_owned());
        }
    }
    panic!("the gateway ended before it listened");
}
