//! The reference of all settings, made of their declarations.

use super::section::{Row, Section, Shape, When};
use super::sections;

/// As Markdown: one table for each section.
pub(crate) fn markdown() -> String {
    sections().iter().map(chapter).collect()
}

fn chapter(section: &Section) -> String {
    let title = match section.shape {
        Shape::Table | Shape::Free => format!("[{}]", section.name),
        Shape::List => format!("[[{}]]", section.name),
        Shape::Named => format!("[{}.NAME]", section.name),
    };
    let head = format!("### `{title}`\n\n{}\n\n", section.doc);
    if section.rows.is_empty() {
        return head;
    }
    format!("{head}| key | default | change | means |\n|---|---|---|---|\n{}\n", rows("", &section.rows))
}

fn rows(prefix: &str, rows: &[Row]) -> String {
    rows.iter().map(|row| line(prefix, row)).collect()
}

/// A setting, and those inside of it.
fn line(prefix: &str, row: &Row) -> String {
    let when = match row.when {
        When::Live => "reload",
        When::Restart => "restart",
        When::Required => "reload, required",
    };
    let bounds = row.bounds.map(|(least, most)| format!(" From {least} to {most}.")).unwrap_or_default();
    let variable = row.variable.map(|name| format!(" Also `{name}`.")).unwrap_or_default();
    let means = format!("{}{bounds}{variable}", row.doc.trim()).replace('|', "\\|");
    let inside =
        row.inside.map(|inside| rows(&format!("{prefix}{}.", row.key), &inside())).unwrap_or_default();
    format!("| `{prefix}{}` | {} | {when} | {means} |\n{inside}", row.key, default(row))
}

fn default(row: &Row) -> String {
    match &row.default {
        Some(value) if row.when != When::Required => format!("`{value}`"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_in_the_documents() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text.contains(&markdown()),
            "docs/configuration.md is not what the settings say; put `omni-skills config reference` into it"
        );
    }

    #[test]
    fn every_setting_says_what_it_means() {
        for section in sections() {
            for row in &section.rows {
                assert!(row.doc.trim_end().ends_with('.'), "{}.{}: {}", section.name, row.key, row.doc);
            }
        }
    }
}
