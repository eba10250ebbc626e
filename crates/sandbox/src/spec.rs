//! What is to be run: language, program, input and limits. Plain data, checked by the engine that runs it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The most characters of one output stream that are ever kept, whatever [`Limits::output_chars`] asks for.
pub const MAX_OUTPUT_CHARS: usize = 2_000_000;

/// The most bytes that program and standard input may have together.
pub const MAX_PROGRAM_BYTES: usize = 16 * 1024 * 1024;

/// A language of `eval_code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// ECMAScript without any API of a browser or of Node.
    JavaScript,
    /// Python with its standard library.
    Python,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::JavaScript, Self::Python];

    /// The name as it is written in requests and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JavaScript => "javascript",
            Self::Python => "python",
        }
    }

    /// The file of its compiled runtime.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::JavaScript => "javascript.cwasm",
            Self::Python => "python.cwasm",
        }
    }

    /// The name as it is written in messages to people.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        }
    }
}

/// What one program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory, the interpreter's own included.
    pub memory_bytes: u64,
    /// Wall-clock time from the first instruction on.
    pub timeout: Duration,
    /// Characters kept of stdout and of stderr, each; at most [`MAX_OUTPUT_CHARS`].
    pub output_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 256 * 1024 * 1024, timeout: Duration::from_secs(10), output_chars: 100_000 }
    }
}

/// One program to run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What it is written in.
    pub language: Language,
    /// The source text.
    pub code: String,
    /// What it reads from standard input.
    pub stdin: String,
    /// What it may use.
    pub limits: Limits,
}
