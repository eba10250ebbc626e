//! From any JSON Schema to what the provider takes of it: references inlined, unions made plain, the rest left out.
//!
//! What is left out makes the schema wider, never wrong. Size is bounded: hostile references end in an error.

use serde_json::{Map, Number, Value};

use super::{Kind, Node, Property, names};

/// Levels of nesting, references included.
const DEPTH: usize = 32;
/// Schemas looked at in all.
const STEPS: usize = 4096;
/// How often a schema may contain itself before its inside is left open.
const SELF_REFERENCES: usize = 2;
/// Longest list of values in a description, in bytes.
const LISTED_BYTES: usize = 400;

/// A schema that cannot be said in the provider's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Irreducible;

/// The parameters of a tool, as one object.
pub(in super::super) fn reduce(parameters: &Value) -> Result<Node, Irreducible> {
    let mut reducer = Reducer { root: parameters, steps: 0, inside: Vec::new() };
    let mut said = reducer.flatten(parameters.as_object().ok_or(Irreducible)?, 0)?;
    let branches = take_branches(&mut said);
    reducer.absorb(&mut said, &branches, 0)?;
    let kinds = kinds(&said)?;
    if !kinds.is_empty() && !kinds.contains(&Kind::Object) {
        return Err(Irreducible);
    }
    reducer.node(&said, Kind::Object, 0)
}

type Said = Map<String, Value>;

struct Reducer<'a> {
    root: &'a Value,
    steps: usize,
    /// References that are being followed.
    inside: Vec<String>,
}

impl Reducer<'_> {
    fn reduce(&mut self, schema: &Value, depth: usize) -> Result<Node, Irreducible> {
        let depth_before = self.inside.len();
        let node = match schema {
            Value::Bool(_) => Ok(Node::any()),
            Value::Object(schema) => self.flatten(schema, depth).and_then(|said| self.said(said, depth)),
            _ => Err(Irreducible),
        };
        self.inside.truncate(depth_before);
        node
    }

    /// A schema whose references are followed and whose `allOf` is one.
    fn flatten(&mut self, schema: &Said, depth: usize) -> Result<Said, Irreducible> {
        self.steps += 1;
        if depth > DEPTH || self.steps > STEPS {
            return Err(Irreducible);
        }
        let mut said = schema.clone();
        if let Some(reference) = said.shift_remove("$ref") {
            let reference = reference.as_str().ok_or(Irreducible)?;
            let target = match self.target(reference).ok_or(Irreducible)? {
                Value::Object(target) => target.clone(),
                Value::Bool(_) => Said::new(),
                _ => return Err(Irreducible),
            };
            let times = self.inside.iter().filter(|inside| *inside == reference).count();
            if times >= SELF_REFERENCES {
                let outside =
                    |(word, _): &(String, Value)| matches!(word.as_str(), "type" | "title" | "description");
                both(&mut said, target.into_iter().filter(outside).collect());
            } else {
                self.inside.push(reference.to_owned());
                both(&mut said, self.flatten(&target, depth + 1)?);
            }
        }
        if let Some(Value::Array(all)) = said.shift_remove("allOf") {
            for one in &all {
                if let Value::Object(one) = one {
                    let one = self.flatten(one, depth + 1)?;
                    both(&mut said, one);
                }
            }
        }
        Ok(said)
    }

    fn target(&self, reference: &str) -> Option<Value> {
        let pointer = reference.strip_prefix('#')?;
        let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&pointer).cloned()
    }

    /// A flattened schema.
    fn said(&mut self, mut said: Said, depth: usize) -> Result<Node, Irreducible> {
        let branches = take_branches(&mut said);
        if said.contains_key("properties") {
            self.absorb(&mut said, &branches, depth)?;
        } else if !branches.is_empty() {
            return self.union(&said, &branches, depth);
        }
        let mut nodes = Vec::new();
        let kinds = kinds(&said)?;
        for kind in &kinds {
            nodes.push(self.node(&said, *kind, depth)?);
        }
        let none_named = kinds.is_empty() && !may_be_null(&said);
        let node = match nodes.pop() {
            Some(only) if nodes.is_empty() => return Ok(only),
            Some(last) => Node { alternatives: [nodes, vec![last]].concat(), ..Node::default() },
            None if none_named => Node::any(),
            None => Node::default(),
        };
        Ok(Node { nullable: may_be_null(&said), ..labelled(node, &said) })
    }

    /// `anyOf`, where nothing but the alternatives says what the members are.
    fn union(&mut self, said: &Said, branches: &[Value], depth: usize) -> Result<Node, Irreducible> {
        let mut nullable = may_be_null(said);
        let mut alternatives: Vec<Node> = Vec::new();
        for branch in branches {
            let before = self.inside.len();
            let Value::Object(branch) = branch else { continue };
            let mut branch = self.flatten(branch, depth + 1)?;
            if is_only_null(&branch) {
                nullable = true;
                continue;
            }
            let labels = ["title", "description", "default"];
            let common = said.iter().filter(|(word, _)| !labels.contains(&word.as_str()));
            both(&mut branch, common.map(|(word, value)| (word.clone(), value.clone())).collect());
            let node = self.said(branch, depth + 1)?;
            self.inside.truncate(before);
            nullable |= node.nullable;
            let inner = if node.alternatives.is_empty() {
                vec![node]
            } else {
                node.alternatives.iter().map(|one| node.alternative(one)).collect()
            };
            for one in inner {
                let one = Node { nullable: false, ..one };
                if !alternatives.contains(&one) {
                    alternatives.push(one);
                }
            }
        }
        let node = match alternatives.pop() {
            Some(only) if alternatives.is_empty() => {
                let label = |word: &str, own: Option<String>| own.or_else(|| text(said, word));
                let (title, description) = (only.title.clone(), only.description.clone());
                let (title, description) = (label("title", title), label("description", description));
                return Ok(Node { nullable, title, description, ..only });
            }
            Some(last) => Node { alternatives: [alternatives, vec![last]].concat(), ..Node::default() },
            None => Node::default(),
        };
        Ok(Node { nullable, ..labelled(node, said) })
    }

    /// The alternatives of an object as one: every property, and what all of them require.
    fn absorb(&mut self, said: &mut Said, branches: &[Value], depth: usize) -> Result<(), Irreducible> {
        let mut required_by_all: Option<Vec<Value>> = None;
        for branch in branches {
            let Value::Object(branch) = branch else { continue };
            let mut branch = self.flatten(branch, depth + 1)?;
            let inner = take_branches(&mut branch);
            if !inner.is_empty() {
                self.absorb(&mut branch, &inner, depth + 1)?;
            }
            if is_only_null(&branch) {
                continue;
            }
            let required = list(&branch, "required").to_vec();
            required_by_all = Some(match required_by_all {
                Some(all) => all.into_iter().filter(|name| required.contains(name)).collect(),
                None => required,
            });
            let properties =
                branch.shift_remove("properties").map(|members| ("properties".to_owned(), members));
            both(said, properties.into_iter().collect());
        }
        let required = required_by_all.map(|names| ("required".to_owned(), Value::Array(names)));
        both(said, required.into_iter().collect());
        Ok(())
    }

    /// A schema of one type.
    fn node(&mut self, said: &Said, kind: Kind, depth: usize) -> Result<Node, Irreducible> {
        let mut node = labelled(Node { nullable: may_be_null(said), ..Node::of(kind) }, said);
        node.format = format(kind, said);
        node.default = said.get("default").filter(|value| fits(kind, value) && is_plain(value)).cloned();
        choices(&mut node, said);
        match kind {
            Kind::String => {
                node.pattern = text(said, "pattern");
                node.limits = limits(said, &["minLength", "maxLength"], whole);
            }
            Kind::Number | Kind::Integer => {
                node.limits = limits(said, &["minimum", "maximum"], |value| value.as_number().cloned());
            }
            Kind::Array => {
                node.limits = limits(said, &["minItems", "maxItems"], whole);
                node.items = Some(Box::new(self.items(said, depth)?));
            }
            Kind::Object => node.properties = self.properties(said, depth)?,
            Kind::Boolean => {}
        }
        Ok(node)
    }

    /// The members of an array: those of a tuple together, text where nothing is said.
    fn items(&mut self, said: &Said, depth: usize) -> Result<Node, Irreducible> {
        let tuple = [list(said, "prefixItems"), list(said, "items")].concat();
        if !tuple.is_empty() {
            let rest = said.get("items").filter(|items| items.is_object());
            let all: Vec<Value> = tuple.into_iter().chain(rest.cloned()).collect();
            return self.union(&Said::new(), &all, depth + 1);
        }
        match said.get("items") {
            Some(items @ Value::Object(_)) => self.reduce(items, depth + 1),
            _ => Ok(Node::default()),
        }
    }

    fn properties(&mut self, said: &Said, depth: usize) -> Result<Vec<Property>, Irreducible> {
        let Some(Value::Object(members)) = said.get("properties") else { return Ok(Vec::new()) };
        let members: Vec<_> = members.iter().filter(|(_, schema)| **schema != Value::Bool(false)).collect();
        let wires = names::legal(members.iter().map(|(name, _)| name.as_str()));
        let required = list(said, "required");
        let property = |((name, schema), wire): (&(&String, &Value), String)| {
            let (original, node) = ((*name).clone(), self.reduce(schema, depth + 1)?);
            let is_required = required.iter().any(|one| one.as_str() == Some(name.as_str()));
            Ok(Property { original, wire, is_required, node })
        };
        members.iter().zip(wires).map(property).collect()
    }
}

/// `said` and `more` at once. Where only one can be kept, `said` is.
fn both(said: &mut Said, more: Said) {
    for (word, value) in more {
        match (word.as_str(), said.get_mut(&word), value) {
            ("properties", Some(Value::Object(own)), Value::Object(others)) => {
                for (name, other) in others {
                    match own.get_mut(&name) {
                        Some(one) if *one != other => {
                            let two = vec![one.take(), other];
                            *one = Value::Object(Said::from_iter([("allOf".to_owned(), two.into())]));
                        }
                        Some(_) => {}
                        None => {
                            own.insert(name, other);
                        }
                    }
                }
            }
            ("required", Some(Value::Array(own)), Value::Array(others)) => {
                let new: Vec<Value> = others.into_iter().filter(|name| !own.contains(name)).collect();
                own.extend(new);
            }
            (_, Some(_), _) => {}
            (_, None, value) => {
                said.insert(word, value);
            }
        }
    }
}

/// The alternatives of a schema, taken out of it.
fn take_branches(said: &mut Said) -> Vec<Value> {
    let found = ["anyOf", "oneOf"].map(|word| said.shift_remove(word));
    let mut lists = found.into_iter().filter_map(|found| match found {
        Some(Value::Array(branches)) if !branches.is_empty() => Some(branches),
        _ => None,
    });
    lists.next().unwrap_or_default()
}

/// The types that a schema names or implies; none if any fits.
fn kinds(said: &Said) -> Result<Vec<Kind>, Irreducible> {
    let mut kinds = Vec::new();
    let mut add = |kind: Kind| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    let kind = |word: &str| match word {
        "string" => Ok(Some(Kind::String)),
        "number" => Ok(Some(Kind::Number)),
        "integer" => Ok(Some(Kind::Integer)),
        "boolean" => Ok(Some(Kind::Boolean)),
        "array" => Ok(Some(Kind::Array)),
        "object" => Ok(Some(Kind::Object)),
        "null" => Ok(None),
        _ => Err(Irreducible),
    };
    match said.get("type") {
        Some(Value::String(word)) => kind(word)?.into_iter().for_each(&mut add),
        Some(Value::Array(words)) => {
            for word in words {
                kind(word.as_str().ok_or(Irreducible)?)?.into_iter().for_each(&mut add);
            }
        }
        Some(_) => return Err(Irreducible),
        None => {
            values(said).iter().filter_map(kind_of).for_each(&mut add);
            let implied = IMPLIED.iter().find(|(words, _)| words.iter().any(|word| said.contains_key(*word)));
            if let Some((_, kind)) = implied.filter(|_| values(said).is_empty()) {
                add(*kind);
            }
        }
    }
    Ok(kinds)
}

/// Words that say something of one type only.
const IMPLIED: [(&[&str], Kind); 4] = [
    (&["properties", "required", "additionalProperties", "patternProperties"], Kind::Object),
    (&["items", "prefixItems", "minItems", "maxItems", "uniqueItems"], Kind::Array),
    (&["pattern", "minLength", "maxLength", "format"], Kind::String),
    (&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], Kind::Number),
];

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(Kind::Boolean),
        Value::Number(number) if number.is_f64() => Some(Kind::Number),
        Value::Number(_) => Some(Kind::Integer),
        Value::String(_) => Some(Kind::String),
        Value::Array(_) => Some(Kind::Array),
        Value::Object(_) => Some(Kind::Object),
    }
}

fn fits(kind: Kind, value: &Value) -> bool {
    kind_of(value).is_some_and(|of| of == kind || (of, kind) == (Kind::Integer, Kind::Number))
}

/// Whether a value has no members, whose names might have changed.
fn is_plain(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// The values that are allowed, if they are listed.
fn values(said: &Said) -> Vec<Value> {
    said.get("const").map_or_else(|| list(said, "enum").to_vec(), |only| vec![only.clone()])
}

fn may_be_null(said: &Said) -> bool {
    let is_word = |value: &Value| value == "null";
    said.get("nullable") == Some(&Value::Bool(true))
        || said.get("type").is_some_and(is_word)
        || list(said, "type").iter().any(is_word)
        || values(said).contains(&Value::Null)
}

fn is_only_null(said: &Said) -> bool {
    said.get("type").is_some_and(|kind| kind == "null") || values(said) == [Value::Null]
}

/// Listed values: texts as `enum`; of any other type, which cannot be listed, in the description.
fn choices(node: &mut Node, said: &Said) {
    let values: Vec<Value> = values(said).into_iter().filter(|value| fits(node.kind, value)).collect();
    let texts = values.iter().filter_map(Value::as_str);
    if node.kind == Kind::String && values.iter().all(|value| value != "") {
        for text in texts {
            if !node.choices.iter().any(|choice| choice == text) {
                node.choices.push(text.to_owned());
            }
        }
    } else if !values.is_empty() {
        let listed: Vec<String> = values.iter().map(Value::to_string).collect();
        let listed = format!("One of: {}.", listed.join(", "));
        if listed.len() <= LISTED_BYTES {
            let before = node.description.take().map(|text| format!("{text} ")).unwrap_or_default();
            node.description = Some(before + &listed);
        }
    }
}

fn format(kind: Kind, said: &Said) -> Option<&'static str> {
    let known: &[&'static str] = match kind {
        Kind::String => &["date-time"],
        Kind::Number => &["float", "double"],
        Kind::Integer => &["int32", "int64"],
        Kind::Boolean | Kind::Array | Kind::Object => &[],
    };
    let format = said.get("format")?.as_str()?;
    known.iter().find(|known| **known == format).copied()
}

fn limits(
    said: &Said,
    words: &[&'static str],
    read: fn(&Value) -> Option<Number>,
) -> Vec<(&'static str, Number)> {
    words.iter().filter_map(|word| Some((*word, read(said.get(*word)?)?))).collect()
}

/// A number of things.
fn whole(value: &Value) -> Option<Number> {
    value.as_i64().filter(|number| *number >= 0).map(Number::from)
}

fn labelled(node: Node, said: &Said) -> Node {
    Node { title: text(said, "title"), description: text(said, "description"), ..node }
}

fn text(said: &Said, word: &str) -> Option<String> {
    said.get(word)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn list<'a>(said: &'a Said, word: &str) -> &'a [Value] {
    said.get(word).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
