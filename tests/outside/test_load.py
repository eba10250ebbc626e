"""Many chats at once, and programs that try to hurt: the others go on."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support.scripts import call, calls, python, results, text
from support.surfaces import MODES, anthropic_client, ask, openai_client

GATEWAY_MEMORY_MIB = 400


@pytest.mark.timeout(120)
def test_two_hundred_chats_at_concurrency_fifteen(fake, gateway):
    """Every answer is usable: words, no raw call, the right finish."""
    fake.script(calls(python("print(6*7)")), text("It is 42."))
    clients = {"openai": openai_client(gateway), "anthropic": anthropic_client(gateway)}

    def one(number):
        surface = MODES[number % len(MODES)]
        return ask(surface, gateway, f"chat {number}", client=clients[surface[0]])

    with ThreadPoolExecutor(15) as pool:
        answers = list(pool.map(one, range(200)))
    assert [a.text for a in answers] == ["It is 42."] * 200
    assert all(a.calls == [] and a.finish in ("stop", "end_turn") for a in answers)
    assert len({a.turn for a in answers}) == 200
    bodies = fake.bodies()
    assert len(bodies) == 400
    assert all("42" in results(body)[0] for body in bodies if results(body))


ENDLESS = "while True: pass"
HOSTILE = {
    "1 GB of output": "s = 'x' * 1000000\nfor _ in range(1000): print(s)",
    "1 GB of errors": "import sys\ns = 'x' * 1000000\nfor _ in range(1000): sys.stderr.write(s)",
    "800 MB of memory": "b = bytearray(800 * 1024 * 1024)\nprint(len(b))",
    "memory by doubling": "a = [0]\nwhile True: a += a",
    "deep recursion": "def f(n): return f(n + 1) + 1\nf(0)",
    "an endless loop": ENDLESS,
}


@pytest.mark.parametrize("program", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_program_hurts_nobody(program, fake, gateway, session_id):
    # The endless one ends by its limit alone, which need not be the longest.
    limit = {"timeoutMs": 2000} if program == ENDLESS else {}
    hostile = [calls(call("eval_code", language="python", code=program, **limit)), text("survived")]
    fake.script(
        calls(python("print('fine')")),
        text("good"),
        cases=[{"user_says": "be hostile", "rounds": hostile}],
    )
    with ThreadPoolExecutor(1) as pool:
        bad = pool.submit(
            ask, ("openai", "plain"), gateway, "be hostile", headers={"x-omni-session": session_id}
        )
        for surface in MODES:
            assert ask(surface, gateway, "be good").text == "good"
        assert bad.result(40).text == "survived"
    (row,) = gateway.executions(session=session_id)
    assert row["status"] in ("error", "timeout"), row["status"]
    assert gateway.peak_memory_mib() < GATEWAY_MEMORY_MIB
    told = next(results(body)[0] for body in fake.bodies() if results(body) and "hostile" in str(body["messages"][0]))
    assert len(told.encode()) <= 34_000
