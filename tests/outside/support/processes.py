"""The two programs under test as child processes on loopback: the fake upstream and the gateway.

Each is ended by its own process id. Nothing here knows what a test wants to see.
"""

import os
import re
import subprocess
import threading
import time
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
FAKE_BIN = Path(os.environ.get("FAKE_UPSTREAM_BIN", TARGET / "fake-upstream"))
GATEWAY_BIN = Path(os.environ.get("OMNI_SKILLS_BIN", TARGET / "omni-skills"))

UPSTREAM_KEY = "sk-upstream-only"
START_SECONDS = 30


class Process:
    """A child whose output is read line by line for as long as it lives."""

    def __init__(self, command, env=None):
        clean = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        self.child = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**clean, **(env or {})},
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def pid(self):
        return self.child.pid

    def wait_for(self, pattern):
        """The first match of a pattern in the output."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if match := re.search(pattern, line):
                    return match.group(1)
            if self.child.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no {pattern!r} in the output:\n" + "\n".join(self.lines))

    def stop(self, kill=False):
        if self.child.poll() is None:
            self.child.kill() if kill else self.child.terminate()
            try:
                self.child.wait(15)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait(15)
        self._reader.join(5)

    def peak_memory_mib(self):
        """The largest resident size so far, without children."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) // 1024


class Fake(Process):
    """The strict fake upstream."""

    def __init__(self):
        super().__init__([FAKE_BIN])
        self.url = self.wait_for(r"listening on (http://\S+)")
        self.session = requests.Session()

    def script(self, *rounds, **rules):
        """Replaces the script and forgets the requests."""
        body = {"rounds": list(rounds), "require_key": UPSTREAM_KEY, **rules}
        answer = self.session.post(f"{self.url}/__script", json=body, timeout=5)
        assert answer.status_code == 200, answer.text

    def requests(self):
        return self.session.get(f"{self.url}/__requests", timeout=10).json()

    def bodies(self):
        return [request["body"] for request in self.requests()]

    def assert_strict(self):
        """Nothing illegal has reached the upstream."""
        assert [r["refusal"] for r in self.requests() if r["refusal"]] == []


class Gateway(Process):
    """The gateway with a data folder of its own."""

    def __init__(self, data_dir, upstream=None, config="", env=None, token=None):
        self.data_dir = Path(data_dir)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        file = self.data_dir / "test-config.toml"
        file.write_text(config + (upstreams(upstream) if upstream else ""))
        extra = {"FAKE_UPSTREAM_KEY": UPSTREAM_KEY, "RUST_LOG": "info", **(env or {})}
        if token:
            extra["OMNI_SKILLS_MGMT_TOKEN"] = token
        command = [GATEWAY_BIN, "serve", "--config", file, "--data-dir", self.data_dir, "--port", "0"]
        super().__init__(command, extra)
        self.url = self.wait_for(r"listens? on (http://127\.0\.0\.1:\d+)")
        self.token = token or self.wait_for(r"management token: (omt_\S+)")
        self.key = None
        self._ready()

    def _ready(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if requests.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except requests.ConnectionError:
                pass
            time.sleep(0.05)
        raise AssertionError("the gateway is not ready:\n" + "\n".join(self.lines))

    def manage(self, method, path, **kwargs):
        headers = {"Authorization": f"Bearer {self.token}", **kwargs.pop("headers", {})}
        return requests.request(method, self.url + path, headers=headers, timeout=20, **kwargs)

    def new_key(self, name="outside", **fields):
        answer = self.manage("POST", "/api/keys", json={"name": name, **fields})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["key"]

    def executions(self, **filters):
        """Rows of the history, oldest first, as management sees them."""
        answer = self.manage("GET", "/api/skills/executions", params={"limit": 200, **filters})
        assert answer.status_code == 200, answer.text
        return list(reversed(answer.json()["data"]))


def upstreams(url):
    return f"""
[[upstreams]]
name = "fake"
dialect = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"]
base_url = "{url}"
api_key_env = "FAKE_UPSTREAM_KEY"
models = ["fake-*"]
"""


def until(condition, seconds=5.0):
    """Waits for a condition; its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(0.05)
