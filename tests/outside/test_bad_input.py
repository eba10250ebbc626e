"""What is wrong with a request is answered with the right 4xx and a sentence that helps. Never a 5xx."""

import pytest
import requests

from support.scripts import call, calls, results, text
from support.surfaces import ask

JSON = {"Content-Type": "application/json"}
RUN = "/api/skills/executions"
INSTALL = "/api/skills/install"
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"

SKILL = {"name": "bad-input", "description": "d", "handlerCode": "echo-handler"}


def skill(**change):
    return {**SKILL, **change}


def run(name="eval_code", **input):
    return {"skillName": name, "input": input}


# what, path, body (text or JSON), status, words of the answer
TABLE = [
    ("no JSON", RUN, "{not json", 400, ["JSON"]),
    ("cut JSON", RUN, '{"skillName":"eval_code"', 400, ["JSON"]),
    ("a list", RUN, "[]", (400, 422), ["object"]),
    ("an empty body", RUN, "", 400, ["JSON"]),
    ("no skill name", RUN, {"input": {}}, 400, ["skillName"]),
    ("skill name a number", RUN, {"skillName": 5}, 422, ["skillName"]),
    ("an unknown member", RUN, {**run(), "nonsense": 1}, 400, ["nonsense"]),
    ("an unknown skill", RUN, run("no_such_skill"), 404, ["no_such_skill"]),
    ("an unknown version", RUN, run("eval_code@^9"), 404, ["1.0.0"]),
    ("a bad constraint", RUN, run("eval_code@banana"), 400, ["banana"]),
    ("input a string", RUN, {"skillName": "eval_code", "input": "x"}, 422, ["input"]),
    ("input without a member", RUN, run(language="python"), 422, ["code"]),
    ("a wrong type", RUN, run("file_write", path=5, content="x"), 422, ["/path"]),
    ("an unknown language", RUN, run(language="cobol", code="x"), 422, ["/language"]),
    ("a time limit of zero", RUN, {**run(), "timeoutMs": 0}, 400, ["timeoutMs"]),
    ("a time limit that is no number", RUN, {**run(), "timeoutMs": "1s"}, 422, ["timeoutMs"]),
    ("somebody else's key", RUN, {**run(), "apiKeyId": "of-bob"}, 403, ["apiKeyId"]),
    ("install without a name", INSTALL, {"description": "d", "handlerCode": "echo-handler"}, 400, ["name"]),
    ("a name with @", INSTALL, skill(name="a@b"), 400, ["name"]),
    ("a name of spaces", INSTALL, skill(name="  "), 400, ["name"]),
    ("a name of 101 letters", INSTALL, skill(name="a" * 101), 400, ["100"]),
    ("a version of one number", INSTALL, skill(version="1"), 400, ["version"]),
    ("a huge version", INSTALL, skill(version="99999999999999999999.0.0"), 400, ["version"]),
    ("a version with zeros", INSTALL, skill(version="01.2.3"), 400, ["version"]),
    ("an unknown mode", INSTALL, skill(mode="sometimes"), 400, ["on", "off", "auto"]),
    ("mode a number", INSTALL, skill(mode=1), 422, ["mode"]),
    ("an unknown field", INSTALL, skill(apikeyid="x"), 400, ["apikeyid"]),
    ("an unknown handler", INSTALL, skill(handlerCode="return 1"), 422, ["echo-handler"]),
    ("a schema that is a string", INSTALL, skill(schema="x"), 400, ["schema", "input"]),
    ("a property that is no schema", INSTALL, skill(schema={"input": {"a": 5}}), 400, ["schema.input.a"]),
    ("a bad pattern", INSTALL, skill(schema={"input": {"a": {"pattern": "("}}}), 422, ["schema"]),
    ("the name of a built-in", INSTALL, skill(name="file_write"), 409, ["built-in"]),
    ("a key without a name", "/api/keys", {}, 400, ["name"]),
    ("an unknown scope", "/api/keys", {"name": "x", "scopes": ["root"]}, 400, ["scopes[0]", "proxy"]),
]


@pytest.mark.parametrize("what, path, body, status, words", TABLE, ids=[row[0] for row in TABLE])
def test_rest(what, path, body, status, words, gateway):
    data = body if isinstance(body, str) else None
    json = None if isinstance(body, str) else body
    token = gateway.key if "apiKeyId" in str(body) and path == RUN else gateway.token
    answer = requests.post(
        gateway.url + path,
        data=data,
        json=json,
        headers={"Authorization": f"Bearer {token}", **(JSON if data is not None else {})},
        timeout=10,
    )
    assert_refused(answer, status, words)
    said = answer.json()
    assert said["code"] and said["requestId"]


def assert_refused(answer, status, words):
    allowed = status if isinstance(status, tuple) else (status,)
    assert answer.status_code in allowed, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    for word in words:
        assert word in answer.text, answer.text
    for secret in ("/tmp", "/root", "SELECT", "panicked", "src/"):
        assert secret not in answer.text


USER = [{"role": "user", "content": "x"}]


def chat(**change):
    return {"model": "fake-model", "messages": USER, "max_tokens": 5, **change}


CHATS = [
    ("no JSON", "{", 400, ["JSON"]),
    ("a list", "[]", 400, []),
    ("no model", {"messages": USER, "max_tokens": 5}, 400, ["model"]),
    ("model a number", chat(model=5), 400, ["model"]),
    ("messages a string", chat(messages="x"), 400, ["messages"]),
    ("tools a string", chat(tools="x"), 400, ["tools"]),
    ("stream a string", chat(stream="yes"), 400, ["stream"]),
    ("an omni entry with a bad name", chat(tools=[{"type": "omni:a@b@c"}]), 400, ["omni:a@b@c"]),
]


@pytest.mark.parametrize("what, body, status, words", CHATS, ids=[row[0] for row in CHATS])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_chats(path, what, body, status, words, fake_process, gateway):
    fake_process.script(text("x"))
    data = body if isinstance(body, str) else None
    answer = requests.post(
        gateway.url + path,
        data=data,
        json=None if data is not None else body,
        headers={"x-omni-key": gateway.key, "anthropic-version": "2023-06-01", **(JSON if data else {})},
        timeout=10,
    )
    assert_refused(answer, status, words)
    said = answer.json()["error"]
    assert said["message"] and said["type"]
    if path == MESSAGES:
        assert answer.json()["type"] == "error"


QUERIES = ["limit=0", "limit=201", "limit=-1", "limit=1e9", "page=0", "status=lost", "since=yesterday", "nonsense=1"]


@pytest.mark.parametrize("query", QUERIES)
def test_queries(query, gateway):
    answer = gateway.manage("GET", f"{RUN}?{query}")
    assert_refused(answer, (400, 422), [query.split("=")[0]])


@pytest.mark.parametrize("query", ["q=%25", "q=%00", "q='%20OR%201=1", "q=%F0%9F%99%82"])
def test_odd_searches_are_just_searches(query, gateway):
    answer = gateway.manage("GET", f"/api/skills?{query}")
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        assert answer.json()["total"] == 0 or "%25" in query


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/api/skills/no-such-id", 404),
        ("PUT", "/api/skills/no-such-id", 404),
        ("DELETE", "/api/skills/no-such-id", 404),
        ("GET", "/api/skills/executions/no-such-id", 404),
        ("GET", "/api/no-such-path", 404),
        ("DELETE", "/api/settings", 405),
        ("GET", "/v1/chat/completions", 405),
    ],
)
def test_paths_and_methods(method, path, status, gateway):
    body = {"json": {"mode": "on"}} if method == "PUT" else {}
    answer = gateway.manage(method, path, **body)
    assert answer.status_code == status
    assert answer.json()["error"]
    if status == 405:
        assert answer.headers["allow"]


def test_a_body_that_is_not_json_by_type(gateway):
    answer = gateway.manage("POST", RUN, data="{}", headers={"Content-Type": "text/plain"})
    assert_refused(answer, 415, ["application/json"])


def test_oversize_bodies(gateway):
    answer = gateway.manage("POST", INSTALL, json=skill(description="x" * (5 << 20)))
    assert_refused(answer, 413, ["1 MiB"])
    large = {"model": "fake-model", "messages": [{"role": "user", "content": "x" * (65 << 20)}]}
    answer = requests.post(gateway.url + CHAT, json=large, headers={"x-omni-key": gateway.key}, timeout=30)
    assert_refused(answer, 413, ["64 MiB"])
    assert answer.json()["error"]["message"]


def test_a_large_chat_passes(fake, gateway):
    fake.script(text("ok"))
    assert ask(("openai", "plain"), gateway, "é" * (4 << 20)).text == "ok"


ESCAPES = [
    "../x", "a/../../x", "/etc/passwd", "a\\..\\..\\x", "..%2f..%2fx", ".env", ".ENV", ".git/config", "x/.ssh/id",
    "~/x", "$HOME/x", "file:///etc/passwd", "C:\\x", "a\u0000b", "a\u202eb", "x.", "secrets/k", "n" * 300,
]


@pytest.mark.parametrize("path", ESCAPES, ids=[repr(path)[:24] for path in ESCAPES])
@pytest.mark.parametrize("name", ["file_read", "file_write"])
def test_paths_that_leave_the_workspace(name, path, gateway):
    more = {"content": "x"} if name == "file_write" else {}
    answer = gateway.manage("POST", RUN, json=run(name, path=path, **more))
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        execution = answer.json()["execution"]
        assert execution["status"] == "error"
        assert "no such file" not in execution["errorMessage"].lower()
        assert str(gateway.data_dir) not in answer.text


def test_the_model_is_told_why_a_path_is_refused(fake, gateway):
    fake.script(calls(call("file_read", path="../../etc/passwd")), text("ok"))
    ask(("anthropic", "plain"), gateway, headers={"x-omni-use": "file_read"})
    (told,) = results(fake.bodies()[1])
    assert ".." in told and "root:" not in told
