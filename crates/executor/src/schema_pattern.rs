//! The regular expressions of schemas: linear in the text, and so many times their program's size.
//!
//! Never backtracks: look-around and back references are refused.

use domain::text::excerpt;
use jsonschema::{Draft, PatternOptions, ValidationOptions};
use serde_json::json;

/// One unit of a program, in bytes. A unit took up to 0.8 microseconds per byte of text.
const UNIT: usize = 8 * 1024;
/// Largest program, in powers of two of units: 1 MiB. Bounds memory for patterns such as `(a{1000}){1000}`.
const LARGEST: u32 = 7;

/// How schemas are compiled: without fetching anything, their patterns within `1 << size` units.
fn options(size: u32) -> ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(UNIT << size))
}

/// How schemas are compiled.
pub(crate) fn compile_options() -> ValidationOptions<'static> {
    options(LARGEST)
}

/// Units that a pattern's program takes, rounded up to a power of two.
pub(crate) fn pattern_units(pattern: &str) -> Result<u64, String> {
    let schema = json!({ "pattern": pattern });
    let fitting = (0..=LARGEST).find(|size| options(*size).build(&schema).is_ok());
    fitting.map(|size| 1 << size).ok_or_else(|| {
        let pattern = excerpt(pattern, 80);
        format!(
            "the pattern {pattern} is too large or no regular expression without look-around; simplify it"
        )
    })
}
