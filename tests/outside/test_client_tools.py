"""The client's own tools: never run, never changed, never mixed up with ours."""

import json

import pytest

from support.scripts import calls, client_tool, python, raw_call, results, text, tool_names
from support.surfaces import MODES, SURFACES, ask, openai_client

ODD = '{ "city" :  "S\\u00e3o Paulo",\n "n": 1.0 }'


def arguments_equal(surface, call, text_of_arguments):
    if surface[0] == "openai":
        return call.arguments == text_of_arguments
    return call.arguments == json.loads(text_of_arguments)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("use", [None, "eval_code"])
def test_a_call_of_the_clients_tool_comes_back(surface, use, fake, gateway):
    tool = client_tool(surface[0])
    fake.script(calls(raw_call("get_weather", ODD), text="Asking. "), text("never"))
    answer = ask(surface, gateway, tools=[tool], headers={"x-omni-use": use} if use else {})
    (call,) = answer.calls
    assert call.name == "get_weather" and arguments_equal(surface, call, ODD)
    assert answer.text == "Asking. "
    assert answer.finish == ("tool_calls" if surface[0] == "openai" else "tool_use")
    (body,) = fake.bodies()
    assert body["tools"][0] == tool
    assert tool_names(body) == (["get_weather", "eval_code__1_0_0"] if use else ["get_weather"])


@pytest.mark.parametrize("surface", SURFACES)
def test_a_mixed_message_is_reduced_to_the_clients_call(surface, fake, gateway):
    tool = client_tool(surface[0])
    fake.script(calls(python("print(1)"), raw_call("get_weather", ODD), python("print(2)")), text("done"))
    answer = ask(surface, gateway, tools=[tool], headers={"x-omni-use": "eval_code"})
    (call,) = answer.calls
    assert call.name == "get_weather" and arguments_equal(surface, call, ODD)
    assert answer.finish == ("tool_calls" if surface[0] == "openai" else "tool_use")
    assert "eval_code" not in "".join(l for l in answer.whole.splitlines() if "omni" not in l)
    assert answer.stop == "client_tools"

    # The client goes on as it would without us; the strict upstream accepts the history.
    follow = ask(
        (surface[0], "plain"),
        gateway,
        history(surface[0], call),
        tools=[tool],
        headers={"x-omni-use": "eval_code"},
    )
    assert follow.text == "done"
    assert "sunny" in results(fake.bodies()[-1])


def history(dialect, call):
    user = {"role": "user", "content": "please help"}
    if dialect == "openai":
        function = {"name": call.name, "arguments": call.arguments}
        made = {"id": call.id, "type": "function", "function": function}
        return [
            user,
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
        ]
    made = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    return [user, {"role": "assistant", "content": [made]}, {"role": "user", "content": [result]}]


@pytest.mark.parametrize("surface", MODES)
def test_the_clients_turn_goes_on_with_ours(surface, fake, gateway):
    """First theirs, then ours, then the answer: three upstream requests, two of the client's."""
    tool = client_tool(surface[0])
    fake.script(calls(raw_call("get_weather", '{"city":"x"}')), calls(python("print(7)")), text("done"))
    first = ask(surface, gateway, tools=[tool], headers={"x-omni-use": "eval_code"})
    second = ask(
        surface, gateway, history(surface[0], first.calls[0]), tools=[tool], headers={"x-omni-use": "eval_code"}
    )
    assert second.text == "done" and second.calls == []
    assert len(fake.requests()) == 3


@pytest.mark.parametrize("surface", MODES)
def test_a_client_tool_with_the_name_of_a_skill_is_the_clients(surface, fake, gateway):
    mine = {
        "name": "eval_code",
        "description": "mine",
        "schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
    }
    tool = client_tool(surface[0], mine)
    fake.script(calls({"name": "eval_code", "arguments": {"x": 1}, "exact": True}))
    answer = ask(surface, gateway, tools=[tool])
    assert [call.name for call in answer.calls] == ["eval_code"]
    assert fake.bodies()[0]["tools"] == [tool]
    assert gateway.executions(turn=answer.turn) == []


@pytest.mark.parametrize("surface", MODES)
def test_a_tools_entry_names_a_skill(surface, fake, gateway):
    tool = client_tool(surface[0])
    fake.script(calls(python("print(6*7)")), text("42"))
    answer = ask(surface, gateway, tools=[{"type": "omni:eval_code"}, tool])
    assert answer.text == "42"
    assert tool_names(fake.bodies()[0]) == ["get_weather", "eval_code__1_0_0"]


@pytest.mark.parametrize("surface", MODES)
def test_an_upstream_answer_for_the_client_is_not_rewritten(surface, fake, gateway):
    """Parallel calls of the client's arrive in order, with their ids."""
    tool = client_tool(surface[0])
    named = [{**raw_call("get_weather", '{"city":"a"}'), "id": "call_a"}]
    named += [{**raw_call("get_weather", '{"city":"b"}'), "id": "call_b"}]
    fake.script(calls(*named))
    answer = ask(surface, gateway, tools=[tool], headers={"x-omni-use": "eval_code"})
    assert [call.id for call in answer.calls] == ["call_a", "call_b"]


def test_runs_of_the_openai_helper_with_client_tools(fake, gateway):
    """`parse` checks the finish reason and the arguments by itself."""
    fake.script(calls(raw_call("get_weather", '{"city":"x"}')))
    tool = client_tool("openai")
    tool["function"]["strict"] = True
    tool["function"]["parameters"]["additionalProperties"] = False
    completion = openai_client(gateway).chat.completions.parse(
        model="fake-model", messages=[{"role": "user", "content": "x"}], tools=[tool]
    )
    (call,) = completion.choices[0].message.tool_calls
    assert call.function.parsed_arguments == {"city": "x"}
