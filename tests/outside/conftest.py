"""One fake upstream and one gateway with a key for the whole session; others are made where a test needs them."""

import itertools

import pytest

from support.processes import FAKE_BIN, GATEWAY_BIN, Fake, Gateway


def pytest_sessionstart(session):
    for program in (FAKE_BIN, GATEWAY_BIN):
        if not program.exists():
            pytest.exit(f"{program} is missing; run: cargo build -p omni-skills -p testkit", returncode=2)


@pytest.fixture(scope="session")
def fake_process():
    fake = Fake()
    yield fake
    fake.stop()


@pytest.fixture
def fake(fake_process):
    """The fake upstream; at the end of each test nothing illegal may have reached it."""
    fake_process.script({"text": "done"})
    yield fake_process
    fake_process.assert_strict()


@pytest.fixture(scope="session")
def gateway(fake_process, tmp_path_factory):
    """A gateway that has a key, so that anonymous callers are out."""
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), fake_process.url)
    gateway.key = gateway.new_key()
    yield gateway
    gateway.stop()


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Starts further gateways; all are ended with the session."""
    running = []

    def start(**options):
        options.setdefault("data_dir", tmp_path_factory.mktemp("extra"))
        running.append(Gateway(**options))
        return running[-1]

    yield start
    for gateway in running:
        gateway.stop()


@pytest.fixture(scope="session")
def open_gateway(start, fake_process):
    """A gateway without any key: local callers are anonymous."""
    return start(upstream=fake_process.url)


_numbers = itertools.count(1)


@pytest.fixture
def session_id():
    return f"session-{next(_numbers)}"
