//! `cargo xtask test`: every test there is. `cargo xtask check`: what a reviewer would ask for first.

use anyhow::Result;

use crate::shell::{cargo, root, run, say, works};
use std::process::Command;

/// Rust tests, then the official SDKs against the built programs.
pub(crate) fn test() -> Result<()> {
    crate::runtimes::ensure()?;
    // `aot` has no tests and would pull a compiler into every test build.
    let scope = ["--workspace", "--exclude", "aot"];
    run(cargo().arg("build").args(scope).arg("--bins"))?;
    let server = crate::postgres::start()?;
    let tests = || {
        let mut cargo = cargo();
        crate::postgres::name(&mut cargo, server.as_ref());
        cargo
    };
    if works("cargo", &["nextest", "--version"]) {
        run(tests().args(["nextest", "run", "--no-fail-fast"]).args(scope))?;
    } else {
        say("cargo-nextest is not installed: using cargo test");
        run(tests()
            .args(["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"])
            .args(scope))?;
    }
    run(cargo().args(["test", "--doc"]).args(scope))?;
    run(Command::new("bash").arg("tests/outside/run.sh").current_dir(root()))
}

/// Formatting, lints, documentation, layering.
pub(crate) fn check() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    crate::tidy::tidy()
}
