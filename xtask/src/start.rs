//! `cargo xtask start [ARGUMENTS OF serve]`: builds what is missing, then becomes the gateway.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cargo, root, run, say};

pub(crate) fn start(arguments: &[String]) -> Result<()> {
    run(cargo().args(["build", "--release", "--package", "omni-skills"]))?;
    if let Err(error) = crate::runtimes::ensure() {
        say(&format!("The language runtimes could not be made; eval_code will not be offered.\n  {error:#}"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let error = Command::new(target.join("release/omni-skills")).arg("serve").args(arguments).exec();
    Err(error).context("cannot start the gateway")
}
