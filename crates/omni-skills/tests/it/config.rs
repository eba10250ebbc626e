//! Configurations that change under a running gateway, and those that are wrong.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::fake_upstream::FakeUpstream;
use testkit::gateway::Gateway;
use testkit::script::{Round, Script};

use crate::client::{self, body};
use crate::program::{ask, program};

/// Longest wait for something to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn entry(upstream: &FakeUpstream) -> String {
    format!(
        "[[upstreams]]\nname = 'fake'\ndialect = 'openai_chat'\nbase_url = '{}'\npassthrough = false\n",
        upstream.base_url()
    )
}

fn gateway(config: &str) -> Gateway {
    Gateway::start(Path::new(env!("CARGO_BIN_EXE_omni-skills")), config)
}

fn write(gateway: &Gateway, config: &str) {
    std::fs::write(gateway.data_dir().join("omni-skills.toml"), config).unwrap();
}

fn hang_up(gateway: &Gateway) {
    let pid = Pid::from_raw(gateway.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
}

async fn answer(gateway: &Gateway) -> (u16, String) {
    let request = client::ask(&gateway.base, "openai_chat", &body("openai_chat", false, "hello", &[]));
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_upstreams_and_leaves_requests_under_way_alone() {
    let slow = Round::text("the old one").delay_within(Duration::from_millis(300));
    let old = FakeUpstream::start(Script::rounds([slow])).await;
    let new = FakeUpstream::start(Script::rounds([Round::text("the new one")])).await;
    let gateway = gateway(&entry(&old));
    let under_way = (0..8).map(|n| {
        let body = body("openai_chat", n % 2 == 0, "hello", &[]);
        tokio::spawn(client::ask(&gateway.base, "openai_chat", &body).send())
    });
    let under_way: Vec<_> = under_way.collect();
    let begun = Instant::now();
    while old.requests().len() < 8 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", old.requests().len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    write(&gateway, &format!("[turn]\nrounds = 3\n[server]\nport = 9\n{}", entry(&new)));
    let done = ask(&gateway, &["config", "reload", "--json"]).json();
    assert_eq!(done, json!({"applied": ["turn.rounds", "upstreams"], "needsRestart": []}));
    assert!(answer(&gateway).await.1.contains("the new one"));
    for request in under_way {
        let text = request.await.unwrap().unwrap().text().await.unwrap();
        assert!(text.contains("old") && !text.contains("error"), "{text}");
    }
    let nothing = ask(&gateway, &["config", "reload"]).expect(0);
    assert_eq!(nothing.out, "nothing has changed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_changes_nothing_and_says_why() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("here")])).await;
    let gateway = gateway(&entry(&upstream));
    for (bad, why) in [
        ("[server]\nprot = 1\n", "line 2: `prot` is no key of `server`; did you mean `port`?"),
        (
            "[[upstreams]]\nname = 'a'\ndialect = 'openai'\nbase_url = 'http://a'\n",
            "unknown dialect `openai`",
        ),
        ("[server]\ntls = { cert = '/nowhere', key = '/nowhere' }\n", "/nowhere holds no certificate"),
        ("[server]\ntrusted_proxies = ['everyone']\n", "`everyone` is no address and no network"),
        ("[selection]\nauto_max_skills = 1\n[turn\n", "line 3"),
    ] {
        write(&gateway, bad);
        let refused = ask(&gateway, &["config", "reload"]).expect(1);
        assert!(refused.err.contains(why), "{refused:?}");
        hang_up(&gateway);
        let file = gateway.data_dir().join("omni-skills.toml");
        let checked = program(&["config", "check", "--config", file.to_str().unwrap()], &[]).expect(1);
        assert!(checked.err.contains(why) && checked.err.contains("omni-skills.toml"), "{checked:?}");
    }
    assert!(answer(&gateway).await.1.contains("here"));
    let settings = ask(&gateway, &["settings", "get", "selection.autoMaxSkills", "--json"]).json();
    assert_eq!((&settings["value"], &settings["source"]), (&json!(5), &json!("default")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_reloads() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("here")])).await;
    let gateway = gateway(&entry(&upstream));
    write(&gateway, &format!("[selection]\nauto_max_skills = 1\n{}", entry(&upstream)));
    hang_up(&gateway);
    let begun = Instant::now();
    loop {
        let setting = ask(&gateway, &["settings", "get", "selection.autoMaxSkills", "--json"]).json();
        if setting["value"] == 1 {
            assert_eq!(setting["source"], "file");
            assert!(setting["from"].as_str().unwrap().ends_with("omni-skills.toml"), "{setting}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{setting}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // What the file says is not changed over REST; what it does not say is, and a reload keeps it.
    let pinned = ask(&gateway, &["settings", "set", "selection.autoMaxSkills", "2"]).expect(1);
    assert!(pinned.err.contains("omni-skills.toml") && pinned.err.contains("409"), "{pinned:?}");
    ask(&gateway, &["settings", "set", "executor.timeoutMs", "777"]).expect(0);
    write(&gateway, &entry(&upstream));
    let done = ask(&gateway, &["config", "reload", "--json"]).json();
    assert_eq!(done["applied"], json!(["selection.auto_max_skills"]));
    let all = ask(&gateway, &["settings", "get", "--json"]).json();
    assert_eq!((&all["selection"]["autoMaxSkills"], &all["executor"]["timeoutMs"]), (&json!(5), &json!(777)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_restart_is_named() {
    let gateway = gateway("");
    write(&gateway, "[executor]\nconcurrency = 3\n[turn]\nrounds = 2\n[store]\nsynchronous = 'full'\n");
    let done = ask(&gateway, &["config", "reload", "--json"]).json();
    let expected =
        json!({"applied": ["turn.rounds"], "needsRestart": ["executor.concurrency", "store.synchronous"]});
    assert_eq!(done, expected);
    let other_port = ask(&gateway, &["config", "reload"]).expect(0);
    assert_eq!(other_port.out, "nothing has changed\n");
}

#[test]
fn variables_win_and_wrong_ones_are_named() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[limits]\nsandbox_timeout_ms = 7\n").unwrap();
    let check = ["config", "check", "--config", file.to_str().unwrap()];
    program(&check, &[("SKILLS_SANDBOX_TIMEOUT_MS", "60000")]).expect(0);
    let wrong = program(&check, &[("SKILLS_SANDBOX_TIMEOUT_MS", "60001")]).expect(1);
    assert!(wrong.err.contains("SKILLS_SANDBOX_TIMEOUT_MS"), "{wrong:?}");
    let unknown = program(&check, &[("OMNI_SKILLS__LIMIT__FILE_BYTES", "1")]).expect(1);
    assert!(unknown.err.contains("did you mean `limits`?"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_of_the_file_holds_until_it_is_taken_back() {
    let upstream = FakeUpstream::start(Script::rounds([Round::text("done")])).await;
    let gateway = gateway(&format!("[policy]\nmine = 'manual'\n{}", entry(&upstream)));
    let skill = json!({"name": "mine", "description": "d", "handlerCode": "echo-handler",
        "schema": {"input": {"text": "string"}}, "mode": "on"});
    let file = gateway.data_dir().join("skill.json");
    std::fs::write(&file, skill.to_string()).unwrap();
    ask(&gateway, &["skills", "install", file.to_str().unwrap()]).expect(0);
    answer(&gateway).await;
    assert!(!upstream.requests().pop().unwrap().body.to_string().contains("mine__"));
    write(&gateway, &entry(&upstream));
    assert_eq!(ask(&gateway, &["config", "reload", "--json"]).json()["applied"], json!(["policy"]));
    answer(&gateway).await;
    assert!(upstream.requests().pop().unwrap().body.to_string().contains("mine__"));
}
