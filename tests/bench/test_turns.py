"""Streams take turns, and what is said of their turns holds."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from penstock.bench.turns import _Turns, ratio, worked


def test_each_has_one_turn_in_every_round_and_none_works_beside_another():
    turns, working, most = _Turns(["a", "b", "c"], rounds=5), [0], [0]

    def stream(name: str) -> None:
        for _ in range(7):  # one for start-up, and one behind the last turn
            turns._next(name)
            working[0] += 1
            most[0] = max(most[0], working[0])
            time.sleep(0.002)
            working[0] -= 1

    threads = [threading.Thread(target=stream, args=(name,)) for name in "abc"]
    for one in threads:
        one.start()
    while turns._done < len(turns._order):
        assert most[0] <= 1
        time.sleep(0.001)
    for one in threads:
        one.join()
    assert {name: len(taken) for name, taken in turns.taken.items()} == dict.fromkeys("abc", 5)
    assert all(turn.seconds >= 0.002 for taken in turns.taken.values() for turn in taken)
    assert all(set(turns._order[i : i + 3]) == set("abc") for i in range(0, 15, 3))


def test_a_stream_that_dies_does_not_keep_others_waiting(monkeypatch):
    monkeypatch.setattr("penstock.bench.turns._PATIENCE", 0.01)
    turns = _Turns(["alive", "dead"], rounds=3)
    for _ in range(5):
        turns._next("alive")
    assert len(turns.taken["alive"]) <= 3


@pytest.mark.parametrize("true", [0.8, 0.97, 1.0])
def test_intervals_hold_the_true_quotient(true):
    """Noise that all turns of a round share, and noise of each turn."""
    held, runs = 0, 200
    for seed in range(runs):
        random = np.random.default_rng(seed)
        slow = random.lognormal(0, 0.2, 14)
        a = slow * random.lognormal(0, 0.05, (2, 14))
        b = slow * random.lognormal(0, 0.05, (2, 14)) / true
        found = ratio(a.tolist(), b.tolist())
        held += found.low <= true <= found.high
    assert held / runs >= 0.9


def test_work_is_that_of_this_process_and_those_under_it():
    before = worked()
    if not before:
        pytest.skip("there is no /proc here")
    code = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
    with subprocess.Popen([sys.executable, "-c", f"{code}\ninput()"], stdin=subprocess.PIPE) as one:
        while worked() - before < 0.3:
            assert one.poll() is None
            time.sleep(0.01)
        one.communicate(b"\n")
