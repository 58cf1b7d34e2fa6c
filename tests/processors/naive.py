"""The windows of rows that come in batches, by keeping every row: right by looking at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from penstock.windows import Kind, WindowSpec, window_bounds
from penstock.windows.arithmetic import first_wid, last_closed, last_wid
from penstock.windows.kinds import SLIDE_BY_KINDS, TUPLE_KINDS
from penstock.windows.oracle import fold_groups, label
from penstock.windows.positions import partition_of
from penstock.windows.sessions import sessions_of


class Naive:
    """Rows are mappings with `ts`, `key`, `value`; results are those of `evaluate`."""

    def __init__(self, spec: WindowSpec, keys: Sequence[str], aggs: Any, late: str) -> None:
        self.spec, self.keys, self.aggs, self.late = spec, list(keys), aggs, late
        self.rows: list[tuple[int, tuple[Any, ...], dict[str, Any], bool]] = []
        self.number = 0
        self.counts: dict[tuple[Any, ...], int] = {}
        self.over = -(10**9)  # below it everything is over
        self.done: dict[tuple[Any, ...], int] = {}
        self.accounts = {"late_lost": 0, "late_partial": 0, "in_no_window": 0, "no_time": 0}

    def advance(self, batch: Sequence[dict[str, Any]], over: int | None) -> list[dict[str, Any]]:
        for row in batch:
            self._take(row)
        return self._due(over)

    def _take(self, row: dict[str, Any]) -> None:
        spec, part = self.spec, partition_of(row, self.spec)
        number, self.number = self.number, self.number + 1
        if spec.kind in TUPLE_KINDS:
            at = self.counts.get(part, 0)
            self.counts[part] = at + 1
        elif row["ts"] is None:
            self.accounts["no_time"] += 1
            return
        else:
            at = row["ts"]
        first, last = first_wid(at, spec), last_wid(at, spec)
        outside = (spec.start is not None and at < spec.start) or (
            last is not None and last < first
        )
        if outside:
            self.accounts["in_no_window"] += 1
            return
        closed = last_closed(self.over, spec) if spec.kind not in TUPLE_KINDS else -(10**9)
        late = first <= closed
        all_closed = last is not None and last <= closed
        if late and (all_closed or self.late == "consistent"):
            self.accounts["late_lost"] += 1
            return
        self.accounts["late_partial"] += int(late)
        ends = not late and (spec.rank or (number + 1) % spec.slide == 0)
        self.rows.append((at, part, row, ends))

    def _windows(self, part: tuple[Any, ...]) -> list[int]:
        spec = self.spec
        mine = sorted((at, i) for i, (at, p, _, _) in enumerate(self.rows) if p == part)
        if spec.kind in SLIDE_BY_KINDS:
            enders = [(at, i) for at, i in mine if self.rows[i][3]]
            if spec.rank:
                enders = [x for rank, x in enumerate(enders) if (rank + 1) % spec.slide == 0]
            return sorted({at for at, _ in enders})
        return [at for at, _ in mine]

    def _due(self, over: int | None) -> list[dict[str, Any]]:
        spec, found = self.spec, []
        for part in sorted({p for _, p, _, _ in self.rows}, key=repr):
            bound = over
            if spec.kind in TUPLE_KINDS and over is not None:
                bound = self.counts[part]
            done = self.done.get(part, -(10**9))
            if spec.kind not in TUPLE_KINDS:  # also of a part that had no rows by then
                done = max(done, last_closed(self.over, spec))
            mine = [(at, row) for at, p, row, _ in self.rows if p == part]
            if spec.kind in SLIDE_BY_KINDS:
                wids = self._windows(part)
            elif spec.kind is Kind.LANDMARK:
                firsts = [first_wid(at, spec) for at, _ in mine]
                until = max(firsts) if bound is None else last_closed(bound, spec)
                wids = list(range(max(min(firsts), done + 1), until + 1))
            else:
                ranges = [(first_wid(at, spec), last_wid(at, spec)) for at, _ in mine]
                wids = sorted({w for a, b in ranges if b is not None for w in range(a, b + 1)})
            for w in wids:
                if w <= done or (bound is not None and w > last_closed(bound, spec)):
                    continue
                start, end = window_bounds(w, spec)
                inside = [row for at, row in mine if (start is None or start <= at) and at < end]
                name = (w, part) if spec.pattr else w
                groups = fold_groups(inside, self.keys, self.aggs)
                found += [{**label(name, spec), **group} for group in groups]
            if bound is not None:
                self.done[part] = max(done, last_closed(bound, spec))
        if over is not None:
            self.over = max(self.over, over)
        return found


class NaiveSessions:
    """The same for sessions: every row is kept until the session that it is in is over."""

    def __init__(self, gap: int, aggs: Any) -> None:
        self.gap, self.aggs, self.over, self.lost = gap, aggs, -(10**9), 0
        self.rows: list[dict[str, Any]] = []

    def advance(self, batch: Sequence[dict[str, Any]], over: int | None) -> list[dict[str, Any]]:
        late = [row for row in batch if row["at"] + self.gap <= self.over]
        self.lost += len(late)
        self.rows += [row for row in batch if row not in late]
        found = []
        for key in sorted({row["g0"] for row in self.rows}):
            mine = [row for row in self.rows if row["g0"] == key]
            for begin, end in sessions_of([row["at"] for row in mine], self.gap):
                if over is None or end <= max(over, self.over):
                    inside = [row for row in mine if begin <= row["at"] < end]
                    [folded] = fold_groups(inside, ["g0"], self.aggs)
                    found.append({"begin": begin, "end": end, **folded})
                    self.rows = [row for row in self.rows if row not in inside]
        self.over = self.over if over is None else max(over, self.over)
        return found


def assert_same(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> None:
    """The same windows and keys, and the same answers; floats to 1e-9."""

    def in_order(results: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return sorted(results, key=lambda result: repr(result[:2]))

    got, want = in_order(got), in_order(want)
    assert [r[:2] for r in got] == [r[:2] for r in want]
    for mine, other in zip(got, want, strict=True):
        for a, b in zip(mine[2:], other[2:], strict=True):
            if isinstance(a, float) and isinstance(b, float):
                assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9), (mine, other)
            else:
                assert a == b, (mine, other)
