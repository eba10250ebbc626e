//! Every setting, once: one TOML file, then the environment on top of it. One section is one file here.
//!
//! A key that we do not know is an error, never ignored. Nothing else in the program reads the environment.

mod approval;
mod check;
mod demo;
mod environment;
mod executor;
mod history;
mod limits;
mod load;
mod reference;
mod section;
mod selection;
mod server;
mod skills;
mod source;
mod store;
mod turn;
mod upstreams;
mod usage;

use std::collections::BTreeMap;

use domain::Policy;
use serde::{Deserialize, Serialize};

pub(crate) use approval::{Approval, EffectFree};
pub(crate) use demo::Demo;
pub(crate) use environment::Environment;
pub(crate) use executor::Executor;
pub(crate) use history::History;
pub(crate) use limits::Limits;
pub(crate) use load::{Loaded, data_dir, load};
pub(crate) use reference::markdown;
pub(crate) use selection::{Selection, WithClientTools};
pub(crate) use server::{Server, Tls};
pub(crate) use skills::Skills;
pub(crate) use source::{Change, Source, changes};
pub(crate) use store::{Store, Synchronous};
pub(crate) use turn::{Memory, Turn};
pub(crate) use upstreams::{OneOrMany, Upstream};
pub(crate) use usage::{Usage, UsageInput};

use section::Section;

/// The configuration file, with a default for everything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) skills: Skills,
    pub(crate) selection: Selection,
    pub(crate) turn: Turn,
    pub(crate) approval: Approval,
    pub(crate) policy: BTreeMap<String, Policy>,
    pub(crate) usage: Usage,
    pub(crate) executor: Executor,
    pub(crate) history: History,
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    pub(crate) demo: Demo,
    pub(crate) upstreams: Vec<Upstream>,
}

/// Every section, in the order of the reference.
pub(crate) fn sections() -> Vec<Section> {
    vec![
        Section::table("server", "Where the gateway listens and whom it answers.", Server::rows()),
        Section::table("skills", "The master switch, and where skills are looked for.", Skills::rows()),
        Section::table("selection", "Which skills are offered with a request.", Selection::rows()),
        Section::table("turn", "Bounds of one turn, and what is remembered of it.", Turn::rows()),
        Section::table("approval", "When a person is asked, and how long one waits.", Approval::rows()),
        Section::free(
            "policy",
            "Policies of skills by name (`eval_code = \"hybrid\"`): `auto`, `hybrid` or `manual`, in place of the skills' \
             own. Those of an API key come before these.",
        ),
        Section::table("usage", "What an answer reports about tokens.", Usage::rows()),
        Section::table("executor", "Bounds of every run of a skill.", Executor::rows()),
        Section::table("history", "What is kept of runs, and for how long.", History::rows()),
        Section::table("store", "How durable what is written is.", Store::rows()),
        Section::table("limits", "Bounds of the built-in skills.", Limits::rows()),
        Section::table("demo", "The built-in stand-in for a model.", Demo::rows()),
        Section::list("upstreams", "Where models are asked, one entry for each.", Upstream::rows()),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ::server as server_crate;

    use super::*;

    #[test]
    fn every_section_is_in_the_table() {
        let whole = toml::Table::try_from(Config::default()).unwrap();
        let fields: BTreeSet<_> = whole.keys().map(String::as_str).collect();
        let known: BTreeSet<_> = sections().iter().map(|section| section.name).collect();
        assert_eq!(fields, known);
    }

    #[test]
    fn what_rest_can_change_is_bounded_as_in_the_file() {
        for definition in server_crate::Definition::ALL {
            let (section, key) = definition.path.split_once('.').unwrap();
            let sections = sections();
            let section = sections.iter().find(|known| known.name == section).unwrap();
            let row = section.rows.iter().find(|row| row.key == key).unwrap();
            assert_eq!(row.when, section::When::Live, "{}", definition.name);
            let default =
                row.default.clone().map_or(serde_json::Value::Null, |v| serde_json::to_value(v).unwrap());
            assert_eq!(default, definition.kind.default(), "{}", definition.name);
            if let server_crate::Kind::Whole(range, _) = &definition.kind {
                let bounds = (i64::try_from(*range.start()).unwrap(), i64::try_from(*range.end()).unwrap());
                assert_eq!(row.bounds, Some(bounds), "{}", definition.name);
            }
        }
    }

    #[test]
    fn everything_has_a_default() {
        let config = Config::default();
        assert_eq!(config.server.port, 20128);
        assert!(config.server.host.is_loopback() && config.demo.enabled);
        assert_eq!(toml::from_str::<Config>("").unwrap(), config);
    }
}
