"""Rounds of the fake upstream, as JSON."""


def text(words, **more):
    return {"text": words, **more}


def calls(*calls, **more):
    return {"calls": list(calls), **more}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def raw_call(name, arguments):
    return {"name": name, "raw": arguments}


def python(code):
    return call("eval_code", language="python", code=code)


def javascript(code):
    return call("eval_code", language="javascript", code=code)


def http_fault(status, body=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"http": {"status": status, "headers": named, "body": body}}


def openai_error(status, message="scripted"):
    return {"error": {"message": message, "type": "scripted_error", "param": None, "code": f"c{status}"}}


def anthropic_error(kind, message="scripted"):
    return {"type": "error", "error": {"type": kind, "message": message}}


WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def client_tool(dialect, tool=None):
    """A tool of the client in a dialect's shape."""
    tool = tool or WEATHER
    if dialect == "openai":
        return {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["schema"],
            },
        }
    return {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]}


def tool_names(body):
    """The names of the tools in a recorded body of either dialect."""
    return [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]


def results(body):
    """Texts of all tool results in a recorded body of either dialect, in order."""
    out = []
    for message in body["messages"]:
        if message["role"] == "tool":
            out.append(as_text(message["content"]))
        elif message["role"] == "user" and isinstance(message["content"], list):
            out += [as_text(b["content"]) for b in message["content"] if b["type"] == "tool_result"]
    return out


def as_text(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
