//! One declaration per setting: what serde reads, the default, the bounds, the reference and the suggestions for
//! unknown keys are all made of it.

use serde::Serialize;

/// One setting of a section.
pub(crate) struct Row {
    /// Its name in the file.
    pub(crate) key: &'static str,
    /// What it means, for the reference.
    pub(crate) doc: &'static str,
    /// Its value where nothing is said; absent where there is none.
    pub(crate) default: Option<toml::Value>,
    pub(crate) when: When,
    /// Least and largest number.
    pub(crate) bounds: Option<(i64, i64)>,
    /// Environment variable of the seeds, beside `OMNI_SKILLS__SECTION__KEY`.
    pub(crate) variable: Option<&'static str>,
    /// What may stand in it, where it is a table of settings.
    pub(crate) inside: Option<fn() -> Vec<Row>>,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// With the next `config reload`.
    Live,
    /// With the next start.
    Restart,
    /// As `Live`; and it has to be there.
    Required,
}

/// How a section stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `[name]`
    Table,
    /// `[[name]]`, any number of them.
    List,
    /// `[name.ANY]`, any number of them.
    Named,
    /// `[name]` with keys that the operator chooses.
    Free,
}

/// One section of the file.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    /// What it is about, for the reference.
    pub(crate) doc: &'static str,
    pub(crate) shape: Shape,
    pub(crate) rows: Vec<Row>,
}

impl Section {
    pub(super) fn table(name: &'static str, doc: &'static str, rows: Vec<Row>) -> Self {
        Self { name, doc, shape: Shape::Table, rows }
    }

    pub(super) fn list(name: &'static str, doc: &'static str, rows: Vec<Row>) -> Self {
        Self { name, doc, shape: Shape::List, rows }
    }

    #[expect(dead_code, reason = "for `[handlers.NAME]`, which comes with the handlers")]
    pub(super) fn named(name: &'static str, doc: &'static str, rows: Vec<Row>) -> Self {
        Self { name, doc, shape: Shape::Named, rows }
    }

    pub(super) fn free(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, shape: Shape::Free, rows: Vec::new() }
    }
}

/// A default as it stands in a file.
pub(super) fn plain(value: impl Serialize) -> Option<toml::Value> {
    toml::Value::try_from(value).ok()
}

/// Declares a section: `key: Type = default, when [least..=most] or "VARIABLE" with Inner::rows;`, where `when` is
/// `Live`, `Restart` or `Required` and all behind it may be left out.
macro_rules! section {
    (
        $(#[$meta:meta])*
        $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:ident: $type:ty = $default:expr, $when:ident
                    $([$least:literal..=$most:expr])? $(or $variable:literal)? $(with $inside:path)?;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[doc = $doc])+ pub(crate) $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $name {
            /// Its settings, in order.
            pub(super) fn rows() -> Vec<$crate::config::section::Row> {
                use $crate::config::section::{Row, When, plain};
                let defaults = Self::default();
                vec![$(
                    Row {
                        key: stringify!($key),
                        doc: concat!($($doc),+),
                        default: plain(&defaults.$key),
                        when: When::$when,
                        bounds: section!(@bounds $($least $most)?),
                        variable: section!(@variable $($variable)?),
                        inside: section!(@inside $($inside)?),
                    },
                )*]
            }
        }
    };
    (@bounds) => { None };
    (@bounds $least:literal $most:expr) => {
        Some(($least, i64::try_from($most).unwrap_or(i64::MAX)))
    };
    (@variable) => { None };
    (@variable $variable:literal) => { Some($variable) };
    (@inside) => { None };
    (@inside $inside:path) => { Some($inside) };
}

pub(crate) use section;
