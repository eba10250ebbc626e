//! The engine settings shared by the ahead-of-time compiler and the worker.
//!
//! A compiled runtime is only accepted by an engine with the same settings, so there is exactly one function that
//! makes them. It never reads the environment or a configuration file.

use wasmtime::Config;

/// The version of wasmtime this program is built with; compiled runtimes of another one do not load.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// Bytes of native stack that one guest call may use. The thread that runs a guest needs more than this.
pub const MAX_GUEST_STACK: usize = 1536 * 1024;

/// The machine this program runs on, as written in a manifest: for example `x86_64-linux`.
pub fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Settings for compiling and for running: components, and interruption by epoch.
pub fn engine_config() -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true).epoch_interruption(true).max_wasm_stack(MAX_GUEST_STACK);
    config
}

#[cfg(test)]
mod tests {
    use super::WASMTIME_VERSION;

    #[test]
    fn version_is_the_locked_one() {
        let lock = include_str!("../../../Cargo.lock");
        assert!(
            lock.contains(&format!("name = \"wasmtime\"\nversion = \"{WASMTIME_VERSION}\"")),
            "WASMTIME_VERSION must follow Cargo.lock"
        );
    }
}
