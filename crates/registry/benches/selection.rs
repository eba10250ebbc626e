//! What a selection costs: a request of 200 words against 1,000 and 100,000 skills.

use std::collections::{BTreeMap, BTreeSet};

use domain::scoring::Context;
use domain::{Annotations, Mode, Policy, Skill, SourceProvider, Version};
use registry::{Known, SelectRequest, Snapshot};
use store::LoadedSkills;

fn main() {
    divan::main();
}

/// A word out of `many`, spread by a multiplicative hash.
fn word(seed: usize, many: usize) -> String {
    format!("word{}", seed.wrapping_mul(2_654_435_761) % many)
}

/// Three-word names, four of 5,000 tags, descriptions of 20 words.
fn snapshot(skills: usize) -> Snapshot {
    let skill = |n: usize| Skill {
        id: format!("{n:08}"),
        api_key_id: "system".to_owned(),
        name: format!("{}-{}-{n}", word(n, 20_000), word(n + 7, 20_000)),
        version: Version::new(1, 0, 0),
        description: (0..20).map(|k| word(n * 20 + k, 50_000)).collect::<Vec<_>>().join(" "),
        schema: serde_json::json!({"input": {"text": "string"}}),
        handler: "echo-handler".to_owned(),
        mode: Mode::Auto,
        policy: Policy::Auto,
        enabled: true,
        mode_before: None,
        timeout_ms: None,
        max_retries: None,
        annotations: Annotations::default(),
        source_provider: SourceProvider::Local,
        source_url: None,
        content_sha256: None,
        tags: (0..4).map(|k| format!("tag{}", word(n * 4 + k, 5_000))).collect(),
        install_count: 0,
        created_at: String::new(),
        updated_at: String::new(),
    };
    let known = Known { handlers: BTreeSet::from(["echo-handler".to_owned()]), builtins: BTreeMap::new() };
    let loaded = LoadedSkills { skills: (0..skills).map(skill).collect(), ..LoadedSkills::default() };
    Snapshot::build(loaded, &known, None).unwrap_or_default()
}

fn context_text() -> String {
    (0..200).map(|n| word(n * 31, 50_000)).collect::<Vec<_>>().join(" ")
}

#[divan::bench(args = [1_000, 100_000], sample_count = 50)]
fn select(bencher: divan::Bencher<'_, '_>, skills: usize) {
    let snapshot = snapshot(skills);
    let request = SelectRequest::new("alice", Context::new(&context_text(), "", "openai gpt"));
    bencher.bench(|| snapshot.select(divan::black_box(&request)));
}

#[divan::bench(sample_count = 50)]
fn context() -> Context {
    Context::new(divan::black_box(&context_text()), "", "openai gpt")
}

#[divan::bench(args = [1_000, 100_000], sample_count = 3)]
fn build(bencher: divan::Bencher<'_, '_>, skills: usize) {
    bencher.bench(|| snapshot(skills));
}
