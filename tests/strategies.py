"""Hypothesis strategies for windows and streams, small enough that edges meet often.

RANGE is drawn free of SLIDE (no multiple of it, or smaller), times may be negative, and streams
have ties, missing times and any order.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from penstock.windows import (
    Kind,
    WindowSpec,
    cumulative,
    landmark,
    rows,
    slide_by_rank,
    slide_by_rows,
    slide_by_tuple,
    sliding,
    tumbling,
)
from penstock.windows.durations import MILLISECOND

lengths = st.integers(1, 12)
times = st.integers(-40, 40)
starts = st.none() | st.integers(-30, 30)
keys = st.sampled_from(["a", "b", None])


@st.composite
def _overlapping(draw: st.DrawFn) -> WindowSpec:
    """A sliding window; RANGE is anything but SLIDE, smaller and larger equally often."""
    slide = draw(lengths)
    length = draw(st.integers(1, 25).filter(lambda n: n != slide))
    return sliding(length, slide, on="ts", origin=draw(times), start=draw(starts))


@st.composite
def _cumulative(draw: st.DrawFn) -> WindowSpec:
    slide = draw(st.integers(1, 6))
    period = slide * draw(st.integers(1, 5))
    return cumulative(period, slide, on="ts", origin=draw(times), start=draw(starts))


_ON_TS = {"on": st.just("ts")}
_SPECS: dict[Kind, st.SearchStrategy[WindowSpec]] = {
    Kind.SLIDING: _overlapping(),
    Kind.TUMBLING: st.builds(tumbling, lengths, **_ON_TS, origin=times, start=starts),
    Kind.LANDMARK: st.builds(landmark, lengths, **_ON_TS, origin=times, start=starts),
    Kind.CUMULATIVE: _cumulative(),
    Kind.TUPLE: st.builds(rows, st.integers(1, 8), st.integers(1, 8)),
    Kind.PARTITIONED_TUPLE: st.builds(
        rows, st.integers(1, 6), st.integers(1, 6), by=st.just(["key"])
    ),
    Kind.SLIDE_BY_TUPLE: st.builds(slide_by_tuple, lengths, **_ON_TS),
    Kind.SLIDE_BY_ROWS: st.builds(slide_by_rows, lengths, **_ON_TS, every=st.integers(2, 5)),
    Kind.SLIDE_BY_RANK: st.builds(slide_by_rank, lengths, **_ON_TS, every=st.integers(2, 5)),
}


KINDS = tuple(_SPECS)
"""Every kind of the paper, and cumulative windows; sessions have no window-ids."""


def specs(*kinds: Kind) -> st.SearchStrategy[WindowSpec]:
    """Specifications of the kinds given, or of every kind."""
    return st.one_of(*(_SPECS[kind] for kind in kinds or _SPECS))


def rows_at(
    event_times: st.SearchStrategy[int | None], *, max_size: int = 20
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows in any order, with ties, and with missing values in every column."""
    row = st.fixed_dictionaries(
        {"ts": event_times, "key": keys, "value": st.none() | st.integers(-100, 100)}
    )
    return st.lists(row, max_size=max_size)


streams = rows_at(st.none() | times)
"""A whole stream in order of arrival, which is any order."""


def _scaled(spec: WindowSpec, by: int) -> WindowSpec:
    def times_by(amount: int | None) -> int | None:
        return None if amount is None else amount * by

    return WindowSpec(
        range=times_by(spec.range),
        slide=spec.slide * by,
        rattr=spec.rattr,
        sattr=spec.sattr,
        origin=spec.origin * by,
        start=times_by(spec.start),
        period=times_by(spec.period),
    )


def time_specs(*kinds: Kind) -> st.SearchStrategy[WindowSpec]:
    """Windows over time in whole milliseconds, which are the steps of Spark's watermark."""
    return specs(*kinds).map(lambda spec: _scaled(spec, MILLISECOND))


@st.composite
def batches(draw: st.DrawFn) -> Sequence[list[dict[str, Any]]]:
    """Batches whose times move on while rows come late; finer than a millisecond, too."""
    result, newest = [], 0
    for _ in range(draw(st.integers(1, 5))):
        newest += draw(st.integers(0, 25))
        around = st.integers((newest - 30) * MILLISECOND, newest * MILLISECOND + 999)
        result.append(draw(rows_at(st.none() | around, max_size=8)))
    return result
