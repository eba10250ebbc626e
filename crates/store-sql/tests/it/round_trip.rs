//! What goes in comes out, whatever the texts and JSON in it.

use domain::{Annotations, Door, Execution, Mode, Part, Policy, Skill, SourceProvider, Status, Version};
use proptest::prelude::*;
use serde_json::Value;
use store::Store as _;
use store_sql::SqliteStore;

/// Fractions are of two, so that their decimal form is exact.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 16.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn option() -> impl Strategy<Value = Option<String>> {
    prop::option::of(any::<String>())
}

/// Numbers that `SQLite` can hold.
fn number() -> impl Strategy<Value = u64> {
    0..=i64::MAX.unsigned_abs()
}

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(vec![Mode::On, Mode::Off, Mode::Auto])
}

fn version() -> impl Strategy<Value = Version> {
    any::<(u64, u64, u64)>().prop_map(|(major, minor, patch)| Version::new(major, minor, patch))
}

fn annotations() -> impl Strategy<Value = Annotations> {
    any::<[bool; 4]>().prop_map(|[read_only, idempotent, destructive, open_world]| Annotations {
        read_only,
        idempotent,
        destructive,
        open_world,
    })
}

fn skill() -> impl Strategy<Value = Skill> {
    let policy = prop::sample::select(vec![Policy::Auto, Policy::Manual, Policy::Hybrid]);
    let source = prop::sample::select(vec![
        SourceProvider::Builtin,
        SourceProvider::SkillsMp,
        SourceProvider::SkillsSh,
        SourceProvider::Local,
    ]);
    let name = any::<String>().prop_filter("a legal name", |name| domain::skill::check_name(name).is_ok());
    let identity = (any::<String>(), any::<String>(), name, version());
    let definition = (any::<String>(), json(), any::<String>(), annotations(), any::<Vec<String>>());
    let switches = (mode(), policy, any::<bool>(), prop::option::of(mode()));
    let limits = (prop::option::of(number()), any::<Option<u32>>(), number());
    let origin = (source, option(), option(), any::<String>(), any::<String>());
    (identity, definition, switches, limits, origin).prop_map(
        |(identity, definition, switches, limits, origin)| Skill {
            id: identity.0,
            api_key_id: identity.1,
            name: identity.2,
            version: identity.3,
            description: definition.0,
            schema: definition.1,
            handler: definition.2,
            annotations: definition.3,
            tags: definition.4,
            mode: switches.0,
            policy: switches.1,
            enabled: switches.2,
            mode_before: switches.3,
            timeout_ms: limits.0,
            max_retries: limits.1,
            install_count: limits.2,
            source_provider: origin.0,
            source_url: origin.1,
            content_sha256: origin.2,
            created_at: origin.3,
            updated_at: origin.4,
        },
    )
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(|text| Part::Text { text }),
        any::<(String, String)>().prop_map(|(mime, data)| Part::Image { mime, data }),
        any::<(String, String, String)>().prop_map(|(name, mime, data)| Part::File { name, mime, data }),
    ]
}

fn execution() -> impl Strategy<Value = Execution> {
    let identity = (any::<String>(), any::<String>(), any::<String>(), version(), any::<String>());
    let origin = (option(), option(), option(), prop::sample::select(vec![Door::Loop, Door::Rest]));
    let payload = (json(), prop::option::of(json()), prop::collection::vec(part(), 0..3));
    let end =
        (prop::sample::select(Status::ALL.to_vec()), option(), prop::option::of(number()), any::<u32>());
    let place = (option(), option(), any::<u32>());
    (identity, origin, payload, end, place).prop_map(|(identity, origin, payload, end, place)| Execution {
        id: identity.0,
        skill_id: identity.1,
        skill_name: identity.2,
        version: identity.3,
        api_key_id: identity.4,
        user: origin.0,
        session_id: origin.1,
        turn_id: origin.2,
        door: origin.3,
        input: payload.0,
        output: payload.1,
        parts: payload.2,
        status: end.0,
        error_message: end.1,
        duration_ms: end.2,
        attempts: end.3,
        engine: place.0,
        isolation: place.1,
        approval: None,
        created_at: jiff::Timestamp::from_second(i64::from(place.2)).unwrap().to_string(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_skill_survives(skill in skill()) {
        let (_folder, path) = crate::folder();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(&path).unwrap();
            let stored = store.insert_skill(skill.clone(), false).await.unwrap();
            prop_assert_eq!(&stored, &skill);
            prop_assert_eq!(store.load_skills().await.unwrap().skills, vec![skill]);
            Ok(())
        })?;
    }

    #[test]
    fn every_execution_survives(executions in prop::collection::vec(execution(), 1..8)) {
        let (_folder, path) = crate::folder();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(&path).unwrap();
            for (n, mut execution) in executions.into_iter().enumerate() {
                execution.id.push_str(&n.to_string());
                store.create_execution(&execution).await.unwrap();
                prop_assert_eq!(store.execution(&execution.id).await.unwrap(), Some(execution));
            }
            Ok(())
        })?;
    }
}
