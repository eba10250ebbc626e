//! Compiles one WebAssembly file to native code: `aot IN.wasm OUT.cwasm [--component]`.
//!
//! This is the only program of the workspace that contains the compiler; the one that serves requests only loads
//! what this made. It never runs a guest and never decides where results go.

use std::path::Path;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (input, output, component) = match args.as_slice() {
        [input, output] => (input, output, false),
        [input, output, flag] if flag == "--component" => (input, output, true),
        _ => bail!("usage: aot IN.wasm OUT.cwasm [--component]"),
    };
    let wasm = std::fs::read(input).with_context(|| format!("cannot read {input}"))?;
    let engine = wasmtime::Engine::new(&launcher::engine_config()).map_err(|e| anyhow::anyhow!("{e}"))?;
    let compiled =
        if component { engine.precompile_component(&wasm) } else { engine.precompile_module(&wasm) };
    let compiled = compiled.map_err(|e| anyhow::anyhow!("cannot compile {input}: {e:#}"))?;
    std::fs::write(Path::new(output), compiled).with_context(|| format!("cannot write {output}"))
}
