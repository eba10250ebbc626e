//! A tool's parameters in the words that Gemini knows: an allow-list, since one unknown word has the whole request
//! refused.
//!
//! A [`Node`] can hold nothing but allowed words. It also remembers how properties were called before, so that
//! arguments get their names back. It never judges a value; the executor does, by the skill's own schema.

mod names;
mod reduce;

use serde_json::{Map, Number, Value, json};

pub(super) use reduce::reduce;

/// Types of the provider's schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    String,
    Number,
    Integer,
    Boolean,
    Array,
    Object,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::String => "STRING",
            Self::Number => "NUMBER",
            Self::Integer => "INTEGER",
            Self::Boolean => "BOOLEAN",
            Self::Array => "ARRAY",
            Self::Object => "OBJECT",
        }
    }
}

/// A property of an object.
#[derive(Clone, Debug, PartialEq)]
struct Property {
    original: String,
    wire: String,
    is_required: bool,
    node: Node,
}

/// A schema in allowed words. With alternatives nothing else of it counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    kind: Kind,
    alternatives: Vec<Node>,
    nullable: bool,
    title: Option<String>,
    description: Option<String>,
    format: Option<&'static str>,
    pattern: Option<String>,
    choices: Vec<String>,
    default: Option<Value>,
    /// Lengths and limits, by their words.
    limits: Vec<(&'static str, Number)>,
    properties: Vec<Property>,
    items: Option<Box<Node>>,
}

impl Node {
    fn of(kind: Kind) -> Self {
        let items = (kind == Kind::Array).then(|| Box::new(Self::default()));
        Self { kind, items, ..Self::default() }
    }

    /// Any value at all.
    fn any() -> Self {
        let kinds = [Kind::String, Kind::Number, Kind::Boolean, Kind::Object, Kind::Array];
        Self { alternatives: kinds.map(Self::of).to_vec(), ..Self::default() }
    }

    /// The schema as parameters of a tool; none without properties.
    pub(super) fn parameters(&self) -> Option<Value> {
        (!self.properties.is_empty()).then(|| self.write())
    }

    fn write(&self) -> Value {
        if !self.alternatives.is_empty() {
            let all: Vec<Value> = self.alternatives.iter().map(|one| self.alternative(one).write()).collect();
            return json!({"anyOf": all});
        }
        let mut out = Map::new();
        let mut set = |word: &str, value: Value| {
            out.insert(word.to_owned(), value);
        };
        set("type", self.kind.word().into());
        let texts = [("title", &self.title), ("description", &self.description), ("pattern", &self.pattern)];
        for (word, text) in texts {
            if let Some(text) = text {
                set(word, text.as_str().into());
            }
        }
        if self.nullable {
            set("nullable", true.into());
        }
        self.format.iter().for_each(|format| set("format", (*format).into()));
        if !self.choices.is_empty() {
            set("enum", self.choices.clone().into());
        }
        self.limits.iter().for_each(|(word, limit)| set(word, Value::Number(limit.clone())));
        self.default.iter().for_each(|default| set("default", default.clone()));
        self.items.iter().for_each(|items| set("items", items.write()));
        if !self.properties.is_empty() {
            let members = self.properties.iter().map(|one| (one.wire.clone(), one.node.write()));
            set("properties", Value::Object(members.collect()));
            let required = self.properties.iter().filter(|one| one.is_required);
            let required: Vec<&str> = required.map(|one| one.wire.as_str()).collect();
            if !required.is_empty() {
                set("required", required.into());
            }
        }
        Value::Object(out)
    }

    /// An alternative with what was said of all: beside `anyOf` the provider takes no other word.
    fn alternative(&self, one: &Node) -> Node {
        let mut one = one.clone();
        one.nullable |= self.nullable;
        one.title = one.title.or_else(|| self.title.clone());
        one.description = one.description.or_else(|| self.description.clone());
        one
    }

    /// Arguments under the names of the original schema.
    pub(super) fn restore(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let Some(object) = self.object_for(&arguments) else { return arguments };
        let rename = |(key, value): (String, Value)| match object.properties.iter().find(|p| p.wire == key) {
            Some(property) => (property.original.clone(), property.node.restore_value(value)),
            None => (key, value),
        };
        arguments.into_iter().map(rename).collect()
    }

    fn restore_value(&self, value: Value) -> Value {
        match value {
            Value::Object(members) => Value::Object(self.restore(members)),
            Value::Array(values) => match self.all().find_map(|node| node.items.as_deref()) {
                Some(items) => values.into_iter().map(|value| items.restore_value(value)).collect(),
                None => Value::Array(values),
            },
            other => other,
        }
    }

    /// The schema itself, or its alternatives.
    fn all(&self) -> impl Iterator<Item = &Node> + Clone {
        let own = self.alternatives.is_empty().then_some(self);
        own.into_iter().chain(&self.alternatives)
    }

    /// Of several objects the first that knows every member, else the first.
    fn object_for(&self, members: &Map<String, Value>) -> Option<&Node> {
        let mut objects = self.all().filter(|node| node.kind == Kind::Object);
        let knows = |node: &&Node| members.keys().all(|key| node.properties.iter().any(|p| p.wire == *key));
        objects.clone().find(knows).or_else(|| objects.next())
    }
}
