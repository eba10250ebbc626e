//! `/api/settings`: what holds at once and is kept in the database, with where each value comes from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::audit::{self, Actor, Change};
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Object};
use crate::openapi::schema::{Schema, flag, map, object, text, whole, word};
use crate::openapi::{Operation, Shape, Tag};
use crate::settings::{self, Definition, Kind, Source};

/// Longest secret, in characters.
const SECRET_CHARS: usize = 1000;
/// Words for where a value comes from.
const SOURCES: &[&str] = &["default", "database", "file", "environment"];

const SETTINGS: Shape = Shape::new("Settings", || {
    let source = object()
        .with("source", word(SOURCES))
        .with(
            "pinned",
            flag().about("Whether the file or the environment says it; then it cannot be changed here."),
        )
        .maybe("name", text().about("The file or the variable."));
    members(false).with("sources", map(source).about("By the setting's path, such as `executor.timeoutMs`."))
});

/// Every setting in its object: as they are shown, or as they may be sent.
fn members(sent: bool) -> Schema {
    let put = |parent: Schema, name: &str, schema| {
        if sent { parent.maybe(name, schema) } else { parent.with(name, schema) }
    };
    let of_group = |parent: Schema, group: &str| {
        let here = Definition::ALL.iter().filter(|definition| definition.place().0 == group);
        here.fold(parent, |parent, definition| {
            let name = definition.place().1;
            match &definition.kind {
                Kind::Secret if !sent => {
                    put(parent, &format!("{name}Set"), flag().about("Whether there is one."))
                }
                kind => put(parent, name, schema(kind, sent).about(definition.doc)),
            }
        })
    };
    let close = |schema: Schema| if sent { schema.members_at_least(1).closed() } else { schema };
    let whole = of_group(object(), "");
    groups().into_iter().fold(whole, |whole, group| put(whole, group, close(of_group(object(), group))))
}

fn schema(kind: &Kind, sent: bool) -> Schema {
    let schema = match kind {
        Kind::Flag(_) => flag(),
        Kind::Whole(range, _) => whole(range.clone()),
        Kind::Word(words) => word(words),
        Kind::Secret => text().length(1, SECRET_CHARS),
    };
    if sent { schema.or_null() } else { schema }
}

/// Names of the inner objects, in order.
fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = Definition::ALL.iter().map(|definition| definition.place().0).collect();
    groups.retain(|group| !group.is_empty());
    groups.dedup();
    groups
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Settings, "getSettings", "The settings").gives(SETTINGS.refer())
}

/// `GET /api/settings`.
pub(crate) async fn get(State(app): State<Arc<App>>) -> Json<Value> {
    Json(shown(&app))
}

pub(crate) fn change_doc() -> Operation {
    Operation::new(Tag::Settings, "changeSettings", "Change settings")
        .about(
            "They hold at once; what is left out stays, and `null` takes a value back. What the file or the environment \
             says cannot be changed here.",
        )
        .body(members(true).members_at_least(1).closed())
        .example(json!({"selection": {"autoMaxSkills": 5}}))
        .gives(SETTINGS.refer())
        .errors(&[Code::SettingPinned])
}

/// `PATCH /api/settings`: everything that is sent, or nothing.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    actor: Actor,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body);
    let mut changes = read(&mut body, "");
    for group in groups() {
        changes.extend(body.object(group, |inner| read(inner, group)).unwrap_or_default());
    }
    body.finish()?;
    if changes.is_empty() {
        return Err(ApiError::new(Code::InvalidField, "nothing to change; send a setting"));
    }
    let _changing = app.settings.lock().await;
    for (definition, _) in &changes {
        pinned(definition, &app.settings.get(definition.name).1)?;
    }
    let names: Vec<_> = changes.iter().map(|(definition, _)| definition.name).collect();
    let before = some(&app, &names);
    settings::write(&app, changes).await?;
    tracing::info!(settings = names.join(", "), by = actor.name(), "settings were changed");
    let change = Change::new("settings.update", "settings").from(&before).to(&some(&app, &names));
    audit::write(&app, actor, change).await?;
    Ok(Json(shown(&app)))
}

/// Takes the settings of one object out of it.
fn read(fields: &mut Fields, group: &str) -> Vec<(&'static Definition, Option<Value>)> {
    let here = Definition::ALL.iter().filter(|definition| definition.place().0 == group);
    here.filter_map(|definition| {
        let name = definition.place().1;
        if fields.is_null(name) {
            fields.value(name);
            return Some((definition, None));
        }
        let value = match &definition.kind {
            Kind::Flag(_) => fields.flag(name).map(Value::from),
            Kind::Whole(range, _) => fields.whole(name, range.clone()).map(Value::from),
            Kind::Word(words) => fields
                .word(name, words, |text| words.contains(&text).then(|| text.to_owned()))
                .map(Value::from),
            Kind::Secret => {
                let fits = |text: &str| match text.trim().chars().count() {
                    1..=SECRET_CHARS => Ok(text.trim().to_owned()),
                    _ => Err(format!("has to have 1 to {SECRET_CHARS} characters")),
                };
                fields.parsed(name, fits).map(Value::from)
            }
        };
        value.map(|value| (definition, Some(value)))
    })
    .collect()
}

fn pinned(definition: &Definition, source: &Source) -> Result<(), ApiError> {
    let from = match source {
        Source::File(name) => format!("the file {name}"),
        Source::Environment(name) => format!("the environment variable {name}"),
        Source::Default | Source::Database => return Ok(()),
    };
    let message = format!("is set by {from}; change it there and reload");
    Err(ApiError::field(Code::SettingPinned, definition.name, &message))
}

fn shown(app: &App) -> Value {
    let mut whole = Map::new();
    let mut sources = Map::new();
    for definition in Definition::ALL {
        let (value, source) = app.settings.get(definition.name);
        let (group, name) = definition.place();
        let (name, value) = match definition.kind {
            Kind::Secret => (format!("{name}Set"), Value::Bool(!value.is_null())),
            _ => (name.to_owned(), value),
        };
        if group.is_empty() {
            whole.insert(name, value);
        } else if let Value::Object(inner) = whole.entry(group).or_insert_with(|| Value::Object(Map::new())) {
            inner.insert(name, value);
        }
        let mut about = json!({"source": source.as_str(), "pinned": source.is_pinned()});
        if let (Some(place), Value::Object(about)) = (source.name(), &mut about) {
            about.insert("name".to_owned(), place.into());
        }
        sources.insert(definition.name.to_owned(), about);
    }
    whole.insert("sources".to_owned(), Value::Object(sources));
    Value::Object(whole)
}

/// Some of them, for the audit table: secrets only as whether they are there.
fn some(app: &App, names: &[&str]) -> Value {
    let secret = |name: &str| {
        Definition::ALL
            .iter()
            .any(|definition| definition.name == name && matches!(definition.kind, Kind::Secret))
    };
    let pair = |name: &&str| {
        let value = app.settings.get(name).0;
        let value = if secret(name) { Value::Bool(!value.is_null()) } else { value };
        ((*name).to_owned(), value)
    };
    Value::Object(names.iter().map(pair).collect())
}
