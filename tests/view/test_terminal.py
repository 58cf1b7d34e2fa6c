"""The picture of a run fits its terminal, and says what matters whatever the size is."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from penstock.view.answers import answer
from penstock.view.live import View
from penstock.view.rooms import rooms
from penstock.view.scene import Scene
from penstock.view.strip import Look, squeezed, strip
from penstock.view.summary import summary
from penstock.view.terminal import Moment, frame, plain
from tests.view.scenes import CALM, NAMES, burst


def drawn(scene: Scene, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, record=True, force_terminal=True)
    console.print(frame(scene, Moment(34, 60), width, height))
    return console.export_text().splitlines()


@pytest.mark.parametrize("batches", [0, 1, 12, 40, 80])
@pytest.mark.parametrize(("width", "height"), [(80, 23), (80, 15), (100, 30), (140, 45), (240, 90)])
def test_a_picture_fits_its_terminal(batches, width, height):
    lines = drawn(burst(batches), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_a_small_picture_of_an_overload_says_all_that_matters():
    text = "\n".join(drawn(burst(40), 80, 23))
    for said in (
        *("packets.toml", "shedding", "34 s of 1 min", "50.1 k/s", "2.9 x", "17.0 k/s", "33.1 k"),
        *("response 2.6 s, target 3 s; kept in 93.8 % of batches", "keep 32 %", "drop 50 %"),
        *("packets ─► filter 1", "packets 41,200 ± 1,429", "± 3.4 %", "why    2.9 x the capacity"),
        *NAMES,
    ):
        assert said.replace("93.8", "94") in text, said
    assert "plan 31 could not be read" in text


def test_more_room_is_used_for_answers_with_error_bars():
    small, large = (len(re.findall("├.*●.*┤", "\n".join(drawn(burst(40), *size))))
                    for size in ((80, 23), (140, 60)))  # fmt: skip
    assert (small, large) == (0, 18)


def test_without_overload_nothing_is_dropped_and_that_is_said():
    text = "\n".join(drawn(burst(CALM - 2), 80, 23))
    assert "shed   nothing" in text
    assert "nothing has to be dropped" in text
    assert "exact" in text


def test_a_batch_is_one_line():
    line = plain(burst(32).statuses[-1])
    assert line.startswith("00:00:31 batch 31 shedding: in 52.7 k/s, taken 17.0 k/s, demand 3.1 x")
    assert "response 2.7 s of 3 s, kept 31 %; 3.1 x the capacity" in line
    assert line.endswith("PROBLEM plan 31 could not be read: nothing is dropped in this batch")
    assert "\n" not in line


def test_elsewhere_each_batch_is_a_line_once_and_without_colour():
    out = io.StringIO()
    with View(Console(file=out, width=80)) as view:
        view.stage("starting Spark")
        with view.open():
            for batches in (0, 3, 3, 5):
                view.show(burst(batches), Moment(batches))
        view.end(summary(burst(5)), {"report": "r"})
    lines = out.getvalue().splitlines()
    assert lines[0] == "starting Spark"
    assert [line.split()[2] for line in lines[1:6]] == list("01234")
    assert [line.split()[0] for line in lines[6:]] == [
        *("rows", "target", "demand", "loss", "error", "accounts", "problems", "report")
    ]
    assert "\x1b" not in out.getvalue()


@given(
    st.integers(12, 100),
    st.integers(0, 30),
    st.integers(0, 40),
    st.integers(0, 5),
    st.integers(0, 60),
)
def test_rooms_never_ask_for_more_lines_than_there_are(height, drops, queries, problems, answers):
    room = rooms(height, drops=drops, queries=queries, problems=problems, answers=answers)
    used = 5 + 1 + room.plot + room.drops + room.queries + room.reason + room.problems + room.gaps
    used += room.answers + (2 if room.answers else 0)
    assert used <= height


@given(st.lists(st.none() | st.floats(0, 100), max_size=200), st.integers(1, 40))
def test_no_peak_is_hidden_where_there_is_little_room(values, width):
    shown = squeezed(values, width)
    assert len(shown) <= width
    known = [one for one in values if one is not None]
    assert max((one for one in shown if one is not None), default=None) == max(known, default=None)


def test_what_is_above_the_limit_is_marked_and_the_limit_is_drawn():
    lines = strip([1, 9, 1], Look(5, 3, good="green", bad="red"), limit=4)
    assert [line.plain for line in lines] == [" █   ", "┈█┈┈┈", "▃█▃  "]
    assert {str(s.style) for line in lines for s in line.spans} == {"green", "red", "dim"}


def test_bounds_of_an_answer_that_is_exact_are_not_shown():
    row = {"n": 5, "n_low": 5.0, "n_high": 5.0, "keep": 1.0, "sample": 5, "exact": True}
    assert str(answer(row)) == "n 5"
