//! The unsafe corner: loads language runtimes that were compiled to native code ahead of time.
//!
//! A compiled runtime (`.cwasm`) is machine code that this process maps and jumps into, so it is trusted like the
//! program itself: it is loaded only from a folder that nobody else can write to, and only if its content is what
//! the folder's manifest says. The engine settings live here as well, because the compiler (`aot`) and the loader
//! (`sandbox`) must use the very same ones.
//!
//! This crate never compiles WebAssembly, never runs a guest and knows nothing about languages.

mod config;
mod folder;
mod manifest;
mod trust;

pub use config::{MAX_GUEST_STACK, WASMTIME_VERSION, engine_config, target};
pub use folder::Folder;
pub use manifest::{FORMAT, Kind, MANIFEST, Manifest, RuntimeFile};

/// Why a compiled runtime was not loaded. The texts name files, never folders.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to load: build it.
    #[error("the compiled runtimes are missing ({0})")]
    Missing(String),
    /// Made for another version or machine: build it again.
    #[error("the compiled runtimes do not fit this program ({0})")]
    Mismatch(String),
    /// Somebody else could have written it, or its content is not what the manifest says: do not use it.
    #[error("the compiled runtimes are not trusted ({0})")]
    Untrusted(String),
}
