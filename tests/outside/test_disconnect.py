"""A client that goes away takes its turn with it: the skill is cancelled, no further round is asked."""

import pytest
import requests

from support.processes import until
from support.scripts import calls, python, text
from support.surfaces import PLAIN, anthropic_client, ask, openai_client, sdk

LONG = "while True: pass"
CLOSES_WITHIN = 3.0


def assert_cancelled(gateway, fake, session, requests_seen=1):
    def ended():
        rows = gateway.executions(session=session)
        return rows and all(row["status"] not in ("pending", "running") for row in rows) and rows

    rows = until(ended, CLOSES_WITHIN)
    assert rows, "the run goes on after its client left"
    assert {row["status"] for row in rows} == {"error"}
    assert all(row["errorMessage"] for row in rows)
    assert len(fake.requests()) == requests_seen


def started(gateway, session):
    return until(lambda: [r for r in gateway.executions(session=session) if r["status"] == "running"])


@pytest.mark.parametrize("surface", PLAIN)
def test_a_plain_client_that_gives_up(surface, fake, gateway, session_id):
    fake.script(calls(python(LONG)), text("never"))
    with pytest.raises(sdk(surface[0]).APITimeoutError):
        ask(surface, gateway, headers={"x-omni-session": session_id}, timeout=1.0)
    assert_cancelled(gateway, fake, session_id)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_stream_that_is_closed(dialect, fake, gateway, session_id):
    fake.script({**calls(python(LONG)), "text": "Let me see."}, text("never"))
    request = {
        "model": "fake-model",
        "messages": [{"role": "user", "content": "x"}],
        "stream": True,
        "extra_headers": {"x-omni-session": session_id},
    }
    if dialect == "openai":
        stream = openai_client(gateway).chat.completions.create(**request)
    else:
        stream = anthropic_client(gateway).messages.create(max_tokens=50, **request)
    next(iter(stream))
    assert started(gateway, session_id)
    stream.close()
    assert_cancelled(gateway, fake, session_id)


@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_answer_is_dropped_with_its_client(stream, fake, gateway):
    """The model is still writing: its connection is closed, so that nobody pays for the rest."""
    fake.script({**text("a b c d e f g h"), "delay_ms": 0 if stream else 20000, "delay_within_ms": 5000})
    body = {"model": "fake-model", "stream": stream, "messages": [{"role": "user", "content": "x"}]}
    with pytest.raises(requests.RequestException):
        answer = requests.post(
            f"{gateway.url}/v1/chat/completions",
            json=body,
            headers={"x-omni-key": gateway.key},
            timeout=1,
        )
        answer.content
    assert until(lambda: [request["abandoned"] for request in fake.requests()] == [True], CLOSES_WITHIN)


@pytest.mark.parametrize("surface", PLAIN)
def test_the_gateway_works_on_after_many_departures(surface, fake, gateway, session_id):
    fake.script(calls(python(LONG)), text("done"))
    for _ in range(5):
        with pytest.raises(sdk(surface[0]).APITimeoutError):
            ask(surface, gateway, headers={"x-omni-session": session_id}, timeout=0.3)
    fake.script(calls(python("print(1)")), text("done"))
    assert ask(surface, gateway).text == "done"
