"""When skills are offered and when they are not; without any, the client's bytes go upstream unchanged."""

import pytest

from support.scripts import calls, client_tool, python, text, tool_names
from support.surfaces import MODES, ask, sdk

SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
}


def assert_untouched(fake, answer):
    (request,) = fake.requests()
    assert request["raw"].encode() == answer.sent
    assert "x-omni-injected" not in answer.headers


@pytest.mark.parametrize("surface", MODES)
def test_off_sends_the_clients_bytes(surface, fake, gateway):
    fake.script(text("plain"))
    answer = ask(surface, gateway, headers={"x-omni-skills": "off", "x-omni-use": "eval_code"})
    assert answer.text == "plain"
    assert_untouched(fake, answer)


@pytest.mark.parametrize("surface", MODES)
def test_off_also_switches_the_loop_off(surface, fake, gateway):
    """A model that calls our wire name all the same is the client's matter."""
    tool = client_tool(surface[0])
    fake.script(calls({"name": "eval_code__1_0_0", "arguments": {"a": 1}, "exact": True}), text("never"))
    answer = ask(surface, gateway, headers={"x-omni-skills": "off"}, tools=[tool])
    assert [call.name for call in answer.calls] == ["eval_code__1_0_0"]
    assert len(fake.requests()) == 1


@pytest.mark.parametrize("surface", MODES)
def test_tool_choice_none(surface, fake, gateway):
    fake.script(text("plain"))
    none = "none" if surface[0] == "openai" else {"type": "none"}
    tools = [client_tool(surface[0])]
    answer = ask(surface, gateway, tool_choice=none, tools=tools, headers={"x-omni-use": "eval_code"})
    assert_untouched(fake, answer)


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_structured_output(mode, fake, gateway):
    fake.script(text('{"a":"b"}'))
    answer = ask(("openai", mode), gateway, response_format=SCHEMA)
    assert answer.text == '{"a":"b"}'
    assert_untouched(fake, answer)


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_several_choices(mode, fake, gateway):
    fake.script(text("one"))
    answer = ask(("openai", mode), gateway, n=2)
    assert_untouched(fake, answer)


@pytest.mark.parametrize("surface", MODES)
def test_use_names_skills(surface, fake, gateway):
    fake.script(text("x"))
    answer = ask(surface, gateway, headers={"x-omni-use": "file_read, file_write@^1"})
    names = tool_names(fake.bodies()[0])
    assert {"file_read__1_0_0", "file_write__1_0_0"} <= set(names)
    assert len(set(names)) == len(names)
    assert answer.text == "x"


@pytest.mark.parametrize("surface", MODES)
def test_the_same_skill_has_the_same_name_and_place_every_time(surface, fake, gateway):
    seen = []
    for _ in range(2):
        fake.script(text("x"))
        ask(surface, gateway, headers={"x-omni-use": "file_read, file_write"})
        seen.append(fake.bodies()[0]["tools"])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("surface", MODES)
def test_a_prompt_that_fits_brings_an_auto_skill(surface, fake, gateway):
    fake.script(text("x"))
    ask(surface, gateway, "call file_read for notes.txt")
    assert "file_read__1_0_0" in tool_names(fake.bodies()[0])


@pytest.mark.parametrize("surface", MODES)
def test_an_unknown_skill_is_reported_and_the_chat_goes_on(surface, fake, gateway):
    fake.script(text("x"))
    answer = ask(surface, gateway, headers={"x-omni-use": "no_such_skill"})
    assert answer.text == "x"
    assert "no_such_skill" in answer.headers["x-omni-skipped"]


@pytest.mark.parametrize(
    "header", [("x-omni-skills", "maybe"), ("x-omni-use", "eval_code@banana"), ("x-omni-custom-skills", "1")]
)
@pytest.mark.parametrize("surface", MODES)
def test_an_invalid_value_is_a_400_that_names_it(surface, header, fake, gateway):
    with pytest.raises(sdk(surface[0]).BadRequestError) as caught:
        ask(surface, gateway, headers=dict([header]))
    assert header[0] in str(caught.value)
    assert fake.requests() == []


@pytest.mark.parametrize("surface", MODES)
def test_unknown_members_of_the_client_go_upstream(surface, fake, gateway):
    fake.script(calls(python("print(1)")), text("x"))
    ask(surface, gateway, extra_body={"vendor_option": {"deep": [1, 2.50, None]}})
    assert [body["vendor_option"] for body in fake.bodies()] == [{"deep": [1, 2.5, None]}] * 2


@pytest.mark.parametrize("surface", MODES)
def test_a_skill_switched_off_is_gone_from_the_next_request_on(surface, fake, gateway):
    listed = gateway.manage("GET", "/api/skills", params={"q": "file_read"}).json()["data"]
    (skill,) = [one for one in listed if one["name"] == "file_read"]

    def names():
        fake.script(text("x"))
        ask(surface, gateway, headers={"x-omni-use": "file_read"})
        return tool_names(fake.bodies()[0])

    def put(**change):
        answer = gateway.manage("PUT", f"/api/skills/{skill['id']}", json=change)
        assert answer.status_code == 200, answer.text

    try:
        put(mode="off")
        assert "file_read__1_0_0" not in names()
    finally:
        put(mode=skill["mode"])
    assert "file_read__1_0_0" in names()


@pytest.mark.parametrize("surface", MODES)
def test_the_master_switch(surface, fake, gateway):
    try:
        assert gateway.manage("PATCH", "/api/settings", json={"skillsEnabled": False}).status_code == 200
        fake.script(text("x"))
        answer = ask(surface, gateway, headers={"x-omni-use": "file_read"})
        assert_untouched(fake, answer)
        run = gateway.manage("POST", "/api/skills/executions", json={"skillName": "eval_code", "input": {}})
        assert run.status_code == 503
        assert run.json()["error"].startswith("Skills execution is disabled")
    finally:
        gateway.manage("PATCH", "/api/settings", json={"skillsEnabled": True})
