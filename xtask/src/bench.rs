//! `cargo xtask bench`: every benchmark, one after the other, so that their figures can be compared.

use anyhow::Result;

use crate::shell::{cargo, run};

/// Package and benchmark.
const ALL: &[(&str, &str)] = &[
    ("dialects", "splice"),
    ("registry", "selection"),
    ("store-sql", "throughput"),
    ("store-sql", "history"),
    ("store-sql", "postgres"),
    ("omni-skills", "start"),
    ("omni-skills", "latency"),
    ("omni-skills", "streams"),
];

pub(crate) fn bench() -> Result<()> {
    crate::runtimes::ensure()?;
    let server = crate::postgres::start()?;
    for (package, bench) in ALL {
        let mut cargo = cargo();
        crate::postgres::name(&mut cargo, server.as_ref());
        run(cargo.args(["bench", "--package", package, "--bench", bench]))?;
    }
    Ok(())
}
