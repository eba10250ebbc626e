"""The seeds' install example, by curl, as it is written; then a run of what it installed."""

import json
import os
import subprocess

import requests

from support.scripts import call, calls, results, text, tool_names
from support.surfaces import ask

# As documented; only the port differs.
EXAMPLE = """curl -X POST http://localhost:20128/api/skills/install \\
  -H "Authorization: Bearer $OMNIROUTE_MGMT_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{
    "name": "reverse-text",
    "version": "1.0.0",
    "description": "Reverses a string",
    "schema": {
      "input":  { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
      "output": { "type": "object", "properties": { "reversed": { "type": "string" } } }
    },
    "handlerCode": "echo-handler",
    "apiKeyId": "your-api-key-id"
  }'
"""


def run_example(gateway):
    port = gateway.url.rsplit(":", 1)[1]
    command = EXAMPLE.replace("localhost:20128", f"localhost:{port}")
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=20,
        env={**env, "OMNIROUTE_MGMT_TOKEN": gateway.token},
    )
    return json.loads(done.stdout)


def test_the_documented_example(gateway):
    installed = run_example(gateway)
    assert installed["success"] is True and installed["id"]

    run = gateway.manage(
        "POST", "/api/skills/executions", json={"skillName": "reverse-text", "input": {"text": "hello"}}
    )
    assert run.status_code == 200, run.text
    execution = run.json()["execution"]
    assert (execution["status"], execution["output"]) == ("success", {"text": "hello"})
    assert (execution["skillName"], execution["version"], execution["door"]) == ("reverse-text", "1.0.0", "rest")

    wrong = gateway.manage("POST", "/api/skills/executions", json={"skillName": "reverse-text", "input": {}})
    assert wrong.status_code == 422
    assert "text" in json.dumps(wrong.json()["details"])

    again = run_example(gateway)
    assert again["code"] == "skill_exists"
    assert "replace" in again["error"]


def test_an_installed_skill_is_used_by_a_model(fake, gateway):
    body = {
        "name": "shout-it",
        "version": "2.1.0",
        "description": "Shouts a text",
        "schema": {"input": {"text": "string"}},
        "handlerCode": "echo-handler",
        "mode": "auto",
    }
    answer = gateway.manage("POST", "/api/skills/install", json=body)
    assert answer.status_code == 200, answer.text
    for surface in [("openai", "plain"), ("anthropic", "stream")]:
        fake.script(calls(call("shout-it", text="hey")), text("done"))
        assert ask(surface, gateway, headers={"x-omni-use": "shout-it@^2"}).text == "done"
        first, second = fake.bodies()
        assert "shout-it__2_1_0" in tool_names(first)
        assert "hey" in results(second)[0]


def test_a_skill_of_one_key_is_not_offered_to_another(fake, gateway):
    alice = gateway.manage("POST", "/api/keys", json={"name": "alice"}).json()
    body = {"name": "alice-only", "description": "d", "handlerCode": "echo-handler", "apiKeyId": alice["id"]}
    assert gateway.manage("POST", "/api/skills/install", json=body).status_code == 200
    use = {"x-omni-use": "alice-only"}
    for key, offered in [(alice["key"], True), (gateway.key, False)]:
        fake.script(text("x"))
        ask(("openai", "plain"), gateway, key=key, headers=use)
        assert ("alice-only__1_0_0" in tool_names(fake.bodies()[0])) is offered
        run = requests.post(
            f"{gateway.url}/api/skills/executions",
            json={"skillName": "alice-only", "input": {}},
            headers={"x-omni-key": key},
            timeout=10,
        )
        assert run.status_code == (200 if offered else 404)


def test_a_long_name_is_still_a_legal_tool(fake, gateway):
    """Two names that differ only in their last letter stay apart; the strict upstream accepts both."""
    names = ["a" * 64, "a" * 63 + "b", "日本語 skill.v2"]
    for name in names:
        body = {"name": name, "description": "d", "handlerCode": "echo-handler", "mode": "auto", "replace": True}
        assert gateway.manage("POST", "/api/skills/install", json=body).status_code == 200
    listed = gateway.manage("GET", "/api/skills", params={"limit": 200}).json()["data"]
    assert set(names) <= {skill["name"] for skill in listed}
    fake.script(text("x"))
    ask(("openai", "plain"), gateway, "use " + " and ".join(names), headers={"x-omni-use": ", ".join(names[:2])})
    offered = tool_names(fake.bodies()[0])
    assert len(set(offered)) == len(offered)
    assert len([name for name in offered if name.startswith("aaaa")]) == 2
