//! The reference of all settings, made of their declarations.

use super::section::{Row, Section, Shape, When};
use super::sections;

/// As Markdown: one table for each section.
pub(crate) fn markdown() -> String {
    let mut out = String::new();
    for section in sections() {
        let title = match section.shape {
            Shape::Table | Shape::Free => format!("[{}]", section.name),
            Shape::List => format!("[[{}]]", section.name),
            Shape::Named => format!("[{}.NAME]", section.name),
        };
        out.push_str(&format!("### `{title}`\n\n{}\n\n", section.doc));
        let rows = rows(&section, "", &section.rows);
        if !rows.is_empty() {
            out.push_str("| key | default | change | means |\n|---|---|---|---|\n");
            out.push_str(&rows);
            out.push('\n');
        }
    }
    out
}

fn rows(section: &Section, prefix: &str, rows_here: &[Row]) -> String {
    let mut out = String::new();
    for row in rows_here {
        let when = match row.when {
            When::Live => "reload",
            When::Restart => "restart",
            When::Required => "reload, required",
        };
        let bounds = row.bounds.map(|(least, most)| format!(" From {least} to {most}.")).unwrap_or_default();
        let variable = row.variable.map(|name| format!(" Also `{name}`.")).unwrap_or_default();
        let means = format!("{}{bounds}{variable}", row.doc.trim()).replace('|', "\\|");
        out.push_str(&format!("| `{prefix}{}` | {} | {when} | {means} |\n", row.key, default(row)));
        if let Some(inside) = row.inside {
            out.push_str(&rows(section, &format!("{prefix}{}.", row.key), &inside()));
        }
    }
    out
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
