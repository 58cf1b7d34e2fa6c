"""What was in force while a window was open is never said to be less than it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.in_force import EVER, OPEN, Span, noted, span_of, weight

LENGTH, SLIDE = 20, 5
KEEPS = st.sampled_from([1.0, 1.0, 0.5, 0.25, 0.1])


@given(
    st.lists(st.tuples(KEEPS, st.lists(st.integers(-8, 8), max_size=4)), max_size=60),
    st.integers(0, 8),
)
def test_a_window_knows_of_every_batch_that_may_have_taken_its_rows(
    batches: list[tuple[float, list[int]]], slack: int
) -> None:
    spans: tuple[Span, ...] = ()
    newest: list[int | None] = []
    so_far: int | None = None
    worst: dict[int, float] = {}
    for number, (keep, offsets) in enumerate(batches):
        # The watermark of a batch knows of the rows of all batches but the last.
        known = newest[number - 2] if number >= 2 else None
        mark = None if known is None else known - slack
        spans = noted(spans, batch=number, keep=keep, mark=mark, newest=known, length=LENGTH)
        for time in (number * 4 + offset for offset in offsets):
            so_far = time if so_far is None else max(so_far, time)
            for end in range(time - time % SLIDE + SLIDE, time + LENGTH + 1, SLIDE):
                if mark is None or end > mark:
                    worst[end] = max(worst.get(end, 1.0), 1 / keep)
        newest.append(so_far)
        open_ = {end: w for end, w in worst.items() if mark is None or end > mark}
        for end, heaviest in open_.items():
            assert weight(spans, end - LENGTH, end) >= heaviest
    assert len(spans) <= 32


def test_windows_are_exact_again_after_the_last_drop_has_settled() -> None:
    spans = noted((), batch=1, keep=0.5, mark=100, newest=110, length=LENGTH)
    assert spans == (Span(100, OPEN, 2.0, 1),)
    for batch in (2, 3):
        spans = noted(spans, batch=batch, keep=1, mark=105, newest=115, length=LENGTH)
        assert weight(spans, 200, 220) == 2
    spans = noted(spans, batch=4, keep=1, mark=110, newest=120, length=LENGTH)
    assert weight(spans, 120, 140) == 2
    assert weight(spans, 121, 141) == 1
    assert weight(spans, 80, 100) == 1  # it was over before
    assert noted(spans, batch=5, keep=1, mark=141, newest=150, length=LENGTH) == ()


def test_the_same_share_for_long_is_one_span() -> None:
    spans: tuple[Span, ...] = ()
    for batch in range(50):
        spans = noted(spans, batch=batch, keep=0.3, mark=batch, newest=batch, length=None)
    assert spans == (Span(0, OPEN, 1 / 0.3, 49),)


def test_of_many_shares_those_that_are_alike_are_joined() -> None:
    spans: tuple[Span, ...] = ()
    for batch in range(200):
        keep = 0.5 if batch % 20 else 0.01 + batch / 1000
        spans = noted(spans, batch=batch, keep=keep, mark=batch, newest=batch, length=None)
    assert len(spans) <= 32
    assert weight(spans, 0, 1000) == 100


def test_if_nothing_is_kept_a_row_stands_for_more_than_there_are() -> None:
    (span,) = noted((), batch=1, keep=0, mark=100, newest=110, length=LENGTH)
    assert 1e15 < span.weight < float("inf")


def test_buckets_that_lost_rows_in_other_batches_are_not_mixed_up() -> None:
    spans = noted((), batch=1, keep=0.5, mark=100, newest=110, length=LENGTH)
    spans = noted(spans, batch=2, keep=0.5, mark=105, newest=115, length=LENGTH, cut=0b110)
    spans = noted(spans, batch=3, keep=0.5, mark=110, newest=120, length=LENGTH, cut=0b110)
    assert [(span.batch, span.cut) for span in spans] == [(1, None), (3, 0b110)]
    for batch in range(4, 60):  # those that are joined know of all that lost rows
        spans = noted(spans, batch=batch, keep=0.5, mark=110, newest=None, length=None, cut=batch)
    assert len(spans) <= 32
    assert spans[0].cut is None or spans[0].cut >= 0b110


@pytest.mark.parametrize("cut", [None, 0, 1 << 1023, 5])
def test_a_span_is_the_same_after_it_was_written(cut: int | None) -> None:
    span = Span(EVER, OPEN, 1 / 0.3, 7, cut)
    assert span_of(json.loads(json.dumps(span.values()))) == span
