"""The served OpenAPI document against the gateway: Schemathesis tries every operation, and chains of them by links.

The operations of the LLM proxy are the providers' own; the stream of executions never ends.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import requests

SEED = "20260401"
TOKEN = "omt_" + "f" * 60
CONFIG = """
[checks.positive_data_acceptance]
# 422: an input that the skill's own schema refuses.
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429", "503"]
"""


@pytest.fixture(scope="module")
def fuzzed(start):
    """A gateway of its own: what is tried here deletes keys and switches skills off."""
    gateway = start(token=TOKEN)
    gateway.new_key()
    return gateway


def schemathesis(gateway, folder, *arguments):
    """Runs it; its output if it found something."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG)
    here = str(Path(__file__).parent)
    places = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "NO_COLOR": "1"}
    env["SCHEMATHESIS_HOOKS"] = "support.fuzz_hooks"
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    command += [f"{gateway.url}/api/openapi.json", "--header", f"Authorization: Bearer {TOKEN}"]
    command += ["--exclude-tag", "LLM proxy", "--exclude-operation-id", "streamExecutions"]
    command += ["--seed", SEED, "--request-timeout", "20", "--continue-on-failure", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=400, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.timeout(420)
def test_no_operation_answers_what_the_document_does_not_say(fuzzed, tmp_path):
    code, said = schemathesis(fuzzed, tmp_path, "--max-examples", "20", "--checks", "all")
    assert code == 0, said
    selected, tested = (re.search(rf"{word}: (\d+)", said).group(1) for word in ("Selected", "Tested"))
    assert selected == tested and int(tested) > 20, said
    # Whatever was tried, it goes on serving.
    assert requests.get(f"{fuzzed.url}/readyz", timeout=10).status_code == 200


def test_the_document_needs_a_credential_and_names_every_status_of_a_refusal(fuzzed):
    stranger = requests.get(f"{fuzzed.url}/api/openapi.json", timeout=10)
    assert (stranger.status_code, stranger.json()["code"]) == (401, "missing_credential")
    document = fuzzed.manage("GET", "/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, item in document["paths"].items():
        for method, operation in item.items():
            described = set(operation["responses"])
            assert "405" in described, (method, path)
            if operation["security"]:
                assert {"401", "403"} <= described, (method, path)
            if operation.get("requestBody"):
                assert {"400", "413", "415", "422"} <= described, (method, path)
