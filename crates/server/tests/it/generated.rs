//! Files of the repository that are made from the code: compared here, rewritten with `cargo xtask openapi`.

use std::path::Path;

/// Panics where the file is not this text. Told to rewrite, it writes the text instead.
pub(crate) fn compare(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var_os("OMNI_SKILLS_REWRITE").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(text.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or_else(|| there.lines().count().min(text.lines().count())) + 1;
    assert!(there == text, "{file} is out of date from line {line} on; run `cargo xtask openapi`");
}

/// The same for what stands between two lines `<!-- NAME -->` and `<!-- /NAME -->` of a file.
pub(crate) fn compare_part(file: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let whole = std::fs::read_to_string(path).unwrap();
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let (before, rest) = whole.split_once(&open).unwrap_or_else(|| panic!("{file} has no line {open}"));
    let (_, after) = rest.split_once(&close).unwrap_or_else(|| panic!("{file} has no line {close}"));
    compare(file, &format!("{before}{open}{text}{close}{after}"));
}
