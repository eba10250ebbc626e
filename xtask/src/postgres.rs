//! A `PostgreSQL` server for the tests: a fresh one in a temporary folder, reached by a socket in it, gone afterwards.
//!
//! Uses what is installed; installs nothing.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{run, say, works};

/// Where tests look for a server.
const VARIABLE: &str = "OMNI_SKILLS_TEST_POSTGRES";
/// How long the server has to start, and to stop.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server. Stopped, and its folder removed, when it is dropped.
pub(crate) struct Server {
    process: Child,
    folder: Folder,
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

/// Starts a server where one is installed and none is named. None: its tests skip themselves.
pub(crate) fn start() -> Result<Option<Server>> {
    if std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty()) {
        say(&format!("PostgreSQL: the server that {VARIABLE} names"));
        return Ok(None);
    }
    let Some(programs) = programs() else {
        say("");
        say("!!! PostgreSQL is not installed: ALL TESTS OF THE POSTGRESQL STORE ARE SKIPPED.");
        say(&format!("!!! Install it (Debian: apt-get install postgresql), or name a server in {VARIABLE}."));
        say("");
        return Ok(None);
    };
    Ok(Some(Server::start(&programs)?))
}

/// Names the server, if one was started, to a program that runs tests.
pub(crate) fn name(command: &mut Command, server: Option<&Server>) {
    if let Some(server) = server {
        command.env(VARIABLE, server.url());
    }
}

/// The folder of the server's programs, which Debian keeps out of the PATH; the newest of several.
fn programs() -> Option<PathBuf> {
    if works("initdb", &["--version"]) && works("postgres", &["--version"]) {
        return Some(PathBuf::new());
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop().map(|(_, bin)| bin)
}

impl Server {
    fn start(programs: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("omni-skills-postgres-{}", std::process::id()));
        // Whoever reaches its socket is let in.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = Folder(folder);
        let user = user()?;
        if let Some(user) = user {
            run(Command::new("chown").arg(user).arg(&folder.0))?;
        }
        let data = folder.0.join("data");
        let initdb =
            ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"];
        let mut command = as_user(user, &programs.join("initdb"));
        run(command.args(initdb).arg("--pgdata").arg(&data).current_dir(&folder.0).stdout(Stdio::null()))?;
        // As a server in earnest is set up: what is acknowledged is on the disk.
        let settings = ["listen_addresses=", "fsync=on", "max_connections=400", "log_min_messages=panic"];
        let mut command = as_user(user, &programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(&folder.0).current_dir(&folder.0);
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().context("cannot start postgres")?;
        let mut server = Self { process, folder };
        server.wait()?;
        Ok(server)
    }

    /// Until its socket is there.
    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while !self.is_ready() {
            if let Some(status) = self.process.try_wait()? {
                bail!("postgres ended at once ({status})");
            }
            if start.elapsed() > PATIENCE {
                bail!("postgres did not start in time");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The last line of its pid file says so.
    fn is_ready(&self) -> bool {
        let text = std::fs::read_to_string(self.folder.0.join("data/postmaster.pid"));
        text.is_ok_and(|text| text.lines().any(|line| line.trim() == "ready"))
    }

    /// What tests connect to.
    pub(crate) fn url(&self) -> String {
        let folder = self.folder.0.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/postgres")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fast shutdown: connections are cut, the database is left whole.
        let pid = self.process.id().to_string();
        let told = Command::new("kill").args(["-INT", &pid]).status();
        let start = Instant::now();
        while told.as_ref().is_ok_and(std::process::ExitStatus::success) && start.elapsed() < PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            say(&format!("{} was not removed: {error}", self.0.display()));
        }
    }
}

/// Whom the server runs as: it refuses root.
fn user() -> Result<Option<&'static str>> {
    let id = Command::new("id").arg("-u").output().context("cannot run `id`")?;
    if id.stdout.trim_ascii() != b"0" {
        return Ok(None);
    }
    let known = |user: &&str| works("id", &["-u", user]);
    let user = ["postgres", "nobody"].into_iter().find(known);
    Ok(Some(user.context("there is no user to run postgres as")?))
}

fn as_user(user: Option<&str>, program: &Path) -> Command {
    match user {
        None => Command::new(program),
        Some(user) => {
            // Replaces itself by the program, so that signals and the process id are the server's.
            let mut command = Command::new("setpriv");
            command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(program);
            command
        }
    }
}
