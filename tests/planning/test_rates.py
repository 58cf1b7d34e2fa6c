"""What comes in a second: lumps are smoothed, jumps are seen at once."""

import math
import random

import pytest

from penstock.planning.rates import Rates


def test_lumps_are_smoothed() -> None:
    rates, chance = Rates(), random.Random(1)
    seen, waiting = [], 0.0
    for batch in range(200):
        seconds = chance.uniform(0.8, 1.1)
        waiting += 8 * seconds
        rates.learn({"a": int(waiting), "b": 2 * int(waiting)}, seconds)
        waiting -= int(waiting)
        if batch > 10:
            seen.append(rates.lately["a"])
            assert rates.lately["b"] == pytest.approx(2 * seen[-1])
    off = sorted(abs(rate - 8) / 8 for rate in seen)
    assert off[len(off) // 2] < 0.03
    assert off[9 * len(off) // 10] < 0.06  # by one batch alone 0.1


@pytest.mark.parametrize("times", [3.0, 1.5, 1 / 1.5, 0.1])
def test_a_jump_is_seen_at_once(times: float) -> None:
    rates = Rates()
    for _ in range(10):
        rates.learn({"a": 100}, 1.0)
    rates.learn({"a": 100 * times}, 1.0)
    assert rates.lately == {"a": pytest.approx(100 * times)}
    assert rates.lasting == {"a": pytest.approx((200 + 100 * times) / 3)}
    for _ in range(10):
        rates.learn({"a": 100 * times}, 1.0)
    assert rates.lately == rates.lasting == {"a": pytest.approx(100 * times)}


@pytest.mark.parametrize("times", [1.1, 1 / 1.1])
def test_a_trend_is_no_lump(times: float) -> None:
    rates = Rates()
    for batch in range(12):
        rates.learn({"a": times**batch}, 1.0)
        if batch >= 3:
            assert rates.lately == {"a": pytest.approx(times**batch)}


def test_what_doubles_with_each_batch_is_not_smoothed() -> None:
    rates = Rates()
    for batch in range(8):
        rates.learn({"a": 2.0**batch}, 1.0)
        assert rates.lately == {"a": 2.0**batch}


@pytest.mark.parametrize(("rows", "seconds"), [(math.nan, 1.0), (1.0, 0.0), (1.0, math.nan)])
def test_what_makes_no_sense_is_not_learnt(rows: float, seconds: float) -> None:
    rates = Rates()
    rates.learn({"a": rows}, seconds)
    assert rates.lately == rates.lasting == {}
    rates.learn({"a": 3.0}, 1.0)
    rates.learn({"a": rows}, seconds)
    assert rates.lately == rates.lasting == {"a": 3.0}
