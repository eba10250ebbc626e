//! `cargo xtask bench`: every benchmark, one after the other, so that their figures can be compared.

use anyhow::Result;

use crate::shell::{cargo, run};

/// Package and benchmark.
const ALL: &[(&str, &str)] = &[
    ("dialects", "splice"),
    ("registry", "selection"),
    ("store-sql", "throughput"),
    ("store-sql", "history"),
    ("omni-skills", "start"),
    ("omni-skills", "latency"),
    ("omni-skills", "streams"),
];

pub(crate) fn bench() -> Result<()> {
    crate::runtimes::ensure()?;
    for (package, bench) in ALL {
        run(cargo().args(["bench", "--package", package, "--bench", bench]))?;
    }
    Ok(())
}
