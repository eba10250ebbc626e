"""kill -9 of the gateway while a skill runs; then a start on the same data folder."""

import threading

import pytest
import requests

from support.processes import Gateway, until
from support.scripts import calls, python, text

TOKEN = "omt_" + "c" * 64


ENDLESS = "while True: pass"


@pytest.mark.parametrize("signal", ["kill", "term"])
def test_rows_of_a_dead_process_are_closed(signal, fake, tmp_path):
    gateway = Gateway(tmp_path, fake.url, token=TOKEN, env={"SKILLS_SANDBOX_TIMEOUT_MS": "4000"})
    fake.script(calls(python("print('quick')"), python(ENDLESS)), text("never"))
    chat = threading.Thread(target=chat_once, args=(gateway,), daemon=True)
    chat.start()
    try:
        assert until(lambda: gateway.executions(status="success"), 10), "\n".join(gateway.lines)
        (running,) = gateway.executions(status="running")
        assert running["input"]["code"] == ENDLESS
    finally:
        gateway.stop(kill=signal == "kill")
    chat.join(20)

    again = Gateway(tmp_path, fake.url, token=TOKEN)
    try:
        rows = {row["id"]: row for row in again.executions()}
        ended = rows.pop(running["id"])
        assert [row["status"] for row in rows.values()] == ["success"]
        if signal == "kill":
            assert ended["status"] == "error"
            assert "interrupted" in ended["errorMessage"]
        else:
            # An orderly end may wait for the run, up to its own limit.
            assert ended["status"] in ("error", "timeout")
        fake.script(calls(python("print(1)")), text("done"))
        assert chat_once(again) == "done"
    finally:
        again.stop()


def chat_once(gateway):
    body = {"model": "fake-model", "messages": [{"role": "user", "content": "x"}]}
    try:
        answer = requests.post(f"{gateway.url}/v1/chat/completions", json=body, timeout=20)
        return answer.json()["choices"][0]["message"]["content"]
    except (requests.RequestException, KeyError):
        return None


def test_a_management_token_is_shown_once(tmp_path):
    first = Gateway(tmp_path)
    token = first.token
    first.stop()
    again = Restarted(tmp_path, token)
    try:
        assert again.manage("GET", "/api/keys").status_code == 200
        assert token not in "\n".join(again.lines)
    finally:
        again.stop()


class Restarted(Gateway):
    """A later start, which prints no token."""

    def __init__(self, data_dir, token):
        self._known = token
        super().__init__(data_dir)

    def wait_for(self, pattern):
        return self._known if "omt_" in pattern else super().wait_for(pattern)
