//! One skill as the registry keeps it: checked, normalised, and with everything worked out that a request needs.

use domain::limits::DESCRIPTION_CHARS;
use domain::scoring::Subject;
use domain::text::prefix_chars;
use domain::tool_name::wire_name;
use domain::{Policy, Skill, ToolDefinition, schema};
use serde_json::Value;

use crate::known::Known;

/// What stands at the end of a description that was cut.
const CUT_MARK: &str = " [cut]";

/// A skill and what follows from it. Immutable; shared by snapshots for as long as the row stays the same.
#[derive(Debug)]
pub struct Entry {
    /// The row.
    pub skill: Skill,
    /// Why it can be neither offered nor run: unknown handler, unusable schema. Kept so that people see it.
    pub broken: Option<String>,
    /// What the model is offered: the wire name it has unless the client took it, the description cut to
    /// [`DESCRIPTION_CHARS`], the normalised input schema.
    pub definition: ToolDefinition,
    /// Normalised output schema; absent = outputs are not checked.
    pub output: Option<Value>,
    /// Bytes the definition takes in a request: its name, description and parameters as JSON, keys apart.
    pub definition_bytes: usize,
    /// What is scored in place of the description of a built-in.
    summary: Option<String>,
}

impl Entry {
    /// Works out an entry. What is wrong with the skill makes it broken, never fails.
    pub(crate) fn new(skill: Skill, known: &Known) -> Self {
        let mut broken = None;
        if !known.handlers.contains(&skill.handler) {
            broken = Some(format!("handler `{}` is unknown to this program", skill.handler));
        }
        let parameters = schema::normalise_input(&skill.schema);
        let output = schema::normalise_output(&skill.schema);
        if let (Err(error), _) | (_, Err(error)) = (&parameters, &output) {
            broken = Some(error.to_string());
        }
        let definition = ToolDefinition {
            wire_name: wire_name(&skill.name, &skill.version, |_| false),
            description: cut(&skill.description),
            parameters: parameters.unwrap_or_else(|_| Value::Object(serde_json::Map::new())),
        };
        let definition_bytes = bytes(&definition);
        let summary = if skill.is_builtin() { known.builtins.get(&skill.name).cloned() } else { None };
        Self { skill, broken, definition, output: output.unwrap_or(None), definition_bytes, summary }
    }

    /// The normalised input schema, always an object schema unless the entry is broken.
    pub fn input(&self) -> &Value {
        &self.definition.parameters
    }

    /// What the score looks at.
    pub fn subject(&self) -> Subject<'_> {
        let description = self.summary.as_deref().unwrap_or(&self.skill.description);
        Subject { description, ..Subject::of(&self.skill) }
    }

    /// Whether it may be offered to a model as far as the skill itself is concerned: active, not manual, not broken.
    pub fn is_candidate(&self) -> bool {
        self.is_usable() && self.skill.policy != Policy::Manual
    }

    /// Whether it runs at all: active, not broken.
    pub(crate) fn is_usable(&self) -> bool {
        self.skill.is_active() && self.broken.is_none()
    }

    /// Whether it is one of the built-ins that act on a disk or run programs: an agent that brings its own tools
    /// means another disk by them.
    pub fn acts_on_local_machine(&self) -> bool {
        let name = self.skill.name.as_str();
        self.skill.is_builtin()
            && (name.starts_with("file_") || name == "execute_command" || name == "eval_code")
    }
}

/// At most [`DESCRIPTION_CHARS`] characters, the mark included.
fn cut(description: &str) -> String {
    if prefix_chars(description, DESCRIPTION_CHARS).len() == description.len() {
        return description.to_owned();
    }
    format!("{}{CUT_MARK}", prefix_chars(description, DESCRIPTION_CHARS - CUT_MARK.len()))
}

fn bytes(definition: &ToolDefinition) -> usize {
    let parts = (&definition.wire_name, &definition.description, &definition.parameters);
    serde_json::to_vec(&parts).map_or(usize::MAX, |json| json.len())
}
