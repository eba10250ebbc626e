"""The official SDKs behind one function: plain, streamed, and through their stream helpers.

`ask` sends one request and returns what an application would have. SDK errors are not caught.
"""

import functools
import itertools
import json
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai

MODEL = "fake-model"
OPENAI = [("openai", "plain"), ("openai", "stream"), ("openai", "helper")]
ANTHROPIC = [("anthropic", "plain"), ("anthropic", "stream"), ("anthropic", "helper")]
SURFACES = OPENAI + ANTHROPIC
MODES = [s for s in SURFACES if s[1] != "helper"]
PLAIN = [s for s in SURFACES if s[1] == "plain"]
STREAMED = [s for s in SURFACES if s[1] != "plain"]


@dataclass
class Answer:
    """One answer as the application sees it."""

    text: str = ""
    calls: list = field(default_factory=list)
    finish: str | None = None
    usage: Any = None
    omni: dict | None = None
    headers: Any = None
    sent: bytes | None = None
    whole: str = ""

    @property
    def turn(self):
        return (self.omni or {}).get("turnId") or self.headers["x-omni-turn-id"]

    @property
    def stop(self):
        return (self.omni or {}).get("stop") or self.headers["x-omni-stop"]


@dataclass
class Call:
    id: str
    name: str
    arguments: Any


def openai_client(gateway, key=None, **options):
    return _client(openai.OpenAI, f"{gateway.url}/v1", key or gateway.key or "none", options)


def anthropic_client(gateway, key=None, **options):
    return _client(anthropic.Anthropic, gateway.url, key or gateway.key or "none", options)


def _client(kind, url, key, options):
    if not options:
        return _plain(kind, url, key)
    return kind(base_url=url, api_key=key, **{"max_retries": 0, "timeout": 50, **options})


@functools.cache
def _plain(kind, url, key):
    """Made once, as an application would: a client costs more than a request."""
    return kind(base_url=url, api_key=key, max_retries=0, timeout=50)


def sdk(dialect):
    return openai if dialect == "openai" else anthropic


_numbers = itertools.count(1)


def fresh(words="please help"):
    """Words that begin a conversation of their own: equal beginnings are one conversation."""
    return f"{words} ({next(_numbers)})"


def ask(surface, gateway, prompt=None, *, key=None, headers=None, client=None, **options):
    """One request. `prompt` is a text or a list of messages, or a new question; `options` go to the SDK."""
    dialect, mode = surface
    messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt or fresh()}]
    request = {"model": MODEL, "messages": messages, "extra_headers": headers or {}, **options}
    if dialect == "openai":
        client = client or openai_client(gateway, key)
        return {"plain": _chat, "stream": _chat_stream, "helper": _chat_helper}[mode](client, request)
    client = client or anthropic_client(gateway, key)
    request.setdefault("max_tokens", 500)
    return {"plain": _message, "stream": _message_stream, "helper": _message_helper}[mode](client, request)


def _chat(client, request):
    raw = client.chat.completions.with_raw_response.create(**request)
    return _of_completion(raw.parse(), headers=raw.headers, sent=raw.http_request.content, whole=raw.http_response.text)


def _of_completion(completion, **more):
    assert len(completion.choices) == 1
    choice = completion.choices[0]
    assert choice.message.role == "assistant"
    found = [Call(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or []]
    return Answer(choice.message.content or "", found, choice.finish_reason, completion.usage, **more)


def _chat_stream(client, request):
    raw = client.chat.completions.with_raw_response.create(
        stream=True, stream_options={"include_usage": True}, **request
    )
    answer = Answer(headers=raw.headers, sent=raw.http_request.content)
    feed_chat(answer, raw.parse())
    return answer


def feed_chat(answer, chunks):
    """Adds chunks as an application would; checks that they are one stream."""
    ids, roles = set(), 0
    for chunk in chunks:
        ids.add(chunk.id)
        answer.whole += chunk.to_json(indent=None) + "\n"
        answer.omni = getattr(chunk, "omni", None) or answer.omni
        if chunk.usage:
            assert answer.usage is None, "usage was sent twice"
            answer.usage = chunk.usage
        for choice in chunk.choices:
            roles += choice.delta.role is not None
            answer.text += choice.delta.content or ""
            for delta in choice.delta.tool_calls or []:
                if delta.id:
                    assert delta.index == len(answer.calls), "indexes of calls have gaps"
                    answer.calls.append(Call(delta.id, delta.function.name, ""))
                answer.calls[delta.index].arguments += delta.function.arguments or ""
            if choice.finish_reason:
                assert answer.finish is None, "two ends in one stream"
                answer.finish = choice.finish_reason
    assert len(ids) == 1 and roles == 1, (ids, roles)


def _chat_helper(client, request):
    answer = Answer()
    with client.chat.completions.stream(stream_options={"include_usage": True}, **request) as stream:
        for event in stream:
            if event.type == "chunk":
                answer.whole += event.chunk.to_json(indent=None) + "\n"
                answer.omni = getattr(event.chunk, "omni", None) or answer.omni
        final = stream.get_final_completion()
    seen = _of_completion(final)
    seen.omni, seen.whole = answer.omni, answer.whole
    return seen


def _message(client, request):
    raw = client.messages.with_raw_response.create(**request)
    return _of_message(raw.parse(), headers=raw.headers, sent=raw.http_request.content, whole=raw.http_response.text)


def _of_message(message, **more):
    assert message.role == "assistant"
    words = "".join(block.text for block in message.content if block.type == "text")
    found = [Call(b.id, b.name, b.input) for b in message.content if b.type == "tool_use"]
    return Answer(words, found, message.stop_reason, message.usage, **more)


def _message_stream(client, request):
    raw = client.messages.with_raw_response.create(stream=True, **request)
    answer = Answer(headers=raw.headers, sent=raw.http_request.content)
    feed_message(answer, raw.parse())
    return answer


def feed_message(answer, events):
    """Adds events as an application would; checks that they are one stream."""
    starts, index = 0, -1
    for event in events:
        answer.whole += event.to_json(indent=None) + "\n"
        if event.type == "message_start":
            starts += 1
        elif event.type == "content_block_start":
            index += 1
            assert event.index == index, "indexes of blocks have gaps"
            if event.content_block.type == "tool_use":
                answer.calls.append(Call(event.content_block.id, event.content_block.name, ""))
        elif event.type == "content_block_delta":
            assert event.index == index
            if event.delta.type == "text_delta":
                answer.text += event.delta.text
            elif event.delta.type == "input_json_delta":
                answer.calls[-1].arguments += event.delta.partial_json
        elif event.type == "message_delta":
            assert answer.finish is None, "two ends in one stream"
            answer.finish = event.delta.stop_reason
            answer.usage = event.usage
            answer.omni = getattr(event, "omni", None) or answer.omni
    assert starts == 1
    for call in answer.calls:
        call.arguments = json.loads(call.arguments or "{}")


def _message_helper(client, request):
    answer = Answer()
    with client.messages.stream(**request) as stream:
        for event in stream:
            if event.type == "message_delta":
                answer.omni = getattr(event, "omni", None) or answer.omni
            answer.whole += event.type + "\n"
        final = stream.get_final_message()
    seen = _of_message(final)
    seen.omni, seen.whole = answer.omni, answer.whole + final.to_json(indent=None)
    return seen
