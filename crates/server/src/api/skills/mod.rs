//! `/api/skills`: the registry for management: [`list`], [`resolve`], [`install`], [`edit`], [`cache`].

pub(crate) mod cache;
pub(crate) mod edit;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod resolve;

use domain::limits::DESCRIPTION_CHARS;
use registry::Entry;
use serde::Serialize;

use crate::app::App;
use crate::openapi::Shape;
use crate::openapi::schema::{list as list_of, text};
use crate::openapi::shapes::SKILL;

/// A [`Shown`] skill.
pub(crate) const SHOWN_SKILL: Shape = Shape::new("ShownSkill", || {
    (SKILL.schema)()
        .with("wireName", text().about("The name under which a model sees it."))
        .with("broken", text().or_null().about("Why it can be neither offered nor run."))
        .with("unavailable", text().or_null().about("Why it cannot run at present."))
        .with("warnings", list_of(text()).about("What does not stop it, but should be known."))
});

/// A skill as the API shows it: the row, and what people should know about it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    #[serde(flatten)]
    skill: &'a domain::Skill,
    /// The name under which a model sees it.
    wire_name: &'a str,
    /// Why it can be neither offered nor run.
    broken: Option<&'a str>,
    /// Why it cannot run at present.
    unavailable: Option<&'a str>,
    /// What does not stop it, but should be known.
    warnings: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(entry: &'a Entry, app: &'a App) -> Self {
        let skill = &entry.skill;
        let mut warnings = Vec::new();
        let chars = skill.description.chars().count();
        if chars > DESCRIPTION_CHARS {
            warnings.push(format!(
                "the description has {chars} characters; models see the first {DESCRIPTION_CHARS}"
            ));
        }
        let builtin = skill.is_builtin();
        Self {
            skill,
            wire_name: &entry.definition.wire_name,
            broken: entry.broken.as_deref(),
            unavailable: app.unavailable.get(&skill.name).filter(|_| builtin).map(String::as_str),
            warnings,
        }
    }
}
