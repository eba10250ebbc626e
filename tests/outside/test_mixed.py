"""The model calls our skills and the client's tool in one message: each side sees its own, the upstream all of it."""

import json

import pytest
from google.genai import types

from support.pairs import CALLS, chat_pairs, gemini_pairs, message_pairs, response_pairs, whole
from support.scripts import WEATHER, call, calls, client_tool, javascript, text
from support.surfaces import MODEL, SURFACES, anthropic_client, ask, fresh, openai_client
from test_gemini import client_of

USE = {"x-omni-use": "eval_code"}
SECRET = ["eval_code", "console.log", "__1_0_0", "r-1", "r-3"]
WAYS = ["plain", "stream", "helper"]


def weather(city):
    return {**call("get_weather", city=city), "exact": True}


MIXED = [
    calls(javascript("console.log('r-' + 1)"), weather("Łódź"), javascript("console.log('r-' + 3)"), weather("Qom")),
    text("Warm in both."),
]
MIXED_WITH_THOUGHT = [{**MIXED[0], "thinking": [{"signed": {"text": "Both.", "signature": "c2ln"}}]}, MIXED[1]]
#: Where the client does not show the order of the calls, ours stand in front of its own.
OURS_FIRST = [CALLS[0], CALLS[2], CALLS[1], CALLS[3]]


def sunny(arguments):
    city = (json.loads(arguments) if isinstance(arguments, str) else arguments)["city"]
    return f"sunny in {city}"


def clean(words):
    """No trace of our own calls; under `omni` the skill may be named."""
    visible = words.replace("eval_code@1.0.0", "")
    assert [word for word in SECRET if word in visible] == []


def after(dialect, question, answer):
    """The history as the client has it, with its results."""
    if dialect == "openai":
        made = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in answer.calls
        ]
        results = [{"role": "tool", "tool_call_id": c.id, "content": sunny(c.arguments)} for c in answer.calls]
        return [question, {"role": "assistant", "content": answer.text or None, "tool_calls": made}, *results]
    made = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in answer.calls]
    results = [{"type": "tool_result", "tool_use_id": c.id, "content": sunny(c.arguments)} for c in answer.calls]
    return [question, {"role": "assistant", "content": made}, {"role": "user", "content": results}]


@pytest.mark.parametrize("surface", SURFACES)
def test_chat_and_messages(surface, fake, gateway):
    dialect = surface[0]
    fake.script(*MIXED)
    question = {"role": "user", "content": fresh()}
    options = {"tools": [client_tool(dialect)], "headers": USE}
    first = ask(surface, gateway, [question], **options)
    assert [c.name for c in first.calls] == ["get_weather", "get_weather"]
    assert first.finish == ("tool_calls" if dialect == "openai" else "tool_use")
    assert first.stop == "client_tools"
    clean(first.whole)
    second = ask(surface, gateway, after(dialect, question, first), **options)
    assert second.text == "Warm in both." and second.calls == []
    clean(second.whole)
    _, body = fake.bodies()
    assert whole((chat_pairs if dialect == "openai" else message_pairs)(body)) == CALLS


def thinking_messages(way, client, **request):
    if way == "plain":
        return client.messages.create(**request)
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("way", ["plain", "helper"])
def test_messages_with_thinking(way, fake, gateway):
    """The signed thought stays in front of its calls, and the SDK's own blocks go back as they are."""
    fake.script(*MIXED_WITH_THOUGHT)
    client = anthropic_client(gateway, default_headers=USE)
    request = {
        "model": MODEL,
        "max_tokens": 2000,
        "tools": [client_tool("anthropic")],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }
    messages = [{"role": "user", "content": fresh()}]
    first = thinking_messages(way, client, messages=messages, **request)
    assert [block.type for block in first.content] == ["thinking", "tool_use", "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": sunny(block.input)} for block in first.content[1:]
    ]
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = thinking_messages(way, client, messages=messages, **request)
    assert second.content[0].text == "Warm in both."
    _, body = fake.bodies()
    assert whole(message_pairs(body)) == CALLS
    assert body["messages"][1]["content"][0]["signature"] == "c2ln"


def respond(way, client, **request):
    """The final response, and everything that was seen."""
    if way == "plain":
        response = client.responses.create(**request)
        return response, response.to_json()
    if way == "helper":
        with client.responses.stream(**request) as stream:
            seen = "".join(repr(event) for event in stream)
            return stream.get_final_response(), seen
    events = list(client.responses.create(stream=True, **request))
    return events[-1].response, "".join(event.to_json() for event in events)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_responses(way, store, fake, gateway):
    fake.script({**MIXED[0], "reasoning": "Both."}, MIXED[1])
    client = openai_client(gateway, default_headers=USE)
    tool = {"type": "function", "name": WEATHER["name"], "parameters": WEATHER["schema"], "strict": False}
    request = {"model": MODEL, "tools": [tool], "store": store}
    if not store:
        request["include"] = ["reasoning.encrypted_content"]
    question = {"role": "user", "content": fresh()}
    first, seen = respond(way, client, input=[question], **request)
    clean(seen)
    made = [item for item in first.output if item.type == "function_call"]
    assert [item.name for item in made] == ["get_weather", "get_weather"]
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": sunny(item.arguments)} for item in made
    ]
    if store:
        following = {"previous_response_id": first.id, "input": results}
    else:
        following = {"input": [question, *first.output, *results]}
    second, seen = respond(way, client, **following, **request)
    assert second.output_text == "Warm in both."
    clean(seen)
    _, body = fake.bodies()
    pairs = response_pairs(body, {item.call_id: item.name for item in made})
    assert whole(pairs) == OURS_FIRST


def generate(mode, client, **request):
    """The parts of the answer, and everything that was seen."""
    if mode == "plain":
        chunks = [client.models.generate_content(model=MODEL, **request)]
    else:
        chunks = list(client.models.generate_content_stream(model=MODEL, **request))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    return parts, "".join(chunk.model_dump_json() for chunk in chunks)


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_gemini(mode, fake, gateway):
    fake.script(*MIXED_WITH_THOUGHT)
    client = client_of(gateway, headers=USE)
    declaration = types.FunctionDeclaration(name=WEATHER["name"], parameters_json_schema=WEATHER["schema"])
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])])
    contents = [types.UserContent(fresh())]
    parts, seen = generate(mode, client, contents=contents, config=config)
    clean(seen)
    made = [part.function_call for part in parts if part.function_call]
    assert [c.name for c in made] == ["get_weather", "get_weather"]
    results = [
        types.Part(function_response=types.FunctionResponse(id=c.id, name=c.name, response={"result": sunny(c.args)}))
        for c in made
    ]
    contents += [types.ModelContent(parts), types.UserContent(results)]
    parts, seen = generate(mode, client, contents=contents, config=config)
    clean(seen)
    assert "".join(part.text or "" for part in parts) == "Warm in both."
    _, body = fake.bodies()
    assert whole(gemini_pairs(body)) == CALLS
    signed = [part for part in body["contents"][1]["parts"] if part.get("thoughtSignature") == "c2ln"]
    assert len(signed) == 1


@pytest.mark.parametrize("mode", ["plain", "stream", "chat"])
def test_gemini_calls_the_clients_function_by_itself(mode, fake, gateway):
    """Automatic function calling: the SDK runs a Python function, and asks again."""
    asked = []

    def get_weather(city: str) -> str:
        """Weather of a city."""
        asked.append(city)
        return f"sunny in {city}"

    fake.script(*MIXED_WITH_THOUGHT)
    client = client_of(gateway, headers=USE)
    config = types.GenerateContentConfig(tools=[get_weather])
    if mode == "chat":
        answer = client.chats.create(model=MODEL, config=config).send_message(fresh())
        said, seen = answer.text, answer.model_dump_json()
    else:
        parts, seen = generate(mode, client, contents=fresh(), config=config)
        said = "".join(part.text or "" for part in parts if not part.thought)
    assert said == "Warm in both."
    assert asked == ["Łódź", "Qom"]
    clean(seen)
    _, body = fake.bodies()
    assert whole(gemini_pairs(body)) == CALLS
