"""What Python does for aggregates that are written in Python; it runs on Spark's workers.

    rows ─► fold_rows ─► message ─► group by key ─► advance, with state ─► answers
            by pane                                 windows that are due

The message of a key and the state of a key are one and the same: the time up to which windows have
been emitted, and the partials of every pane that an open window needs, pickled; rows are in
neither. Keys pass through as text and values come as Arrow has them: pandas knows no null but NaN.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.types import TimestampType

from penstock.windows import Fold, WindowSpec, first_wid, last_closed, last_wid, window_end

if TYPE_CHECKING:
    from pyspark.sql.streaming.state import GroupState

KEY, PANE, LATE, CLOSE = "penstock_key", "penstock_pane", "penstock_late", "penstock_close"
PARTIALS, ANSWERS = "partials", "penstock_answers"
MESSAGE = f"{KEY} string, {CLOSE} bigint, {PARTIALS} binary"
ANSWER = f"{KEY} string, {ANSWERS} binary"

NEVER, FOREVER = -(1 << 63), (1 << 63) - 1
_MOST_PANES = 20_000
"""A worker holds the partials of this many panes, of all keys, before it hands them on."""
_MOST_KEYS = 1_000
"""So many messages are handed on at a time."""

Panes = dict[int, bytes]
"""Start of a pane in µs → its partials, one of each aggregate, pickled."""
Groups = dict[str, dict[int, list[Any]]]
"""Key → start of a pane → its partials."""


@dataclass(frozen=True, slots=True)
class Processor:
    """Rows into panes, panes into windows.

    Args:
        spec: a sliding, tumbling or cumulative window over time.
        folds: the aggregates.
        own: of each, whether it is the user's own.
    """

    spec: WindowSpec
    folds: tuple[Fold[Any], ...]
    own: tuple[bool, ...]

    def fold_rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of (key, pane, L, a value for each aggregate) into one message for each key."""
        groups: Groups = defaultdict(dict)
        late = NEVER
        for batch in batches:
            if not batch.num_rows:
                continue
            late = batch.column(2)[0].as_py()
            self._fold_batch(batch, groups)
            if sum(map(len, groups.values())) > _MOST_PANES:
                yield from self._messages(late, groups)
                groups.clear()
        yield from self._messages(late, groups)

    def of_key(self, key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
        """All windows of a key, of a batch."""
        floor, panes = self._gather(frame[PARTIALS])
        return _answer(key, self.answers(panes, floor, FOREVER))

    def advance(
        self, key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """The windows of a key that end by the watermark; what later ones need stays as state."""
        messages = [message for frame in frames for message in frame[PARTIALS]]
        floor, panes = self._gather([*(state.getOption or ()), *messages])
        watermark = state.getCurrentWatermarkMs() * 1000
        answers = self.answers(panes, floor, watermark)
        kept = {pane: part for pane, part in panes.items() if self._close(pane) > watermark}
        if kept:
            state.update((pickle.dumps((max(floor, watermark), kept)),))
            due = last_closed(watermark, self.spec) + 1
            end = min(window_end(max(first_wid(pane, self.spec), due), self.spec) for pane in kept)
            # Spark calls once the watermark, in whole ms, is above the timeout, not at it.
            state.setTimeoutTimestamp(max(-(-end // 1000) - 1, 1))
        elif state.exists:
            state.remove()
        if answers:
            yield _answer(key, answers)

    def answers(self, panes: Panes, after: int, until: int) -> list[tuple[int, list[Any]]]:
        """End and answers of the windows with rows that end after `after`, and by `until`."""
        starts = sorted(panes)
        firsts = [first_wid(pane, self.spec) for pane in starts]
        lasts = [self._last_wid(pane) for pane in starts]
        last = last_closed(until, self.spec)
        upcoming = last_closed(after, self.spec) + 1
        wids: list[int] = []
        for first, final in zip(firsts, lasts, strict=True):
            wids += range(max(first, upcoming), min(final, last) + 1)
            upcoming = max(upcoming, final + 1)
        spans, low, high = [], 0, 0  # the panes of a window are next to each other
        for w in wids:
            while high < len(starts) and firsts[high] <= w:
                high += 1
            while lasts[low] < w:
                low += 1
            spans.append((low, high))
        merged = self._slide([panes[pane] for pane in starts], spans)
        return [
            (window_end(w, self.spec), [fold.final(s) for fold, s in self._each(states)])
            for w, states in zip(wids, merged, strict=True)
        ]

    def _fold_batch(self, batch: pa.RecordBatch, groups: Groups) -> None:
        keys = batch.column(0).dictionary_encode()
        names, codes = keys.dictionary.to_pylist(), keys.indices.to_numpy()
        panes = batch.column(1).to_numpy()
        order = np.lexsort((panes, codes))  # stable: a pane's rows stay in their order
        codes, panes = codes[order], panes[order]
        cuts = np.flatnonzero((np.diff(codes) != 0) | (np.diff(panes) != 0)) + 1
        columns = [
            _values(column.take(pa.array(order)), own=own)
            for column, own in zip(batch.columns[3:], self.own, strict=True)
        ]
        for start, stop in pairwise([0, *cuts.tolist(), len(order)]):
            group, pane = groups[names[codes[start]]], int(panes[start])
            states = group.get(pane) or [fold.init() for fold in self.folds]
            for i, (fold, state) in enumerate(self._each(states)):
                incr = fold.incr
                for value in columns[i][start:stop]:
                    state = incr(state, value)  # noqa: PLW2901 - the state so far
                states[i] = state
            group[pane] = states

    def _messages(self, late: int, groups: Groups) -> Iterator[pa.RecordBatch]:
        keys = list(groups)
        for first in range(0, len(keys), _MOST_KEYS):
            some = keys[first : first + _MOST_KEYS]
            closes = [max(map(self._close, groups[key])) for key in some]
            partials = [
                pickle.dumps((late, {pane: dumps(states) for pane, states in groups[key].items()}))
                for key in some
            ]
            arrays = [pa.array(some), pa.array(closes, pa.int64()), pa.array(partials, pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, [KEY, CLOSE, PARTIALS])

    def _gather(self, messages: Iterable[bytes]) -> tuple[int, Panes]:
        """The messages as one."""
        floor, gathered = NEVER, defaultdict(list)
        for message in messages:
            late, panes = loads(message)
            floor = max(floor, late)
            for pane, part in panes.items():
                gathered[pane].append(part)
        return floor, {
            pane: parts[0] if len(parts) == 1 else dumps(self._merge(parts))
            for pane, parts in gathered.items()
        }

    def _merge(self, parts: Sequence[bytes]) -> list[Any]:
        # Every part is unpickled anew, so a merge may change the states that it is given.
        states: list[Any] = loads(parts[0])
        for part in parts[1:]:
            others = loads(part)
            states = [fold.merge(s, others[i]) for i, (fold, s) in enumerate(self._each(states))]
        return states

    def _slide(self, parts: list[bytes], spans: list[tuple[int, int]]) -> Iterator[list[Any]]:
        """The merged parts of each span; spans only move up, so a part is merged about thrice.

        Merges have no inverse. The parts before `cut` are kept as merges of each with all up to
        the cut, the parts after it as one; when the former are used up, the cut moves to the end.
        """
        if len(spans) == 1:
            yield self._merge(parts[slice(*spans[0])])
            return
        front: list[bytes] = []
        back: list[bytes] = []
        cut = reach = 0
        for low, high in spans:
            if low >= cut:
                cut, reach, front, back = high, high, [], []
                for part in reversed(parts[low:cut]):
                    front.append(dumps(self._merge([part, front[-1]])) if front else part)
            for part in parts[reach:high]:
                back = [dumps(self._merge([*back, part])) if back else part]
            reach = high
            yield self._merge([front[cut - 1 - low], *back])

    def _each(self, states: list[Any]) -> Iterator[tuple[Fold[Any], Any]]:
        return zip(self.folds, states, strict=True)

    def _last_wid(self, pane: int) -> int:
        last = last_wid(pane, self.spec)
        assert last is not None  # noqa: S101 - a query refuses landmark windows
        return last

    def _close(self, pane: int) -> int:
        return window_end(self._last_wid(pane), self.spec)


def dumps(value: object) -> bytes:
    """The value pickled; a class that workers cannot import is written down with it."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        written: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
        return written


def loads(pickled: bytes) -> Any:  # noqa: ANN401 - whatever was pickled
    """What `dumps` was given."""
    return pickle.loads(pickled)  # noqa: S301 - from a worker, or from the checkpoint


def _answer(key: tuple[Any, ...], answers: list[tuple[int, list[Any]]]) -> pd.DataFrame:
    return pd.DataFrame({KEY: [key[0]], ANSWERS: [dumps(answers)]})


def _values(column: pa.Array, *, own: bool) -> list[Any]:
    """The values as Python has them; a timestamp is µs, or a local time for the user's own."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is None:
        values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
        return values
    micros = column.cast(pa.int64()).to_pylist()
    return list(map(TimestampType().fromInternal, micros)) if own else micros
