"""Who may chat, run and manage; and that no credential of the gateway reaches an upstream."""

import pytest
import requests

from support.processes import UPSTREAM_KEY
from support.scripts import calls, call, python, results, text
from support.surfaces import MODES, PLAIN, ask, sdk


@pytest.mark.parametrize("surface", MODES)
def test_the_sdks_own_place_for_a_key_works(surface, fake, gateway):
    fake.script(calls(python("print(1)")), text("done"))
    answer = ask(surface, gateway, key=gateway.key)
    assert answer.text == "done"
    for request in fake.requests():
        assert "osk_" not in str(request["headers"])
        place = "authorization" if surface[0] == "openai" else "x-api-key"
        assert UPSTREAM_KEY in request["headers"][place]
        assert not [name for name in request["headers"] if name.startswith("x-omni")]


@pytest.mark.parametrize("surface", MODES)
@pytest.mark.parametrize("key", ["osk_" + "0" * 40, "sk-of-the-client", "omt_guess"])
def test_an_unknown_key_is_a_typed_error_and_goes_nowhere(surface, key, fake, gateway):
    with pytest.raises(sdk(surface[0]).AuthenticationError) as caught:
        ask(surface, gateway, key=key)
    assert caught.value.status_code == 401
    assert key not in caught.value.response.text
    assert fake.requests() == []


@pytest.mark.parametrize("surface", PLAIN)
def test_the_header_of_our_own(surface, fake, gateway):
    """`x-omni-key` logs in whatever else the SDK sends."""
    fake.script(text("done"))
    answer = ask(surface, gateway, key="whatever-the-app-has", headers={"x-omni-key": gateway.key})
    assert answer.text == "done"
    assert "whatever" not in str(fake.requests()[0]["headers"])


@pytest.mark.parametrize("surface", MODES)
def test_a_key_without_the_scope(surface, fake, gateway):
    key = gateway.new_key("reader", scopes=["read:skills"])
    with pytest.raises(sdk(surface[0]).PermissionDeniedError) as caught:
        ask(surface, gateway, key=key)
    assert "proxy" in str(caught.value)
    assert fake.requests() == []


def test_a_deleted_key_stops_at_once(fake, gateway):
    made = gateway.manage("POST", "/api/keys", json={"name": "short-lived"}).json()
    assert ask(("openai", "plain"), gateway, key=made["key"]).text == "done"
    assert gateway.manage("DELETE", f"/api/keys/{made['id']}").status_code == 200
    with pytest.raises(sdk("openai").AuthenticationError):
        ask(("openai", "plain"), gateway, key=made["key"])


def test_a_rotated_key_keeps_its_files(fake, gateway):
    made = gateway.manage("POST", "/api/keys", json={"name": "rotated"}).json()
    use = {"x-omni-use": "file_write, file_read"}
    fake.script(calls(call("file_write", path="kept.txt", content="still here")), text("ok"))
    ask(("openai", "plain"), gateway, key=made["key"], headers=use)
    new = gateway.manage("POST", f"/api/keys/{made['id']}/rotate").json()["key"]
    fake.script(calls(call("file_read", path="kept.txt")), text("ok"))
    ask(("openai", "plain"), gateway, key=new, headers=use)
    assert "still here" in results(fake.bodies()[1])[0]
    with pytest.raises(sdk("openai").AuthenticationError):
        ask(("openai", "plain"), gateway, key=made["key"])


def test_keys_do_not_see_each_others_files_and_rows(fake, gateway, session_id):
    bob = gateway.new_key("bob")
    use = {"x-omni-use": "file_write, file_read", "x-omni-session": session_id}
    fake.script(calls(call("file_write", path="secret.txt", content="of alice")), text("ok"))
    ask(("openai", "plain"), gateway, headers=use)
    fake.script(calls(call("file_read", path="secret.txt")), text("ok"))
    ask(("openai", "plain"), gateway, key=bob, headers=use)
    (told,) = results(fake.bodies()[1])
    assert "of alice" not in told
    assert str(gateway.data_dir) not in told

    rows = get(gateway, "/api/skills/executions", bob, session=session_id).json()["data"]
    assert [row["skillName"] for row in rows] == ["file_read"]
    alices = next(r for r in gateway.executions(session=session_id) if r["skillName"] == "file_write")
    assert get(gateway, f"/api/skills/executions/{alices['id']}", bob).status_code == 404
    assert get(gateway, "/api/skills/executions", bob, apiKeyId=alices["apiKeyId"]).status_code == 403


def get(gateway, path, key=None, **query):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return requests.get(gateway.url + path, headers=headers, params=query, timeout=10)


MANAGEMENT = ["/api/skills", "/api/keys", "/api/settings"]


@pytest.mark.parametrize("path", [*MANAGEMENT, "/api/skills/executions", "/api/no-such-path"])
def test_without_a_credential_everything_is_401(path, gateway):
    answer = get(gateway, path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"]
    assert answer.json()["code"] == "missing_credential"


@pytest.mark.parametrize("path", MANAGEMENT)
def test_a_plain_key_does_not_manage(path, gateway):
    answer = get(gateway, path, gateway.key)
    assert answer.status_code == 403
    assert "manage" in answer.json()["error"]


def test_once_a_key_exists_nobody_is_anonymous(fake, gateway):
    answer = requests.post(f"{gateway.url}/v1/chat/completions", json={"model": "fake-model"}, timeout=10)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"]


def test_a_local_caller_is_anonymous_until_then(fake, open_gateway):
    fake.script(text("hello"))
    assert ask(("openai", "plain"), open_gateway, key="anything").text == "hello"


def test_but_not_through_a_proxy(fake, open_gateway):
    with pytest.raises(sdk("openai").AuthenticationError):
        ask(("openai", "plain"), open_gateway, headers={"X-Forwarded-For": "10.1.1.1"})
    assert fake.requests() == []
