"""Longer turns: several rounds, mistakes that the model corrects, calls that are not run, calls side by side."""

import re

import pytest

from support.scripts import call, calls, python, raw_call, results, text
from support.surfaces import MODES, SURFACES, ask


@pytest.mark.parametrize("surface", SURFACES)
def test_three_rounds(surface, fake, gateway):
    fake.script(calls(python("print(1)")), calls(python("print(2)"), text="and "), text("three"))
    answer = ask(surface, gateway)
    assert answer.text.endswith("three") and answer.calls == []
    assert len(fake.requests()) == 3
    assert len(results(fake.bodies()[2])) == 2
    rows = gateway.executions(turn=answer.turn)
    assert [row["input"]["code"] for row in rows] == ["print(1)", "print(2)"]


@pytest.mark.parametrize("surface", MODES)
def test_a_wrong_type_is_explained_and_corrected(surface, fake, gateway):
    fake.script(
        calls(call("file_write", path=5, content="x")),
        calls(call("file_write", path="five.txt", content="x")),
        text("written"),
    )
    answer = ask(surface, gateway, headers={"x-omni-use": "file_write"})
    assert answer.text == "written"
    wrong, right = results(fake.bodies()[2])
    assert "path" in wrong and "string" in wrong
    assert "five.txt" in right
    assert sorted(row["status"] for row in gateway.executions(turn=answer.turn)) == ["error", "success"]


@pytest.mark.parametrize("surface", MODES)
def test_a_failing_program_is_shown_to_the_model(surface, fake, gateway):
    fake.script(calls(python("1/0")), calls(python("print(1)")), text("fixed"))
    answer = ask(surface, gateway)
    assert answer.text == "fixed"
    assert "ZeroDivisionError" in results(fake.bodies()[1])[0]
    assert [row["status"] for row in gateway.executions(turn=answer.turn)] == ["error", "success"]


MALFORMED = ['{"language":"python","code":"print(1', "[1]", '"{}"', '{"a":1}{"b":2}', "print(1)"]


@pytest.mark.parametrize("arguments", MALFORMED)
@pytest.mark.parametrize("surface", [s for s in MODES if s[0] == "openai" or s[1] == "stream"])
def test_malformed_arguments_are_not_run(surface, arguments, fake, gateway):
    fake.script(calls(raw_call("eval_code", arguments)), calls(python("print('second try')")), text("ok"))
    answer = ask(surface, gateway)
    assert answer.text == "ok"
    refused, ran = results(fake.bodies()[2])
    assert "JSON object" in refused and "second try" in ran
    rows = gateway.executions(turn=answer.turn)
    assert [row["status"] for row in rows] == ["error", "success"]
    assert arguments[:20] in str(rows[0]["input"]).replace("\\'", "'")


@pytest.mark.parametrize("arguments", ["", "   ", "null", "{}"])
@pytest.mark.parametrize("surface", [("openai", "plain"), ("openai", "stream"), ("anthropic", "stream")])
def test_no_arguments_are_an_empty_object(surface, arguments, fake, gateway):
    name = "outside-no-arguments"
    install(gateway, name)
    fake.script(calls(raw_call(name, arguments)), text("ok"))
    answer = ask(surface, gateway, headers={"x-omni-use": name})
    assert answer.text == "ok"
    (row,) = gateway.executions(turn=answer.turn)
    assert (row["status"], row["input"]) == ("success", {})


@pytest.mark.parametrize("finish", ["length", "refusal"])
@pytest.mark.parametrize("surface", MODES)
def test_a_cut_round_runs_nothing(surface, finish, fake, gateway):
    fake.script(calls(python("print(1)"), text="I was about", finish=finish), text("never"))
    answer = ask(surface, gateway)
    assert answer.text == "I was about" and answer.calls == []
    wanted = {"length": "length" if surface[0] == "openai" else "max_tokens"}
    wanted["refusal"] = "content_filter" if surface[0] == "openai" else "refusal"
    assert answer.finish == wanted[finish]
    assert len(fake.requests()) == 1
    assert gateway.executions(turn=answer.turn) == []


@pytest.mark.parametrize("surface", MODES)
def test_an_invented_tool_is_answered_with_the_real_names(surface, fake, gateway):
    fake.script(calls({"name": "rm_rf", "exact": True, "arguments": {}}), text("sorry"))
    answer = ask(surface, gateway)
    assert answer.text == "sorry" and answer.calls == []
    assert "eval_code__1_0_0" in results(fake.bodies()[1])[0]


@pytest.mark.parametrize("surface", MODES)
def test_calls_of_one_round_overlap_and_keep_their_order(surface, fake, gateway):
    nap = "import time\nprint('from', time.time())\ntime.sleep({})\nprint('to', time.time(), '{}')"
    fake.script(calls(python(nap.format(1.5, "slow")), python(nap.format(1, "quick"))), text("ok"))
    assert ask(surface, gateway).text == "ok"
    slow, quick = results(fake.bodies()[1])
    assert "slow" in slow and "quick" in quick
    spans = [
        (float(re.search(r"from ([\d.]+)", out).group(1)), float(re.search(r"to ([\d.]+)", out).group(1)))
        for out in (slow, quick)
    ]
    assert spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1], spans


@pytest.mark.parametrize("surface", MODES)
def test_one_failure_does_not_end_the_others(surface, fake, gateway):
    fake.script(calls(python("print('a')"), python("raise SystemExit(3)"), python("print('c')")), text("ok"))
    assert ask(surface, gateway).text == "ok"
    first, second, third = results(fake.bodies()[1])
    assert '"a' in first and "3" in second and '"c' in third


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_thinking_comes_back_unchanged(mode, fake, gateway):
    """The fake refuses the second round if a block is missing, changed or moved."""
    thinking = [{"signed": {"text": "hm…", "signature": "sig"}}, {"redacted": "opaque"}]
    fake.script(calls(python("print(1)"), text="so", thinking=thinking), text("done"))
    answer = ask(
        ("anthropic", mode), gateway, max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1024}
    )
    assert answer.text.endswith("done")
    assert len(fake.requests()) == 2


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_reasoning_content_comes_back(mode, fake, gateway):
    """The fake refuses the second round if it is missing."""
    fake.script(calls(python("print(1)"), reasoning="because…"), text("done"))
    assert ask(("openai", mode), gateway).text == "done"
    assert len(fake.requests()) == 2


@pytest.mark.parametrize("surface", MODES)
def test_a_forced_choice_becomes_free_after_the_first_round(surface, fake, gateway):
    fake.script(calls(python("print(1)")), text("done"))
    forced = "required" if surface[0] == "openai" else {"type": "any"}
    answer = ask(surface, gateway, tool_choice=forced, tools=[{"type": "omni:eval_code"}])
    assert answer.text == "done"
    first, second = fake.bodies()
    assert first["tool_choice"] == forced
    assert second.get("tool_choice") in (None, "auto", {"type": "auto"})


def install(gateway, name):
    """A skill without parameters that is offered only where it is named."""
    skill = {"name": name, "description": "returns nothing", "handlerCode": "echo-handler", "mode": "auto"}
    answer = gateway.manage("POST", "/api/skills/install", json={**skill, "replace": True})
    assert answer.status_code == 200, answer.text
