"""An upstream that fails in round 1: the SDK raises what it would raise without us."""

import socket

import pytest

from support.scripts import anthropic_error, http_fault, openai_error, python, calls, text
from support.surfaces import MODES, PLAIN, STREAMED, ask, sdk

STATUSES = [
    (400, "BadRequestError", "invalid_request_error"),
    (429, "RateLimitError", "rate_limit_error"),
    (500, "InternalServerError", "api_error"),
    (529, "InternalServerError", "overloaded_error"),
]
WITH = [{}, {"x-omni-skills": "off"}]


def body_of(surface, status, kind):
    return openai_error(status) if surface[0] == "openai" else anthropic_error(kind)


@pytest.mark.parametrize("headers", WITH, ids=["with skills", "without"])
@pytest.mark.parametrize("status, error, kind", STATUSES)
@pytest.mark.parametrize("surface", MODES)
def test_status_body_and_headers_pass(surface, status, error, kind, headers, fake, gateway):
    body = body_of(surface, status, kind)
    fake.script({"fault": http_fault(status, body, retry_after="7", x_fake="yes", request_id="req_abc")})
    with pytest.raises(getattr(sdk(surface[0]), error)) as caught:
        ask(surface, gateway, headers=headers)
    failed = caught.value
    assert failed.status_code == status
    assert failed.response.json() == body
    assert failed.response.headers["content-type"].startswith("application/json")
    assert failed.response.headers["retry-after"] == "7"
    assert failed.response.headers["x-fake"] == "yes"
    assert failed.response.headers["x-omni-turn-id"]
    assert "x-should-retry" not in failed.response.headers
    # Only a 400 may be asked once more, with the client's own bytes, and only if something was added to them.
    assert len(fake.requests()) <= (2 if status == 400 and not headers else 1)


@pytest.mark.parametrize("surface", MODES)
def test_an_error_that_is_not_json_passes(surface, fake, gateway):
    fake.script({"fault": http_fault(500, "<html>oops</html>")})
    with pytest.raises(sdk(surface[0]).InternalServerError) as caught:
        ask(surface, gateway)
    assert caught.value.response.text == "<html>oops</html>"


@pytest.mark.parametrize("surface", PLAIN)
@pytest.mark.parametrize("fault", ["drop", {"drop_after_bytes": 40}], ids=["no byte", "half an answer"])
def test_a_dropped_plain_answer_is_a_typed_error(surface, fault, fake, gateway):
    fake.script({**text("never seen whole"), "fault": fault})
    with pytest.raises(sdk(surface[0]).InternalServerError) as caught:
        ask(surface, gateway)
    assert caught.value.status_code == 502
    assert "upstream" in str(caught.value)


@pytest.mark.parametrize("surface", STREAMED)
@pytest.mark.parametrize("fault", [{"drop_after_events": 4}, {"end_after_events": 4}], ids=["drop", "end"])
def test_a_stream_that_breaks_off_is_an_error_event(surface, fault, fake, gateway):
    fake.script({**text("one two three four"), "fault": fault})
    with pytest.raises(sdk(surface[0]).APIError) as caught:
        ask(surface, gateway)
    assert "upstream" in str(caught.value)


@pytest.mark.parametrize("surface", STREAMED)
def test_an_error_event_of_the_upstream_arrives(surface, fake, gateway):
    fake.script({**text("one two three"), "fault": {"error_event": {"after_events": 4, "message": "I am tired"}}})
    with pytest.raises(sdk(surface[0]).APIError) as caught:
        ask(surface, gateway)
    assert "I am tired" in str(caught.value)


@pytest.mark.parametrize("surface", MODES)
def test_an_upstream_that_is_not_there(surface, start, fake, closed_port):
    gateway = start(upstream=f"http://127.0.0.1:{closed_port}")
    with pytest.raises(sdk(surface[0]).InternalServerError) as caught:
        ask(surface, gateway)
    assert caught.value.status_code == 502
    assert "fake" in str(caught.value), "the message names the upstream"


@pytest.mark.parametrize("surface", MODES)
def test_a_wrong_upstream_credential_is_not_a_login_problem(surface, fake, gateway):
    """The provider's 401 passes; it is about the operator's key, which never shows."""
    fake.script(calls(python("print(1)")), require_key="another")
    with pytest.raises(sdk(surface[0]).AuthenticationError) as caught:
        ask(surface, gateway)
    assert "sk-upstream-only" not in caught.value.response.text
    fake.script(text("done"))


@pytest.fixture(scope="module")
def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield free.getsockname()[1]
