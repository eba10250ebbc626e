//! Tool names on the wire: legal at every provider, readable, and found again in the request's own table.
//!
//! A wire name is never decoded by taking it apart: a call is looked up in the [`WireTable`] of its request, so a
//! name that nobody offered reaches nothing, and a tool of the client is never shadowed.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::version::Version;

/// Longest wire name: Gemini's limit; the others allow one more.
pub const WIRE_NAME_BYTES: usize = 63;

/// The wire name of a skill: `reverse-text__1_0_0`.
///
/// When a character had to be replaced, when it would be too long, or when `taken` says that another tool has
/// it, the slug is cut to fit and the first 8 hex digits of sha256(`name@version`) are appended:
/// `web_search__1_0_0_5f3a90c1`. Always 1 to [`WIRE_NAME_BYTES`] of `[A-Za-z0-9_-]`, beginning with a letter or `_`.
pub fn wire_name(name: &str, version: &Version, taken: impl Fn(&str) -> bool) -> String {
    let slug = slug(name);
    let suffix = suffix(version);
    let plain = format!("{slug}{suffix}");
    if slug == name && plain.len() <= WIRE_NAME_BYTES && !taken(&plain) {
        return plain;
    }
    // A second hash is needed only when somebody else already has the first: salted until it is free.
    let hashed = |salt: u32| {
        let tail = format!("{suffix}_{}", short_hash(name, version, salt));
        let room = WIRE_NAME_BYTES.saturating_sub(tail.len());
        // The largest version leaves no room for the slug; `__1…` then begins the name, which is legal.
        let full = format!("{}{tail}", crate::text::prefix_bytes(&slug, room));
        if full.len() <= WIRE_NAME_BYTES { full } else { format!("_{}", full_hash(name, version, salt)) }
    };
    (0..1024).map(hashed).find(|candidate| !taken(candidate)).unwrap_or_else(|| hashed(1024))
}

/// The name with every other character replaced by `_`, beginning with a letter or `_`.
fn slug(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut slug: String = name.chars().map(legal).collect();
    if !slug.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        slug.insert(0, '_');
    }
    slug
}

fn suffix(version: &Version) -> String {
    format!("__{}_{}_{}", version.major, version.minor, version.patch)
}

fn digest(name: &str, version: &Version, salt: u32) -> String {
    let text = match salt {
        0 => format!("{name}@{version}"),
        _ => format!("{name}@{version}#{salt}"),
    };
    let hex =
        |byte: u8| [byte >> 4, byte & 15].into_iter().filter_map(|half| char::from_digit(half.into(), 16));
    Sha256::digest(text.as_bytes()).into_iter().flat_map(hex).collect()
}

fn short_hash(name: &str, version: &Version, salt: u32) -> String {
    digest(name, version, salt).chars().take(8).collect()
}

fn full_hash(name: &str, version: &Version, salt: u32) -> String {
    digest(name, version, salt).chars().take(WIRE_NAME_BYTES - 1).collect()
}

/// One row of a table.
#[derive(Clone, Debug)]
struct Row<K> {
    wire: String,
    name: String,
    version: Version,
    key: K,
}

/// The names of one request: which wire name means which skill. At most a few hundred rows, searched in order.
#[derive(Clone, Debug)]
pub struct WireTable<K> {
    rows: Vec<Row<K>>,
    client: HashSet<String>,
}

impl<K> WireTable<K> {
    /// Names every entry, in order. `client_tools` are the names the client declared itself.
    pub fn new<E, C>(entries: E, client_tools: C) -> Self
    where
        E: IntoIterator<Item = (String, Version, K)>,
        C: IntoIterator<Item = String>,
    {
        let client: HashSet<String> = client_tools.into_iter().collect();
        let mut used: HashSet<String> = client.clone();
        let mut rows = Vec::new();
        for (name, version, key) in entries {
            let wire = wire_name(&name, &version, |candidate| used.contains(candidate));
            used.insert(wire.clone());
            rows.push(Row { wire, name, version, key });
        }
        Self { rows, client: client.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// The wire names, in the order of the entries.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.wire.as_str())
    }

    /// Wire name and key of every entry, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &K)> {
        self.rows.iter().map(|row| (row.wire.as_str(), &row.key))
    }

    /// The wire name given to `name@version`.
    pub fn wire_name_of(&self, name: &str, version: &Version) -> Option<&str> {
        self.rows.iter().find(|row| row.name == name && row.version == *version).map(|row| row.wire.as_str())
    }

    /// Whether a called name belongs to the client: declared by it, in any case, and not exactly one of ours.
    pub fn is_clients(&self, called: &str) -> bool {
        self.client.contains(&called.to_ascii_lowercase()) && !self.rows.iter().any(|row| row.wire == called)
    }

    /// What the model means by `called`: exact, then a unique match without regard to case, then a unique match
    /// without the version. `name@version` is understood as well. A tool of the client, in any case, is never ours.
    pub fn lookup(&self, called: &str) -> Option<&K> {
        if let Some(row) = self.rows.iter().find(|row| row.wire == called) {
            return Some(&row.key);
        }
        if self.client.contains(&called.to_ascii_lowercase()) {
            return None;
        }
        let identity = |row: &Row<K>| format!("{}@{}", row.name, row.version);
        let unversioned = without_version(called);
        self.unique(|row| row.name == called || identity(row) == called)
            .or_else(|| {
                self.unique(|row| {
                    row.wire.eq_ignore_ascii_case(called) || identity(row).eq_ignore_ascii_case(called)
                })
            })
            .or_else(|| {
                self.unique(|row| {
                    row.name.eq_ignore_ascii_case(unversioned)
                        || slug(&row.name).eq_ignore_ascii_case(unversioned)
                        || without_version(&row.wire).eq_ignore_ascii_case(unversioned)
                })
            })
    }

    fn unique(&self, fits: impl Fn(&Row<K>) -> bool) -> Option<&K> {
        let mut found = self.rows.iter().filter(|row| fits(row));
        match (found.next(), found.next()) {
            (Some(row), None) => Some(&row.key),
            _ => None,
        }
    }
}

/// `called` without `@…` or `__1_2_3` (with or without a hash behind it) at its end.
fn without_version(called: &str) -> &str {
    if let Some((name, _)) = called.split_once('@') {
        return name;
    }
    let Some((name, tail)) = called.rsplit_once("__") else { return called };
    let mut fields = tail.split('_');
    let numbers = fields.by_ref().take(3).filter(|f| crate::version::number(f).is_some()).count();
    let hash = fields.next().is_none_or(|f| f.len() == 8 && f.bytes().all(|b| b.is_ascii_hexdigit()));
    if numbers == 3 && hash && fields.next().is_none() && !name.is_empty() { name } else { called }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V: Version = Version::new(1, 2, 3);

    fn legal(wire: &str) -> bool {
        let first = wire.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest = wire.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        first && rest && wire.len() <= WIRE_NAME_BYTES
    }

    fn table(names: &[&str], client: &[&str]) -> WireTable<String> {
        WireTable::new(
            names.iter().map(|n| ((*n).to_owned(), V, (*n).to_owned())),
            client.iter().map(|n| (*n).to_owned()),
        )
    }

    #[test]
    fn a_legal_name_stays_readable() {
        assert_eq!(wire_name("reverse-text", &V, |_| false), "reverse-text__1_2_3");
        let changed = wire_name("web.search", &V, |_| false);
        assert!(changed.starts_with("web_search__1_2_3_") && changed.len() == "web_search__1_2_3_".len() + 8);
        assert!(wire_name("3d-print", &V, |_| false).starts_with("_3d-print__1_2_3_"));
    }

    #[test]
    fn long_names_and_names_that_differ_in_illegal_characters_stay_apart() {
        let (long, other) = ("a".repeat(64), format!("{}b", "a".repeat(63)));
        let table = table(&[&long, &other, "a b", "a.b", "a/b", "日本", "本日"], &[]);
        let names: HashSet<&str> = table.names().collect();
        assert_eq!(names.len(), 7);
        assert!(names.iter().all(|name| legal(name)), "{names:?}");
        assert_eq!(table.lookup(table.wire_name_of(&other, &V).unwrap()), Some(&other));
    }

    #[test]
    fn the_largest_version_still_fits() {
        let top = Version::new(u64::MAX, u64::MAX, u64::MAX);
        assert!(legal(&wire_name("reverse-text", &top, |_| false)));
        assert_ne!(wire_name("a", &top, |_| false), wire_name("b", &top, |_| false));
    }

    #[test]
    fn calls_are_understood_in_every_spelling_a_model_uses() {
        let table = table(&["reverse-text", "Web.Search"], &["read_file"]);
        for called in [
            "reverse-text__1_2_3",
            "Reverse-Text__1_2_3",
            "reverse-text",
            "reverse-text@1.2.3",
            "reverse-text__1_0_0",
        ] {
            assert_eq!(table.lookup(called).map(String::as_str), Some("reverse-text"), "{called}");
        }
        for called in ["Web.Search@1.2.3", "web_search", "web_search__1_2_3", "web.search"] {
            assert_eq!(table.lookup(called).map(String::as_str), Some("Web.Search"), "{called}");
        }
        for called in ["", "@", "__", "__1_2_3", "read_file", "reverse", "omr_skill_ZmlsZV9yZWFkQDEuMC4w"] {
            assert_eq!(table.lookup(called), None, "{called}");
        }
    }

    #[test]
    fn a_tool_of_the_client_is_never_ours() {
        let table = table(&["read_file", "echo"], &["read_file", "echo__1_2_3"]);
        assert_eq!(table.lookup("read_file"), None);
        assert_eq!(table.lookup("Read_File"), None);
        assert_eq!(table.lookup("echo__1_2_3"), None);
        let ours = table.wire_name_of("echo", &V).unwrap();
        assert_ne!(ours, "echo__1_2_3");
        assert_eq!(table.lookup(ours).map(String::as_str), Some("echo"));
    }

    #[test]
    fn two_that_fit_are_none() {
        let table = table(&["Echo", "echo"], &[]);
        assert_eq!(table.lookup("echo__1_2_3").map(String::as_str), Some("echo"));
        assert_eq!(table.lookup("ECHO__1_2_3"), None);
        assert_eq!(table.lookup("ECHO"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_table_is_legal_distinct_stable_and_reversible(
            names in prop::collection::hash_set("[A-Za-z0-9._:/ é日-]{1,80}", 1..12),
            client in prop::collection::vec("[a-zA-Z0-9_-]{1,64}", 0..6),
            numbers in any::<(u64, u64, u64)>(),
        ) {
            let version = Version::new(numbers.0, numbers.1, numbers.2);
            let entries = names.iter().map(|n| (n.clone(), version, n.clone()));
            let table = WireTable::new(entries, client.clone());
            let distinct: HashSet<&str> = table.names().collect();
            prop_assert_eq!(distinct.len(), names.len());
            for name in &names {
                let wire = table.wire_name_of(name, &version).unwrap();
                prop_assert!(legal(wire), "{}", wire);
                prop_assert!(!client.iter().any(|c| c == wire));
                prop_assert_eq!(table.lookup(wire), Some(name));
                let alone = wire_name(name, &version, |w| client.iter().any(|c| c == w));
                prop_assert_eq!(wire, &alone);
            }
        }

        #[test]
        fn hostile_calls_reach_nothing_or_an_entry(called in ".{0,80}") {
            let table = table(&["reverse-text"], &["reverse-text"]);
            if table.lookup(&called).is_some() {
                prop_assert!(called.to_ascii_lowercase().starts_with("reverse-text"));
            }
        }
    }
}
