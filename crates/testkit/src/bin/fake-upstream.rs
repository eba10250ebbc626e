//! The fake upstream as a program, for tests in other languages.
//!
//! `fake-upstream [SCRIPT.json]` listens on a free loopback port, prints `listening on http://...`, serves
//! `GET /__requests` and takes a new script by `POST /__script`. It runs until it is killed.

use std::net::SocketAddr;

use testkit::fake_upstream::FakeUpstream;
use testkit::script::{Round, Script};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the printed address is this program's interface")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = match std::env::args_os().nth(1) {
        Some(path) => Script::from_json(&std::fs::read(path)?)?,
        None => Script::rounds([Round::text("done")]),
    };
    let fake = FakeUpstream::bind(SocketAddr::from(([127, 0, 0, 1], 0)), script).await?;
    println!("listening on {}", fake.base_url());
    fake.serve_forever().await;
    Ok(())
}
