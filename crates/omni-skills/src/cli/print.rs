//! What commands print: tables for people, JSON for programs, and nothing that a terminal would obey.

use serde_json::Value;

use super::say;

/// Characters of one cell of a table.
const CELL: usize = 60;

/// JSON on one line, as the API gave it.
pub(super) fn json(value: &Value) {
    say(&visible(&value.to_string()));
}

/// JSON on many lines, for a single thing.
pub(super) fn pretty(value: &Value) {
    say(&visible(&format!("{value:#}")));
}

/// Rows under their titles; each column has a title and the pointer of its value.
pub(super) fn table(rows: &[Value], columns: &[(&str, &str)]) {
    if rows.is_empty() {
        return say("none");
    }
    let titles = columns.iter().map(|(title, _)| (*title).to_owned()).collect::<Vec<_>>();
    let cells =
        rows.iter().map(|row| columns.iter().map(|(_, pointer)| cell(row.pointer(pointer))).collect());
    let lines: Vec<Vec<String>> = std::iter::once(titles).chain(cells).collect();
    let width = |n: usize| lines.iter().filter_map(|line| line.get(n)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns.len()).map(|n| width(n).unwrap_or_default()).collect();
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        say(padded.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// The rows of a page.
pub(super) fn rows(page: &Value) -> &[Value] {
    page.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Says that a page is not all there is.
pub(super) fn more(page: &Value) {
    let shown = rows(page).len() as u64;
    let total = page.get("total").and_then(Value::as_u64).unwrap_or(shown);
    if total > shown {
        say(&format!("{shown} of {total}; --limit and --page show more"));
    }
}

fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(","),
        Some(other) => other.to_string(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&domain::text::excerpt(&line, CELL))
}

/// What a terminal would not show as it is: control characters, and those that change how others are shown.
pub(super) fn visible(text: &str) -> String {
    let hides = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|c| if hides(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_hidden_from_whoever_decides() {
        assert_eq!(visible("a\u{202e}b\u{2028}c\u{1b}[31m é"), "a\\u{202e}b\\u{2028}c\\u{1b}[31m é");
    }

    #[test]
    fn a_cell_is_one_short_line() {
        assert_eq!(cell(Some(&json!("a\n  b"))), "a b");
        assert_eq!(cell(Some(&json!(["a", "b"]))), "a,b");
        assert_eq!(cell(None), "-");
        assert_eq!(cell(Some(&json!("x".repeat(100)))).chars().count(), CELL + 1);
    }
}
