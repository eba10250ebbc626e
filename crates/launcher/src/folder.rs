//! Opens a folder of compiled runtimes and loads files from it.
//!
//! Every load checks owner, rights and content again right before the unsafe call. A file that the manifest does
//! not list is never loaded, whatever its name.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::{Kind, LoadError, Manifest, RuntimeFile, trust};

/// A folder of compiled runtimes whose manifest was read and fits this program.
#[derive(Debug, Clone)]
pub struct Folder {
    dir: PathBuf,
    manifest: Manifest,
}

impl Folder {
    /// Opens `dir` and reads its manifest; no runtime is loaded yet.
    ///
    /// # Errors
    /// See [`Manifest::read`].
    pub fn open(dir: &Path) -> Result<Self, LoadError> {
        Ok(Self { dir: dir.to_owned(), manifest: Manifest::read(dir)? })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// What the folder says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Checks owner and rights of one runtime without reading it.
    ///
    /// # Errors
    /// Missing, not in the manifest, or not trusted.
    pub fn check(&self, name: &str) -> Result<&RuntimeFile, LoadError> {
        let file = self
            .manifest
            .files
            .iter()
            .find(|f| f.name == name)
            .ok_or_else(|| LoadError::Missing(format!("{name} is not in the manifest")))?;
        trust::directory(&self.dir)?;
        trust::file(&self.dir.join(name))?;
        Ok(file)
    }

    /// Loads a compiled core module.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing is mapped unless every check passed.
    pub fn module(&self, engine: &Engine, name: &str) -> Result<Module, LoadError> {
        let path = self.verified(name, Kind::Module)?;
        // SAFETY: the file is machine code, so it must be an unmodified result of `Engine::precompile_module`.
        // `verified` has just checked that it has the hash its builder recorded, and that neither it, nor the
        // manifest, nor the folder can be written or replaced by anybody but us and the administrator.
        let loaded = unsafe { Module::deserialize_file(engine, path) };
        loaded.map_err(|e| LoadError::Mismatch(format!("{name}: {e}")))
    }

    /// Loads a compiled component.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing is mapped unless every check passed.
    pub fn component(&self, engine: &Engine, name: &str) -> Result<Component, LoadError> {
        let path = self.verified(name, Kind::Component)?;
        // SAFETY: as in `module`: hash, owner and rights were checked by `verified`, and the file was made by
        // `Engine::precompile_component`.
        let loaded = unsafe { Component::deserialize_file(engine, path) };
        loaded.map_err(|e| LoadError::Mismatch(format!("{name}: {e}")))
    }

    fn verified(&self, name: &str, kind: Kind) -> Result<PathBuf, LoadError> {
        let file = self.check(name)?;
        if file.kind != kind {
            return Err(LoadError::Mismatch(format!("{name} is of another kind")));
        }
        let path = self.dir.join(name);
        let found = sha256(&path).map_err(|e| LoadError::Missing(format!("{name}: {}", e.kind())))?;
        if found == file.sha256 {
            return Ok(path);
        }
        Err(LoadError::Untrusted(format!(
            "{name} is not what its manifest says; remove the folder and build it again"
        )))
    }
}

/// SHA-256 of a file in lowercase hexadecimal, read in pieces.
fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut piece)?;
        let Some(read) = piece.get(..n).filter(|r| !r.is_empty()) else { break };
        hash.update(read);
    }
    Ok(hash.finalize().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}
