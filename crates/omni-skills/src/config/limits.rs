//! `[limits]`: bounds of the built-in skills, under the names that the seeds' variables gave them too.

use domain::limits;

use super::section::section;

section! {
    /// `[limits]`
    Limits {
        /// Bytes of the largest file of `file_read` and `file_write`.
        file_bytes: u64 = limits::FILE_BYTES, Restart [1..=64 * limits::FILE_BYTES] or "SKILLS_MAX_FILE_BYTES";
        /// Characters kept of each of a program's stdout and stderr.
        sandbox_output_chars: usize = limits::SANDBOX_OUTPUT_CHARS, Restart
            [1..=100 * limits::SANDBOX_OUTPUT_CHARS] or "SKILLS_MAX_SANDBOX_OUTPUT_CHARS";
        /// Milliseconds of a sandboxed program.
        sandbox_timeout_ms: u64 = limits::SANDBOX_TIMEOUT_MS, Restart
            [1..=limits::SANDBOX_TIMEOUT_MAX_MS] or "SKILLS_SANDBOX_TIMEOUT_MS";
    }
}
