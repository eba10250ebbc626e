"""A chat whose model calls two skills at once, through every surface of the official SDKs."""

import json

import pytest

from support.scripts import call, calls, python, results, text, tool_names
from support.surfaces import ANTHROPIC, OPENAI, SURFACES, ask

USE = "eval_code, file_write"
OURS = ("eval_code", "file_write", "tool_calls", "tool_use", "tool_results")


def two_skills():
    both = calls(python("print(6*7)"), call("file_write", path="a.txt", content="hi"), text="Let me see. ")
    return [
        {**both, "usage": {"input": 100, "output": 10}},
        text("It is 42.", usage={"input": 150, "output": 20}),
    ]


@pytest.mark.parametrize("surface", SURFACES)
def test_two_skills_in_one_round(surface, fake, gateway, session_id):
    fake.script(*two_skills())
    answer = ask(surface, gateway, headers={"x-omni-use": USE, "x-omni-session": session_id})

    assert answer.text.startswith("Let me see.") and answer.text.endswith("It is 42.")
    assert answer.calls == []
    assert answer.finish == ("stop" if surface[0] == "openai" else "end_turn")
    assert len(fake.requests()) == 2
    said = json.dumps(answer.text)
    for word in OURS:
        assert word not in said
    visible = answer.whole if answer.omni is None else "\n".join(
        line for line in answer.whole.splitlines() if '"omni"' not in line
    )
    assert "__1_0_0" not in visible and "toolu_" not in visible and "call_" not in visible

    rows = gateway.executions(session=session_id)
    assert sorted(r["skillName"] for r in rows) == ["eval_code", "file_write"]
    assert {r["status"] for r in rows} == {"success"}
    assert {r["sessionId"] for r in rows} == {session_id}
    assert {r["door"] for r in rows} == {"loop"}
    (turn,) = {r["turnId"] for r in rows}
    assert answer.turn == turn
    assert rows[0]["durationMs"] is not None

    first, second = results(fake.bodies()[1])
    assert "42" in first and "a.txt" in second


@pytest.mark.parametrize("surface", OPENAI)
def test_usage_is_the_sum_of_the_rounds_openai(surface, fake, gateway):
    fake.script(*two_skills())
    usage = ask(surface, gateway, headers={"x-omni-use": USE}).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (250, 30, 280)


@pytest.mark.parametrize("surface", ANTHROPIC)
def test_usage_is_the_sum_of_the_rounds_anthropic(surface, fake, gateway):
    rounds = two_skills()
    for one in rounds:
        one["usage"] |= {"cache_read": 5, "cache_write": 3}
    fake.script(*rounds)
    usage = ask(surface, gateway, headers={"x-omni-use": USE}).usage
    assert (usage.input_tokens, usage.output_tokens) == (250, 30)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (10, 6)


@pytest.mark.parametrize("surface", [OPENAI[0], ANTHROPIC[0]])
def test_headers_of_a_plain_answer(surface, fake, gateway):
    fake.script(*two_skills())
    answer = ask(surface, gateway, headers={"x-omni-use": USE})
    headers = answer.headers
    assert headers["x-omni-rounds"] == "2"
    assert headers["x-omni-stop"] == "completed"
    ids = [row["id"] for row in gateway.executions(turn=headers["x-omni-turn-id"])]
    assert sorted(headers["x-omni-executions"].split(", ")) == sorted(ids)
    assert "eval_code@1.0.0" in headers["x-omni-injected"]


@pytest.mark.parametrize("surface", [s for s in SURFACES if s[1] != "plain"])
def test_the_last_chunk_of_a_stream_has_the_same(surface, fake, gateway):
    fake.script(*two_skills())
    omni = ask(surface, gateway, headers={"x-omni-use": USE}).omni
    assert omni["rounds"] == 2 and omni["stop"] == "completed"
    ids = [row["id"] for row in gateway.executions(turn=omni["turnId"])]
    assert sorted(omni["executions"]) == sorted(ids)
    assert "eval_code@1.0.0" in omni["injected"]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("chunking", ["whole", {"bytes": 1}, {"bytes": 7}])
def test_cuts_anywhere_change_nothing(surface, chunking, fake, gateway):
    words = "那个🙂 é — fin"
    fake.script({**calls(python("print('é🙂')")), "chunking": chunking}, text(words, chunking=chunking))
    answer = ask(surface, gateway)
    assert answer.text == words
    assert "é🙂" in results(fake.bodies()[1])[0]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_chat_without_calls_passes_as_it_is(surface, fake, gateway):
    fake.script(text("hello"))
    answer = ask(surface, gateway)
    assert answer.text == "hello"
    assert len(fake.requests()) == 1
    assert tool_names(fake.bodies()[0]) == ["eval_code__1_0_0"]
