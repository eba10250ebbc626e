"""Hooks of Schemathesis: some bodies name things that exist, so that more than refusals is tried.

A legal member takes the place of a legal member, whatever else is in the body: a body stays as legal as it was.
"""

import itertools
import re

import schemathesis

_count = itertools.count()


@schemathesis.hook
def map_case(context, case):
    body = case.body
    if not isinstance(body, dict):
        return case
    if case.operation.label == "POST /api/skills/install":
        # Which handlers there are, and what a schema of a skill may hold, the document does not say.
        if isinstance(body.get("handlerCode"), str):
            body["handlerCode"] = "echo-handler"
        if _is_free(body.get("schema"), {"input", "output"}):
            del body["schema"]
    elif case.operation.label == "PATCH /api/settings" and body.get("skillsEnabled") is False:
        # Switched off, everything that runs is 503 from then on.
        body["skillsEnabled"] = True
    elif case.operation.label == "POST /api/skills/executions" and next(_count) % 2:
        name, given = body.get("skillName"), body.get("input", {})
        if isinstance(name, str) and re.fullmatch(r"\w{1,100}", name) and isinstance(given, dict):
            body["skillName"] = "eval_code"
            body["input"] = {"language": "javascript", "code": "console.log(1)"}
    return case


def _is_free(schema, members):
    return isinstance(schema, dict) and set(schema) <= members and all(isinstance(s, dict) for s in schema.values())
