//! Running other programs: say what is run, fail with what to do.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The project's root.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), std::path::Path::to_path_buf)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs to the end; a non-zero end is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    say(&format!("$ {}", line(command)));
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status})", line(command)) }
}

/// Whether a program can be started with these arguments and ends well.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

/// Progress for the person who waits.
#[expect(clippy::print_stderr, reason = "a command-line tool talks to its user")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}
