//! What checking a value against a schema may cost at most: known before the schema is compiled.
//!
//! A schema of a few lines can ask for 2^28 evaluations: definitions that each apply the next one twice, or a
//! recursion that enters the same value twice. Such schemas are refused here. Never looks at an input.
//!
//! The cost is the most work for *any single value* of an input, so a check takes at most `cost * size of the input`.
//! Subschemas for the same value (`allOf`, `$ref`...) add up. Those for different values (`properties`, `items`...)
//! do not, except the ones that may overlap with them (`patternProperties`...).
//!
//! Recursion stays linear when every value is entered by one recursive subschema at most: all subschemas for the same
//! value may together lead into recursion from one group of object keywords and one group of array keywords.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::schema_parts::{Cost, Parts, Place, SchemaId, no_other_names, schema_id};

/// Subschemas that are reached, each counted once.
const SCHEMAS: usize = 10_000;
/// Most checks of one value.
const CHECKS: u64 = 10_000;
/// Most units of regular expressions: for one string, and all together since each takes 8 KiB of memory.
const PATTERNS: u64 = 1_000;
/// Deepest nesting with every `$ref` followed. Bounds the stack.
const DEPTH: usize = 128;
/// Most subschemas in one another for the same value in a recursion. Bounds the stack together with the depth of
/// inputs: 8 took less than 512 KiB of it.
const CHAIN: usize = 8;
/// `unevaluated*` evaluates everything beside it up to three times more, at every level anew.
const UNEVALUATED: u64 = 4;

const TOO_LARGE: &str =
    "the schema is too large with its `$ref`s followed; repeat and combine fewer subschemas";
const TOO_DEEP: &str = "the schema is nested too deep with its `$ref`s followed; make it flatter";
const ENDLESS: &str = "the schema refers to itself for the same value; refer to itself only below `properties`, \
                       `additionalProperties`, `items` or `prefixItems`";
const BRANCHING: &str = "the schema refers to itself in several subschemas for the same value; do so in only one of \
                         them, below `properties`, `additionalProperties`, `items` or `prefixItems`";

/// The cost of a schema, or what to change in it.
pub(crate) fn cost(root: &Value) -> Result<Cost, String> {
    let mut survey =
        Survey { root, found: HashMap::new(), order: Vec::new(), path: HashSet::new(), patterns: 0 };
    let recursive = survey.visit(root)?.recursive;
    no_other_names(root, survey.found.values().any(|found| found.parts.refers))?;
    let unevaluated = survey.found.values().any(|found| found.parts.unevaluated);
    let factor = if unevaluated { UNEVALUATED } else { 1 };
    let mut weighing = Weighing { found: &survey.found, done: HashMap::new(), path: HashSet::new(), factor };
    let mut most = Cost::default();
    for schema in &survey.order {
        most = most.max(weighing.load(*schema)?.cost);
    }
    if recursive {
        // At every level the recursion may leave subschemas that reach so many levels further down.
        let finite = survey.found.values().filter(|found| !found.reach.recursive);
        let levels = finite.map(|found| found.reach.height + 1).max().unwrap_or(0);
        most = most.times(levels as u64 + 1);
    }
    if most.checks > CHECKS || most.patterns > PATTERNS { Err(TOO_LARGE.to_owned()) } else { Ok(most) }
}

/// Where a schema leads.
#[derive(Clone, Copy, Default)]
struct Reach {
    /// Into a cycle of `$ref`s.
    recursive: bool,
    /// Subschemas in one another below it, cycles cut.
    height: usize,
}

struct Found<'a> {
    parts: Parts<'a>,
    reach: Reach,
}

/// Finds every schema that can be applied. Its depth bounds the stack of this and of compiling.
struct Survey<'a> {
    root: &'a Value,
    found: HashMap<SchemaId, Found<'a>>,
    order: Vec<SchemaId>,
    path: HashSet<SchemaId>,
    patterns: u64,
}

impl<'a> Survey<'a> {
    fn visit(&mut self, schema: &'a Value) -> Result<Reach, String> {
        let id = schema_id(schema);
        if self.path.contains(&id) {
            return Ok(Reach { recursive: true, height: 0 });
        }
        if let Some(found) = self.found.get(&id) {
            let deep = self.path.len() + found.reach.height >= DEPTH;
            return if deep { Err(TOO_DEEP.to_owned()) } else { Ok(found.reach) };
        }
        if self.path.len() >= DEPTH {
            return Err(TOO_DEEP.to_owned());
        }
        let parts = Parts::of(schema, self.root)?;
        self.patterns = self.patterns.saturating_add(parts.own.plus(parts.each).patterns);
        if self.found.len() + self.path.len() >= SCHEMAS || self.patterns > PATTERNS {
            return Err(TOO_LARGE.to_owned());
        }
        self.path.insert(id);
        let mut reach = Reach::default();
        for (_, to) in &parts.list {
            let below = self.visit(to)?;
            reach.recursive |= below.recursive;
            reach.height = reach.height.max(below.height + 1);
        }
        self.path.remove(&id);
        self.order.push(id);
        self.found.insert(id, Found { parts, reach });
        Ok(reach)
    }
}

/// What a schema asks of one value and of those below it, as far as the next recursive schema below.
#[derive(Clone, Copy, Default)]
struct Load {
    cost: Cost,
    /// Ways into recursion for the members of an object.
    members: u64,
    /// Ways into recursion for the elements of an array.
    elements: u64,
    /// Recursive schemas in one another for the same value.
    chain: usize,
}

struct Weighing<'s, 'a> {
    found: &'s HashMap<SchemaId, Found<'a>>,
    done: HashMap<SchemaId, Load>,
    path: HashSet<SchemaId>,
    factor: u64,
}

impl Weighing<'_, '_> {
    fn load(&mut self, id: SchemaId) -> Result<Load, String> {
        if let Some(load) = self.done.get(&id) {
            return Ok(*load);
        }
        let Some(Found { parts, .. }) = self.found.get(&id) else { return Ok(Load::default()) };
        if !self.path.insert(id) {
            return Err(ENDLESS.to_owned());
        }
        if self.path.len() > DEPTH + CHAIN {
            return Err(TOO_DEEP.to_owned());
        }
        let (mut same, mut below, mut each) = (Load::default(), Cost::default(), parts.each);
        let (mut members, mut elements) = (0, 0);
        let twice = if parts.unevaluated { 2 } else { 1 };
        for (place, to) in &parts.list {
            let to = schema_id(to);
            let recursive = self.found.get(&to).is_some_and(|found| found.reach.recursive);
            match (place, recursive) {
                (Place::Same, _) => {
                    let load = self.load(to)?;
                    same.cost = same.cost.plus(load.cost);
                    same.members += load.members * twice;
                    same.elements += load.elements * twice;
                    same.chain = same.chain.max(if recursive { load.chain + 1 } else { 0 });
                }
                (Place::Member, true) => members = 1,
                (Place::Element, true) => elements = 1,
                (Place::Overlap, true) => return Err(BRANCHING.to_owned()),
                (Place::Member | Place::Element, false) => below = below.max(self.load(to)?.cost),
                (Place::Overlap, false) => each = each.plus(self.load(to)?.cost),
            }
        }
        self.path.remove(&id);
        let (members, elements) = (same.members + members, same.elements + elements);
        if members > 1 || elements > 1 {
            return Err(BRANCHING.to_owned());
        }
        if same.chain > CHAIN {
            return Err(TOO_DEEP.to_owned());
        }
        let (own, below) = (parts.own.times(self.factor), below.plus(each.times(self.factor)));
        let cost = own.max(below).plus(same.cost.times(self.factor));
        let load = Load { cost, members, elements, chain: same.chain };
        self.done.insert(id, load);
        Ok(load)
    }
}
