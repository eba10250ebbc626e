//! `cargo xtask openapi`: rewrites what is made from the route list: `openapi.json` and the tables of `docs/rest.md`.
//!
//! The tests that compare them write them when they are told to, so that there is one way to make them.

use anyhow::Result;

use crate::shell::{cargo, run};

pub(crate) fn openapi() -> Result<()> {
    for test in ["openapi::the_copy_in_the_repository", "reference::"] {
        // One at a time: two of them write the same file.
        let words = ["test", "-p", "server", "--test", "it", test, "--", "--test-threads", "1"];
        run(cargo().args(words).env("OMNI_SKILLS_REWRITE", "1"))?;
    }
    Ok(())
}
