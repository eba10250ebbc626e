"""Reads bodies that reached the upstream: each call of the last round with its result, in order."""

import re

from .scripts import as_text

#: What the mixed turn of the tests calls, in order, with the results.
CALLS = ["eval_code r-1", "get_weather sunny in Łódź", "eval_code r-3", "get_weather sunny in Qom"]


def whole(pairs):
    """Pairs of name and result as in `CALLS`."""
    found = [(name.split("__")[0], re.search(r"r-\d|sunny in \w+", result)) for name, result in pairs]
    return [f"{name} {result and result.group()}" for name, result in found]


def chat_pairs(body):
    """The results follow their calls at once."""
    messages = body["messages"]
    at = max(i for i, message in enumerate(messages) if message.get("tool_calls"))
    made = messages[at]["tool_calls"]
    results = messages[at + 1 : at + 1 + len(made)]
    assert [message["tool_call_id"] for message in results] == [call["id"] for call in made]
    return [(c["function"]["name"], as_text(r["content"])) for c, r in zip(made, results, strict=True)]


def message_pairs(body):
    """The next message begins with the results."""
    messages = body["messages"]
    made = [[block for block in blocks_of(message) if block["type"] == "tool_use"] for message in messages]
    at = max(i for i, blocks in enumerate(made) if blocks)
    results = messages[at + 1]["content"][: len(made[at])]
    assert [block["tool_use_id"] for block in results] == [block["id"] for block in made[at]]
    return [(c["name"], as_text(r["content"])) for c, r in zip(made[at], results, strict=True)]


def blocks_of(message):
    return message["content"] if isinstance(message["content"], list) else []


def response_pairs(body, theirs):
    """All results are for calls in the input, or of the response that it goes on with; `theirs` are the client's."""
    results = [item for item in body["input"] if item.get("type") == "function_call_output"]
    made = [item for item in body["input"] if item.get("type") == "function_call"]
    if body.get("previous_response_id"):
        assert made == [] and results == body["input"]
    else:
        assert [item["call_id"] for item in results] == [item["call_id"] for item in made]
    return [(theirs.get(item["call_id"], "eval_code"), as_text(item["output"])) for item in results]


def gemini_pairs(body):
    """The next content has the results, by name and position."""
    contents = body["contents"]
    made = [[p["functionCall"] for p in content["parts"] if "functionCall" in p] for content in contents]
    at = max(i for i, found in enumerate(made) if found)
    results = [part["functionResponse"] for part in contents[at + 1]["parts"]]
    assert [result["name"] for result in results] == [call["name"] for call in made[at]]
    return [(call["name"], str(result["response"])) for call, result in zip(made[at], results, strict=True)]
