"""The Responses API through the official SDK: plain, streamed, and its stream helper."""

import openai
import pytest

from support.scripts import call, calls, python, text
from support.surfaces import MODEL, openai_client

WAYS = ["plain", "stream", "helper"]
WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}


def ask(way, gateway, **request):
    """The final response as the application has it, and everything that it saw, as text."""
    client = openai_client(gateway)
    request = {"model": MODEL, "input": "please help", **request}
    if way == "plain":
        response = client.responses.create(**request)
        return response, response.to_json()
    whole, ids = "", set()
    if way == "helper":
        with client.responses.stream(**request) as stream:
            for event in stream:
                whole += repr(event)
            return stream.get_final_response(), whole
    numbers, final = [], None
    for event in client.responses.create(stream=True, **request):
        whole += event.to_json()
        numbers.append(event.sequence_number)
        if hasattr(event, "response"):
            ids.add(event.response.id)
            final = event.response
    assert numbers == list(range(len(numbers)))
    assert len(ids) == 1
    return final, whole


@pytest.mark.parametrize("way", WAYS)
def test_two_rounds_are_one_response(way, fake, gateway):
    fake.script(calls(python("print(6*7)"), text="Let me see. ", reasoning="hm"), text("It is 42."))
    response, whole = ask(way, gateway)
    assert response.output_text == "Let me see. It is 42."
    assert response.status == "completed"
    assert [item.type for item in response.output] == ["reasoning", "message", "message"]
    assert response.usage.output_tokens == 14 and response.usage.total_tokens == 36
    assert "print(6*7)" not in whole and "eval_code" not in whole.replace("eval_code@1.0.0", "")
    first, second = fake.bodies()
    tool = next(tool for tool in first["tools"] if tool["name"].startswith("eval_code"))
    assert tool["type"] == "function" and tool["strict"] is False
    assert [item["type"] for item in second["input"]] == ["function_call_output"]
    assert "42" in second["input"][0]["output"]


@pytest.mark.parametrize("way", ["plain", "stream"])
def test_nothing_is_stored_when_the_client_says_so(way, fake, gateway):
    fake.script(calls(python("print(6*7)"), reasoning="hm"), text("done"))
    response, whole = ask(way, gateway, store=False)
    assert response.output_text == "done"
    assert "gAAAA" not in whole
    kinds = [item["type"] for item in fake.bodies()[1]["input"]]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output"]


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_can_be_continued_by_its_id(way, fake, gateway):
    """The fake refuses an id whose calls have no results."""
    fake.script(calls(python("print(1)"), reasoning="hm"), text("done"))
    first, _ = ask(way, gateway)
    fake.script(text("still here"))
    second, _ = ask(way, gateway, input="and now?", previous_response_id=first.id)
    assert second.output_text == "still here"


@pytest.mark.parametrize("way", WAYS)
def test_the_output_can_be_sent_back_as_it_is(way, fake, gateway):
    """The fake refuses reasoning without the call that it led to."""
    fake.script(calls(python("print(6*7)"), reasoning="hm"), text("done"))
    first, _ = ask(way, gateway)
    fake.script(text("still here"))
    history = [{"role": "user", "content": "please help"}, *first.output, {"role": "user", "content": "and now?"}]
    second, _ = ask(way, gateway, input=history)
    assert second.output_text == "still here"
    assert "42" in str(fake.bodies()[0]["input"])


@pytest.mark.parametrize("way", WAYS)
def test_the_clients_own_call_comes_back(way, fake, gateway):
    fake.script(calls(call("get_weather", city="Łódź")))
    response, _ = ask(way, gateway, tools=[WEATHER])
    (item,) = response.output
    assert (item.type, item.name) == ("function_call", "get_weather")
    assert "Łódź" in item.arguments


@pytest.mark.parametrize("way", WAYS)
def test_a_later_failure_is_raised(way, fake, gateway):
    failure = {"fault": {"http": {"status": 400, "body": {"error": {"message": "scripted", "type": "x"}}}}}
    fake.script(calls(python("print(1)")), failure)
    with pytest.raises(openai.APIError) as raised:
        ask(way, gateway)
    assert "scripted" in str(raised.value)
