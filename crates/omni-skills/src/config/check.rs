//! What serde cannot say about a file: where a key stands that nobody knows, what was probably meant, and whether
//! numbers are within their bounds.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::section::{Row, Section, Shape, When};

/// How alike two names have to be to be taken for one another.
const ALIKE: f64 = 0.7;

/// Everything that is wrong, with its lines, as `line 3: ...`.
pub(super) fn file(text: &str, sections: &[Section]) -> Result<(), String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    let mut found = Faults { text, list: Vec::new() };
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let Some(section) = sections.iter().find(|section| section.name == name) else {
            found.unknown(key, "section", sections.iter().map(|section| section.name));
            continue;
        };
        match (section.shape, value.get_ref()) {
            (Shape::Table, DeValue::Table(table)) => {
                found.table(name, table, value.span().start, &section.rows);
            }
            (Shape::List, DeValue::Array(items)) => {
                for item in items {
                    if let DeValue::Table(table) = item.get_ref() {
                        found.table(name, table, item.span().start, &section.rows);
                    }
                }
            }
            (Shape::Named, DeValue::Table(tables)) => {
                for (key, item) in tables {
                    if let DeValue::Table(table) = item.get_ref() {
                        found.table(name, table, key.span().start, &section.rows);
                    }
                }
            }
            // Wrong kinds are serde's to name.
            _ => {}
        }
    }
    if found.list.is_empty() { Ok(()) } else { Err(found.list.join("\n")) }
}

struct Faults<'t> {
    text: &'t str,
    list: Vec<String>,
}

impl Faults<'_> {
    fn say(&mut self, at: usize, message: &str) {
        let before = self.text.get(..at).unwrap_or_default();
        self.list.push(format!("line {}: {message}", before.matches('\n').count() + 1));
    }

    fn table(&mut self, name: &str, table: &DeTable<'_>, at: usize, rows: &[Row]) {
        for (key, value) in table {
            let Some(row) = rows.iter().find(|row| row.key == key.get_ref().as_ref()) else {
                self.unknown(key, &format!("key of `{name}`"), rows.iter().map(|row| row.key));
                continue;
            };
            let path = format!("{name}.{}", row.key);
            match (value.get_ref(), row.inside) {
                (DeValue::Table(table), Some(inside)) => {
                    self.table(&path, table, value.span().start, &inside());
                }
                (DeValue::Integer(number), _) => {
                    let number = i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX);
                    if let Err(message) = within(&path, number, row) {
                        self.say(value.span().start, &message);
                    }
                }
                _ => {}
            }
        }
        for row in rows.iter().filter(|row| row.when == When::Required) {
            if table.keys().all(|key| key.get_ref().as_ref() != row.key) {
                self.say(at, &format!("`{name}` needs `{}`", row.key));
            }
        }
    }

    fn unknown(
        &mut self,
        key: &Spanned<DeString<'_>>,
        what: &str,
        known: impl Iterator<Item = &'static str>,
    ) {
        let message = unknown(key.get_ref(), what, known);
        self.say(key.span().start, &message);
    }
}

/// The message about a name that nobody knows.
pub(super) fn unknown(name: &str, what: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.collect();
    let likeness = |other: &&str| strsim::jaro_winkler(&name.to_lowercase(), other);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = match best.filter(|best| likeness(best) >= ALIKE) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("`{}` is no {what}; {hint}", domain::text::excerpt(name, 60))
}

/// Whether a number is one that the setting may have.
pub(super) fn within(path: &str, number: i64, row: &Row) -> Result<(), String> {
    match row.bounds {
        Some((least, most)) if !(least..=most).contains(&number) => {
            Err(format!("`{path}` has to be from {least} to {most}, not {number}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::sections;

    fn fault(text: &str) -> String {
        file(text, &sections()).unwrap_err()
    }

    #[test]
    fn unknown_keys_come_with_their_line_and_what_was_meant() {
        assert_eq!(
            fault("\n[server]\nprot = 1\n"),
            "line 3: `prot` is no key of `server`; did you mean `port`?"
        );
        assert_eq!(fault("[sever]\nport = 1\n"), "line 1: `sever` is no section; did you mean `server`?");
        let tls = fault("[server]\ntls = { cert = 'a', kee = 'b' }\n");
        assert!(tls.contains("line 2: `kee` is no key of `server.tls`; did you mean `key`?"), "{tls}");
        assert!(fault("[demo]\nzzz = 1\n").ends_with("known are enabled"));
    }

    #[test]
    fn everything_wrong_is_named_at_once() {
        let text = "[server]\nprot = 1\nhots = 'a'\n[[upstreams]]\nname = 'a'\nbase = 'b'\n";
        let lines: Vec<_> = fault(text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines.iter().any(|line| line == "line 4: `upstreams` needs `dialect`"), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("did you mean `base_url`?")), "{lines:?}");
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(
            fault("[executor]\nmax_retries = 4\n"),
            "line 2: `executor.max_retries` has to be from 0 to 3, not 4"
        );
        file("[executor]\nmax_retries = 0x3\n", &sections()).unwrap();
    }

    #[test]
    fn operators_choose_names_of_skills() {
        file("[policy]\nanything = 'auto'\n", &sections()).unwrap();
    }
}
