//! What a folder of compiled runtimes says about itself: the file `manifest.json`.
//!
//! The manifest is written by the build step beside the compiled files and read here. It is trusted only as far as
//! the folder is (see `trust`). Reading it never loads any code.

use std::path::Path;

use serde::Deserialize;

use crate::{LoadError, WASMTIME_VERSION, target, trust};

/// Name of the manifest in a folder of compiled runtimes.
pub const MANIFEST: &str = "manifest.json";

/// The manifest format that this program reads.
pub const FORMAT: u32 = 1;

/// The content of `manifest.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// Format number; see [`FORMAT`].
    pub format: u32,
    /// Version of wasmtime that compiled the files.
    pub wasmtime: String,
    /// Machine the files were compiled for; see [`target`].
    pub target: String,
    /// The compiled files.
    pub files: Vec<RuntimeFile>,
}

/// One compiled runtime.
#[derive(Debug, Clone, Deserialize)]
pub struct RuntimeFile {
    /// File name inside the folder, without any path.
    pub name: String,
    /// Core module or component.
    pub kind: Kind,
    /// SHA-256 of the content in lowercase hexadecimal.
    pub sha256: String,
    /// What it is, for people: product and version.
    pub about: String,
}

/// What was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A core WebAssembly module.
    Module,
    /// A WebAssembly component.
    Component,
}

impl Manifest {
    /// Reads the manifest of `dir` and checks that it is meant for this program and that only we could write it.
    ///
    /// # Errors
    /// [`LoadError`] says which of the three it is: missing, made for something else, or not to be trusted.
    pub fn read(dir: &Path) -> Result<Self, LoadError> {
        trust::directory(dir)?;
        let path = dir.join(MANIFEST);
        trust::file(&path)?;
        let text =
            std::fs::read(&path).map_err(|e| LoadError::Missing(format!("{MANIFEST}: {}", e.kind())))?;
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|e| LoadError::Mismatch(format!("{MANIFEST} cannot be read: {e}")))?;
        manifest.fits_this_program()?;
        Ok(manifest)
    }

    fn fits_this_program(&self) -> Result<(), LoadError> {
        let ours = (FORMAT, WASMTIME_VERSION, target());
        if (self.format, self.wasmtime.as_str(), &self.target) == (ours.0, ours.1, &ours.2) {
            return Ok(());
        }
        Err(LoadError::Mismatch(format!(
            "made by wasmtime {} for {}, format {}; needed is wasmtime {} for {}, format {}",
            self.wasmtime, self.target, self.format, ours.1, ours.2, ours.0
        )))
    }
}
