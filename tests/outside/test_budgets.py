"""A model that never stops calling: the turn ends with words, and says why."""

import pytest

from support.scripts import call, calls, python, results, text, client_tool
from support.surfaces import MODES, SURFACES, ask

LAST_WORDS = "That is what I have."


@pytest.mark.parametrize("surface", SURFACES)
def test_rounds_are_limited(surface, fake, gateway):
    fake.script(*[calls(python(f"print({n})")) for n in range(20)], without_tools=LAST_WORDS)
    answer = ask(surface, gateway)
    assert answer.text == LAST_WORDS and answer.calls == []
    assert answer.finish == ("stop" if surface[0] == "openai" else "end_turn")
    assert answer.stop == "max_rounds"
    bodies = fake.bodies()
    assert len(bodies) == 9, "eight rounds of tools and one for the answer"
    assert bodies[-1]["tools"] == bodies[0]["tools"], "the tools stay, for the provider's cache"
    assert len(gateway.executions(turn=answer.turn)) == 8


@pytest.mark.parametrize("surface", MODES)
def test_with_client_tools_ours_are_taken_out_at_the_end(surface, fake, gateway):
    tool = client_tool(surface[0])
    fake.script(*[calls(python(f"print({n})")) for n in range(8)], text(LAST_WORDS))
    answer = ask(surface, gateway, tools=[tool], headers={"x-omni-use": "eval_code"})
    assert answer.text == LAST_WORDS and answer.stop == "max_rounds"
    assert fake.bodies()[-1]["tools"] == [tool]


@pytest.mark.parametrize("surface", MODES)
def test_the_same_call_again_and_again(surface, fake, gateway):
    fake.script(calls(python("print('same')")), without_tools=LAST_WORDS)
    answer = ask(surface, gateway)
    assert answer.text == LAST_WORDS and answer.stop == "repeated_call"
    assert len(gateway.executions(turn=answer.turn)) == 3
    told = results(fake.bodies()[-1])
    assert "three times" in told[2] and "Not run" in told[3]
    assert len(fake.requests()) <= 6


@pytest.mark.parametrize("surface", MODES)
def test_a_skill_that_keeps_failing_is_not_run_for_ever(surface, fake, gateway):
    bad = [calls(call("file_read", path=f"missing-{n}.txt")) for n in range(4)]
    fake.script(*bad, text("I give up"))
    answer = ask(surface, gateway, headers={"x-omni-use": "file_read"})
    assert answer.text == "I give up"
    assert "not retry" in results(fake.bodies()[-1])[3]


@pytest.mark.parametrize("surface", MODES)
def test_executions_are_limited(surface, fake, gateway):
    """Forty calls in one message: as many run as the budget has, each is answered."""
    many = [python(f"print({n})") for n in range(40)]
    fake.script(calls(*many), without_tools=LAST_WORDS)
    answer = ask(surface, gateway)
    assert answer.text == LAST_WORDS and answer.stop == "execution_budget"
    told = results(fake.bodies()[-1])
    assert len(told) == 40
    assert "31" in told[31] and "budget" in told[32]
    assert len(gateway.executions(turn=answer.turn, status="success")) == 32


@pytest.mark.parametrize("surface", MODES)
def test_a_large_result_is_cut_with_a_mark(surface, fake, gateway):
    fake.script(calls(python("print('é' * 60000)")), text("ok"))
    assert ask(surface, gateway).text == "ok"
    (told,) = results(fake.bodies()[1])
    assert len(told.encode()) < 40_000
    assert "�" not in told
    assert "bytes are not shown" in told or "truncated" in told
