"""An upstream that fails after a skill ran: asked again, but the skill never runs twice."""

import pytest

from support.scripts import calls, http_fault, python, results, text
from support.surfaces import (
    MODES,
    PLAIN,
    STREAMED,
    Answer,
    anthropic_client,
    ask,
    feed_chat,
    feed_message,
    openai_client,
    sdk,
)

RUN = calls(python("print('ran')"))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("surface", MODES)
def test_two_failures_then_an_answer(surface, status, fake, gateway):
    fake.script(RUN, {**text("done"), "first": [http_fault(status)] * 2})
    answer = ask(surface, gateway)
    assert answer.text == "done"
    bodies = fake.bodies()
    assert len(bodies) == 4
    assert bodies[1] == bodies[2] == bodies[3]
    assert len(gateway.executions(turn=answer.turn)) == 1


@pytest.mark.parametrize("surface", MODES)
def test_a_dropped_connection_then_an_answer(surface, fake, gateway):
    fake.script(RUN, {**text("done"), "first": ["drop"]})
    answer = ask(surface, gateway)
    assert answer.text == "done"
    assert len(gateway.executions(turn=answer.turn)) == 1


@pytest.mark.parametrize("surface", PLAIN)
@pytest.mark.parametrize("status", [400, 500, 503])
def test_a_lasting_failure_is_not_retried_by_the_sdk(surface, status, fake, gateway, session_id):
    """With the SDK's own retries on: `x-should-retry: false` keeps it from running the skill again."""
    client = retrying(surface[0], gateway)
    fake.script(RUN, {"fault": http_fault(status)})
    with pytest.raises(sdk(surface[0]).APIStatusError) as caught:
        ask(surface, gateway, client=client, headers={"x-omni-session": session_id})
    assert caught.value.status_code == status
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(fake.requests()) == (4 if status == 503 else 2)
    assert len(gateway.executions(session=session_id)) == 1


@pytest.mark.parametrize("surface", PLAIN)
def test_a_first_round_failure_is_left_to_the_sdk(surface, fake, gateway):
    """Nothing ran yet, so the SDK may retry; we do not do it for it."""
    fake.script({**text("done"), "first": [http_fault(503, retry_after_ms="1")]})
    answer = ask(surface, gateway, client=retrying(surface[0], gateway))
    assert answer.text == "done"
    assert len(fake.requests()) == 2


def retrying(dialect, gateway):
    make = openai_client if dialect == "openai" else anthropic_client
    return make(gateway, max_retries=2)


@pytest.mark.parametrize("surface", STREAMED)
def test_a_lasting_failure_in_a_stream_is_an_error_event(surface, fake, gateway, session_id):
    fake.script({**RUN, "text": "Let me see. "}, {"fault": http_fault(503)})
    with pytest.raises(sdk(surface[0]).APIError):
        ask(surface, gateway, headers={"x-omni-session": session_id})
    assert len(gateway.executions(session=session_id)) == 1


@pytest.mark.parametrize("fault", [{"drop_after_events": 3}, {"end_after_events": 3}], ids=["drop", "end"])
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_drop_in_the_middle_is_no_prose(dialect, fault, fake, gateway):
    """What the client has seen is only what the model said; the failure is an exception."""
    words = "one two three four five six"
    fake.script({**RUN, "text": "Let me see. "}, {**text(words), "fault": fault})
    answer = Answer()
    request = {"model": "fake-model", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with pytest.raises(sdk(dialect).APIError) as caught:
        if dialect == "openai":
            feed_chat(answer, openai_client(gateway).chat.completions.create(**request))
        else:
            feed_message(answer, anthropic_client(gateway).messages.create(max_tokens=50, **request))
    # The texts of two rounds may be set apart, but not a word is added.
    assert ("Let me see. " + words).split()[: len(answer.text.split()) - 1] == answer.text.split()[:-1]
    assert answer.finish is None
    assert "omni" not in answer.text.lower()
    assert "upstream" in str(caught.value)
    assert "ran" in results(fake.bodies()[1])[0]


@pytest.mark.parametrize("surface", PLAIN)
def test_a_drop_in_a_plain_second_round(surface, fake, gateway, session_id):
    fake.script(RUN, {**text("half"), "fault": {"drop_after_bytes": 30}})
    with pytest.raises(sdk(surface[0]).APIStatusError) as caught:
        ask(surface, gateway, client=retrying(surface[0], gateway), headers={"x-omni-session": session_id})
    assert caught.value.status_code == 502
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(gateway.executions(session=session_id)) == 1


@pytest.mark.parametrize("surface", PLAIN)
def test_a_long_retry_after_is_not_waited_for(surface, fake, gateway):
    fake.script(RUN, {"fault": http_fault(429, retry_after="3600")})
    with pytest.raises(sdk(surface[0]).RateLimitError):
        ask(surface, gateway)
    assert len(fake.requests()) == 2
