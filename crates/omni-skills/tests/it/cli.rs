//! Every command against a running gateway, or on its data folder without one.

use std::path::Path;

use serde_json::{Value, json};
use testkit::gateway::Gateway;

use crate::program::{ask, program};

fn gateway() -> Gateway {
    Gateway::start(Path::new(env!("CARGO_BIN_EXE_omni-skills")), "")
}

/// Installs a skill that gives its input back.
fn install(gateway: &Gateway, name: &str, version: &str) -> String {
    let skill = json!({"name": name, "description": "gives back", "handlerCode": "echo-handler",
        "version": version, "schema": {"input": {"text": "string"}}});
    let file = gateway.data_dir().join("skill.json");
    std::fs::write(&file, skill.to_string()).unwrap();
    let done = ask(gateway, &["skills", "install", file.to_str().unwrap(), "--json"]).json();
    done["id"].as_str().unwrap().to_owned()
}

#[test]
fn skills_are_installed_run_changed_and_removed() {
    let gateway = gateway();
    let id = install(&gateway, "mine", "1.0.0");
    let list = ask(&gateway, &["skills", "list", "--q", "mine"]).expect(0).out;
    assert!(list.lines().next().unwrap().starts_with("ID ") && list.contains(&id), "{list}");
    let ran = ask(&gateway, &["skills", "exec", "mine", "--input", r#"{"text":"hi"}"#]).json();
    assert_eq!(ran["text"], "hi");
    let refused = ask(&gateway, &["skills", "exec", "mine", "--input", r#"{"text":5}"#]).expect(1);
    assert!(refused.err.contains("422"), "{refused:?}");
    assert!(
        ask(&gateway, &["skills", "exec", "mine", "--input", "no json"]).expect(2).err.contains("--input")
    );

    let changed = ask(&gateway, &["skills", "mode", "mine", "off", "--json"]).json();
    assert_eq!(changed.get("skill").unwrap_or(&changed)["mode"], "off");
    ask(&gateway, &["skills", "mode", "mine", "auto"]).expect(0);
    ask(&gateway, &["skills", "disable", "mine"]).expect(0);
    let off = ask(&gateway, &["skills", "exec", "mine", "--input", r#"{"text":"hi"}"#]).expect(1);
    assert!(off.err.contains("409"), "{off:?}");
    ask(&gateway, &["skills", "enable", "mine"]).expect(0);

    install(&gateway, "mine", "1.1.0");
    let several = ask(&gateway, &["skills", "show", "mine"]).expect(1);
    assert!(several.err.contains(&id) && several.err.contains("mine@1.1.0"), "{several:?}");
    assert_eq!(ask(&gateway, &["skills", "show", "mine@1.0.0", "--json"]).json()["id"], id.as_str());
    ask(&gateway, &["skills", "delete", &id]).expect(0);
    let gone = ask(&gateway, &["skills", "show", "nothing-like-it"]).expect(1);
    assert!(gone.err.contains("omni-skills skills list"), "{gone:?}");
}

#[test]
fn keys_come_and_go() {
    let gateway = gateway();
    let made = ask(&gateway, &["keys", "create", "one", "--scope", "proxy", "--json"]).json();
    assert!(made["key"].as_str().unwrap().starts_with("osk_"));
    let id = made["id"].as_str().unwrap();
    let list = ask(&gateway, &["keys", "list"]).expect(0).out;
    assert!(list.contains(id) && list.contains("proxy") && !list.contains("osk_"), "{list}");
    ask(&gateway, &["keys", "revoke", id]).expect(0);
    ask(&gateway, &["keys", "revoke", "018f0000-0000-7000-8000-000000000000"]).expect(1);
}

#[test]
fn settings_are_shown_with_their_source() {
    let gateway = gateway();
    ask(&gateway, &["settings", "set", "skillsEnabled", "false"]).expect(0);
    let one = ask(&gateway, &["settings", "get", "skillsEnabled", "--json"]).json();
    assert_eq!((&one["value"], &one["source"]), (&json!(false), &json!("database")));
    ask(&gateway, &["settings", "set", "skillsEnabled", "null"]).expect(0);
    let table = ask(&gateway, &["settings", "get"]).expect(0).out;
    assert!(
        table.lines().any(|line| line.starts_with("skillsEnabled") && line.contains("default")),
        "{table}"
    );
    assert!(ask(&gateway, &["settings", "get", "nothing"]).expect(2).err.contains("settings get"));
    ask(&gateway, &["settings", "set", "executor.maxRetries", "9"]).expect(1);
}

#[test]
fn exit_codes_tell_failures_apart() {
    let nobody = program(&["skills", "list", "--url", "http://127.0.0.1:9"], &[]).expect(3);
    assert!(nobody.err.contains("--url"), "{nobody:?}");
    program(&["skills", "dance"], &[]).expect(2);
    let gateway = gateway();
    let stranger = program(&["keys", "list", "--url", &gateway.base], &[]).expect(1);
    assert!(stranger.err.contains("OMNI_SKILLS_MGMT_TOKEN"), "{stranger:?}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(program(&["completions", shell], &[]).expect(0).out.contains("omni-skills"));
    }
}

#[test]
fn the_doctor_names_faults() {
    let gateway = gateway();
    let data = gateway.data_dir().to_str().unwrap();
    let well = ask(&gateway, &["doctor", "--data-dir", data, "--json"]);
    let findings: Vec<Value> = well.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |about: &str| findings.iter().find(|finding| finding["about"] == about).unwrap()["state"].clone();
    assert_eq!((of("gateway"), of("configuration"), of("database")), (json!("ok"), json!("ok"), json!("ok")));
    std::fs::write(gateway.data_dir().join("omni-skills.toml"), "[sever]\n").unwrap();
    let ill = ask(&gateway, &["doctor", "--data-dir", data]).expect(1);
    assert!(ill.out.contains("fault  configuration") && ill.out.contains("`server`"), "{ill:?}");
}

/// Skills that are not built in, as they are listed.
fn mine(gateway: &Gateway) -> Vec<Value> {
    let page = ask(gateway, &["skills", "list", "--json"]).json();
    let mine = |row: &&Value| row["name"].as_str().unwrap().starts_with("mine");
    page["data"].as_array().unwrap().iter().filter(mine).cloned().collect()
}

#[test]
fn a_backup_brings_everything_back() {
    let mut gateway = gateway();
    install(&gateway, "mine", "1.0.0");
    ask(&gateway, &["skills", "exec", "mine", "--input", r#"{"text":"hi"}"#]).expect(0);
    let before = mine(&gateway);
    let data = gateway.data_dir().to_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let file = file.to_str().unwrap();
    program(&["backup", file, "--data-dir", &data], &[]).expect(0);
    program(&["backup", file, "--data-dir", &data], &[]).expect(1);
    install(&gateway, "mine-later", "1.0.0");

    let running = program(&["restore", file, "--data-dir", &data], &[]).expect(1);
    assert!(running.err.contains("stop it first"), "{running:?}");
    gateway.kill();
    let nonsense = folder.path().join("nonsense.db");
    std::fs::write(&nonsense, "no database").unwrap();
    program(&["restore", nonsense.to_str().unwrap(), "--data-dir", &data], &[]).expect(1);
    gateway.restart();
    assert_eq!(mine(&gateway).len(), 2, "a bad backup changes nothing");
    gateway.kill();
    let done = program(&["restore", file, "--data-dir", &data, "--json"], &[]).json();
    assert!(Path::new(done["before"].as_str().unwrap()).is_file(), "{done}");
    gateway.restart();
    assert_eq!(mine(&gateway), before);
    assert_eq!(ask(&gateway, &["executions", "list", "--json"]).json()["total"], 1);
}

#[test]
fn an_export_is_read_by_another_database() {
    let gateway = gateway();
    install(&gateway, "mine", "1.0.0");
    ask(&gateway, &["skills", "exec", "mine", "--input", r#"{"text":"hi"}"#]).expect(0);
    ask(&gateway, &["settings", "set", "executor.timeoutMs", "777"]).expect(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.jsonl");
    let file = path.to_str().unwrap();
    let from = gateway.data_dir().to_str().unwrap();
    let exported = program(&["export", file, "--data-dir", from, "--json"], &[]).json();
    let to = folder.path().join("other");
    let to = to.to_str().unwrap();
    let imported = program(&["import", file, "--data-dir", to, "--json"], &[]).json();
    assert_eq!(imported, json!({"written": exported["rows"], "left": 0}));
    let again = program(&["import", file, "--data-dir", to, "--json"], &[]).json();
    assert_eq!(again, json!({"written": 0, "left": exported["rows"]}));
    let second = folder.path().join("again.jsonl");
    program(&["export", second.to_str().unwrap(), "--data-dir", to], &[]).expect(0);
    assert_eq!(std::fs::read_to_string(&second).unwrap(), std::fs::read_to_string(&path).unwrap());

    let whole = std::fs::read_to_string(&path).unwrap();
    let (cut, _) = whole.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&path, cut).unwrap();
    let refused = program(&["import", file, "--data-dir", to], &[]).expect(1);
    assert!(refused.err.contains("not whole"), "{refused:?}");
}

#[test]
fn a_token_is_made_anew() {
    let path = Path::new(env!("CARGO_BIN_EXE_omni-skills"));
    let mut gateway = Gateway::start_with(path, "", &[("OMNI_SKILLS_MGMT_TOKEN", "")]);
    let data = gateway.data_dir().to_str().unwrap().to_owned();
    let made = program(&["token", "reset", "--data-dir", &data, "--json"], &[]).json();
    gateway.kill_and_restart();
    let token = made["token"].as_str().unwrap();
    program(&["keys", "list"], &[("OMNI_SKILLS_URL", &*gateway.base), ("OMNI_SKILLS_MGMT_TOKEN", token)])
        .expect(0);
    let nowhere = gateway.data_dir().join("nowhere");
    let refused = program(&["token", "reset", "--data-dir", nowhere.to_str().unwrap()], &[]).expect(1);
    assert!(refused.err.contains("--data-dir"), "{refused:?}");
}
