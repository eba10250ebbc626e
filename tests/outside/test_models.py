"""Models that nobody answers, and the stand-in that needs no upstream."""

import json
import subprocess

import pytest

from support.surfaces import MODES, PLAIN, SURFACES, ask, sdk

ASKS = 'please run eval_code {"language":"python","code":"print(6*7)"}'


@pytest.mark.parametrize("surface", MODES)
def test_an_unknown_model(surface, fake, gateway):
    with pytest.raises(sdk(surface[0]).NotFoundError) as caught:
        ask(surface, gateway, model="unheard-of-9000")
    said = str(caught.value)
    assert "unheard-of-9000" in said and "upstreams" in said
    assert fake.requests() == []


@pytest.mark.parametrize("surface", MODES)
def test_no_upstream_in_this_dialect(surface, start, fake):
    other = "anthropic_messages" if surface[0] == "openai" else "openai_chat"
    gateway = start(
        config=f'[[upstreams]]\nname = "one"\ndialect = "{other}"\nbase_url = "{fake.url}"\n'
        'api_key_env = "FAKE_UPSTREAM_KEY"\n'
    )
    with pytest.raises(sdk(surface[0]).NotFoundError) as caught:
        ask(surface, gateway)
    assert "dialect" in str(caught.value)


@pytest.fixture(scope="module")
def alone(start):
    """A gateway that knows no upstream at all."""
    return start(config="[server]\n")


@pytest.mark.parametrize("surface", SURFACES)
def test_the_demo_model_runs_a_skill(surface, alone, session_id):
    answer = ask(surface, alone, ASKS, model="demo", headers={"x-omni-session": session_id})
    assert "42" in answer.text
    assert answer.finish == ("stop" if surface[0] == "openai" else "end_turn")
    (row,) = alone.executions(session=session_id)
    assert (row["skillName"], row["status"]) == ("eval_code", "success")
    assert row["output"]["stdout"] == "42\n"


@pytest.mark.parametrize("surface", PLAIN)
def test_the_demo_model_explains_itself(surface, alone):
    assert "demo" in ask(surface, alone, "hello", model="demo").text


def test_the_first_command_of_the_greeting_works(alone):
    """The example that `serve` prints is run as it is printed."""
    command = next(line for line in alone.lines if "curl" in line)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30)
    answer = json.loads(done.stdout)
    assert "42" in answer["choices"][0]["message"]["content"]
