"""A recording is played by a clock that the test moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.pace import Player, Position
from penstock.sources.trace import Steps

SECOND = 1_000_000


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self, seconds: float) -> None:
        self.now = int(seconds * SECOND)

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


def steps(*seconds: float) -> Steps:
    return Steps(np.array([int(s * SECOND) for s in seconds]))


def test_a_row_is_due_as_long_after_the_start_as_it_was_recorded():
    # recording  0    1    2         4
    # clock      100       102  103      104.1
    clock = Hand(100)
    player = Player(steps(0, 1, 2, 4), 1.0, clock)
    at = player.begin()
    seen = []
    for move in (0, 1.9, 0.1, 1, 1.1, 9):
        clock.move(move)
        at = player.look(at)
        seen.append(at.step)
    assert seen == [1, 2, 3, 3, 4, 4]
    assert at.began == 100 * SECOND


def test_the_start_stays_where_it_was_when_it_is_asked_for_again():
    clock = Hand(100)
    player = Player(steps(0, 1, 2, 4), 1.0, clock)
    first = player.begin()
    clock.move(2)
    assert player.begin() == first
    assert player.look(first) == Position(3, 100 * SECOND, 102 * SECOND)


def test_twice_the_pace_takes_half_the_time():
    clock = Hand(0)
    player = Player(steps(0, 1, 2, 4), 2.0, clock)
    at = player.begin()
    clock.move(1)
    assert player.look(at).step == 3


def test_without_a_pace_all_is_due_at_once():
    player = Player(steps(0, 1, 2, 4), None, Hand(0))
    assert player.look(player.begin()).step == 4
    assert player.look(player.begin(), most=3).step == 3


def test_nothing_new_is_the_same_position_so_that_no_empty_batch_runs():
    clock = Hand(0)
    player = Player(steps(0, 5), 1.0, clock)
    at = player.look(player.begin())
    clock.move(1)
    assert player.look(at) == at


def test_a_busy_reader_finds_all_that_became_due_meanwhile():
    clock = Hand(0)
    player = Player(steps(*range(100)), 1.0, clock)
    at = player.look(player.begin())
    clock.move(30)
    assert player.look(at, most=10).step == at.step + 10
    newest = player.newest()
    assert newest is not None
    assert newest.step == 31


def test_a_restart_goes_on_where_the_recording_was_stopped():
    clock = Hand(1000)
    first = Player(steps(*range(100)), 1.0, clock)
    at = first.begin()
    clock.move(10)
    at = first.look(at)
    assert at.step == 11
    clock.move(3600)  # the stream is down
    second = Player(steps(*range(100)), 1.0, clock)
    assert second.look(at) == at
    clock.move(2)
    later = second.look(at)
    assert later.step == 13
    # Row 12 was due 2 s after the restart.
    assert later.began + 12 * SECOND == clock.now


def test_a_restart_keeps_the_backlog():
    clock = Hand(0)
    first = Player(steps(*range(100)), 1.0, clock)
    at = first.begin()
    clock.move(50)
    at = first.look(at, most=10)
    clock.move(3600)
    assert Player(steps(*range(100)), 1.0, clock).look(at).step == 51


def test_what_is_available_now_is_what_was_due_at_the_first_look():
    clock = Hand(0)
    player = Player(steps(*range(10)), 1.0, clock)
    at = player.begin()
    clock.move(3)
    player.only_what_is_due_now()
    at = player.look(at, most=2)
    clock.move(5)
    at = player.look(player.look(at))
    assert at.step == 4


@given(
    times=st.lists(st.integers(0, 10**7), min_size=1, max_size=30).map(sorted),
    moves=st.lists(st.integers(0, 2_000_000), max_size=20),
    most=st.integers(1, 5),
    speed=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_every_row_comes_once_in_order_and_never_early(times, moves, most, speed):
    clock = Hand(0)
    player = Player(Steps(np.array(times)), speed, clock)
    at = player.begin()
    for move in [*moves, 10**8, *[0] * 30]:
        clock.now += move
        found = player.look(Position(**at.offset()), most)
        assert 0 <= found.step - at.step <= most
        assert all(times[i] <= clock.now * speed for i in range(at.step, found.step))
        at = found
    assert at.step == len(times)
