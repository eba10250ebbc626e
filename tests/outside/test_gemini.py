"""The official Gemini SDK: plain, streamed, chats that remember, the client's own functions."""

import pytest
from google import genai
from google.genai import errors, types

from support.scripts import WEATHER, call, calls, python, text

MODEL = "fake-model"
VERSIONS = ["v1", "v1beta"]
MODES = ["plain", "stream"]


def client_of(gateway, version="v1beta", headers=None, key=None):
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(
        base_url=gateway.url, api_version=version, headers=headers or {}, retry_options=once
    )
    return genai.Client(api_key=key or gateway.key, http_options=options)


def two_skills():
    both = calls(python("print(6*7)"), call("file_write", path="a.txt", content="hi"), text="Let me see. ")
    thinking = [{"signed": {"text": "Hm.", "signature": "c2ln"}}]
    return [
        {**both, "thinking": thinking, "usage": {"input": 100, "output": 10}},
        text("It is 42.", usage={"input": 150, "output": 20}),
    ]


def ask(client, mode, **config):
    """Text, last chunk and names of the calls."""
    config = types.GenerateContentConfig(
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True), **config
    )
    request = {"model": MODEL, "contents": "please help", "config": config}
    if mode == "plain":
        chunks = [client.models.generate_content(**request)]
    else:
        chunks = list(client.models.generate_content_stream(**request))
    parts = [part for chunk in chunks for part in (chunk.candidates[0].content.parts or [])]
    said = "".join(part.text or "" for part in parts if not part.thought)
    return said, chunks[-1], [part.function_call for part in parts if part.function_call]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", MODES)
def test_two_skills_in_one_round(mode, version, fake, gateway, session_id):
    fake.script(*two_skills())
    headers = {"x-omni-use": "eval_code, file_write", "x-omni-session": session_id}
    said, last, called = ask(client_of(gateway, version, headers), mode)
    assert said == "Let me see. It is 42." and called == []
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata.prompt_token_count == 250
    assert last.usage_metadata.candidates_token_count == 30
    assert len(fake.requests()) == 2
    model, user = fake.bodies()[1]["contents"][1:]
    assert [part["thoughtSignature"] for part in model["parts"] if "thoughtSignature" in part] == ["c2ln"]
    answers = [part["functionResponse"]["response"]["result"] for part in user["parts"]]
    assert "42" in answers[0] and "a.txt" in answers[1]
    rows = gateway.executions(session=session_id)
    assert sorted(row["skillName"] for row in rows) == ["eval_code", "file_write"]


@pytest.mark.parametrize("mode", MODES)
def test_a_chat_remembers_what_the_tools_returned(mode, fake, gateway):
    fake.script(*two_skills(), text("unused"))
    client = client_of(gateway, headers={"x-omni-use": "eval_code, file_write"})
    chat = client.chats.create(model=MODEL)

    def send(words):
        if mode == "plain":
            return chat.send_message(words).text
        return "".join(chunk.text or "" for chunk in chat.send_message_stream(words))

    assert send("please help") == "Let me see. It is 42."
    fake.script(text("Because of the code."))
    assert send("why?") == "Because of the code."
    contents = fake.bodies()[0]["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "model", "user"]
    assert "42" in contents[2]["parts"][0]["functionResponse"]["response"]["result"]


@pytest.mark.parametrize("mode", MODES)
def test_the_clients_own_function(mode, fake, gateway):
    fake.script(calls({"name": "get_weather", "arguments": {"city": "那"}, "exact": True}))
    declaration = types.FunctionDeclaration(
        name=WEATHER["name"], description=WEATHER["description"], parameters_json_schema=WEATHER["schema"]
    )
    tools = [types.Tool(function_declarations=[declaration])]
    _, _, called = ask(client_of(gateway), mode, tools=tools)
    assert [(one.name, one.args) for one in called] == [("get_weather", {"city": "那"})]
    assert len(fake.requests()) == 1


@pytest.mark.parametrize("chunking", ["whole", {"bytes": 1}, {"bytes": 7}])
def test_cuts_anywhere_change_nothing(chunking, fake, gateway):
    words = "那个🙂 é — fin"
    fake.script({**calls(python("print('é🙂')")), "chunking": chunking}, text(words, chunking=chunking))
    assert ask(client_of(gateway), "stream")[0] == words


def test_a_slow_skill_keeps_the_stream_alive(fake, start, fake_process):
    fake.script(calls(python("import time; time.sleep(1.2)")), text("done"))
    gateway = start(upstream=fake_process.url, config="[turn]\nkeep_alive_ms = 200\n")
    assert ask(client_of(gateway, key="none"), "stream")[0] == "done"


@pytest.mark.parametrize("mode", MODES)
def test_errors_are_typed(mode, fake, gateway):
    with pytest.raises(errors.ClientError) as refused:
        ask(client_of(gateway, key="osk_unknown"), mode)
    assert refused.value.code == 401 and refused.value.status == "UNAUTHENTICATED"
    error = {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}
    fake.script({"fault": {"http": {"status": 429, "body": {"error": error}}}})
    with pytest.raises(errors.ClientError) as limited:
        ask(client_of(gateway), mode)
    assert limited.value.status == "RESOURCE_EXHAUSTED"
