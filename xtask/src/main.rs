//! Project automation: `cargo xtask COMMAND`.

mod bench;
mod openapi;
mod postgres;
mod runtimes;
mod shell;
mod start;
mod test;
mod tidy;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask COMMAND

commands:
  start      build what is missing and start the gateway; further words go to `serve`
  test       run all tests
  check      formatting, lints, documentation, layering
  bench      all benchmarks
  openapi    rewrite openapi.json and the tables of docs/rest.md
  tidy       layering and file sizes alone
  runtimes   make the language runtimes of eval_code, once; prints their folder";

#[expect(clippy::print_stdout, reason = "the folder is this command's result")]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = words.split_first() else { bail!(USAGE) };
    match (command.as_str(), rest) {
        ("start", arguments) => start::start(arguments),
        ("test", []) => test::test(),
        ("check", []) => test::check(),
        ("bench", []) => bench::bench(),
        ("openapi", []) => openapi::openapi(),
        ("tidy", []) => tidy::tidy(),
        ("runtimes", []) => {
            println!("{}", runtimes::ensure()?.display());
            Ok(())
        }
        _ => bail!(USAGE),
    }
}
