//! A worker process of the wasm engine for tests and measurements: `wasm_worker [ANYTHING] RUNTIMES_DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().next_back().map(PathBuf::from) else { return ExitCode::FAILURE };
    sandbox::worker_main(&dir)
}
