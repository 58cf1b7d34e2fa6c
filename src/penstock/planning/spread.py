"""What a window drop before an operator would have to keep together, and what it would save.

Between a drop and the next aggregates a row stays if any kept window needs it. Above an aggregate
its answers stay that kept windows above need: fewer windows to keep together, so more is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.planning.spans import Span, fan_out, pipeline
from penstock.planning.workload import Workload


@dataclass(frozen=True, slots=True)
class Below:
    """An operator before which a drop may stand: all above it want whole windows, of one kind.

    Args:
        span: of a drop before it.
        work: seconds per second up to the next aggregates, these included.
        above: extent of what is kept above them → seconds per second.
        weight: of the queries that stand on it.
        children: the operators that it feeds.
        answers: whether its rows are answers already, each a window by itself.
    """

    span: Span
    work: float
    weight: float
    children: tuple[int, ...]
    above: dict[int, float] = field(default_factory=dict)
    answers: bool = False

    def saves(self, run: int) -> float:
        """Seconds per second if all windows were dropped, in runs.

        Args:
            run: how long a run of dropped windows is.
        """
        extent = self.span.extent
        saved = self.work * (1 - extent / run) if extent < run else 0.0
        for extent, work in self.above.items():
            if extent < run:
                saved += work * (1 - extent / run)
        return saved


class Spread:
    """The operators of one network before which drops may stand, for any of its queries.

    What was found is found again where nothing under it has changed: when queries are closed, most
    of the others are left as they were.

    Args:
        load: the network.
    """

    def __init__(self, load: Workload) -> None:
        self.load = load
        self._known: dict[int, tuple[Sequence[int], list[tuple[int, Below]], Below | None]] = {}

    def below(self, queries: Iterable[int], only: Sequence[bool]) -> dict[int, Below]:
        """Each operator before which a drop may stand, from the queries to the streams.

        Args:
            queries: the numbers of those whose windows may be dropped.
            only: of each node, whether these are all that stand on it.
        """
        load, children, parents = self.load, self.load.children, self.load.parents
        asked: dict[int, list[int]] = {}
        for number in queries:
            asked.setdefault(load.queries[number].node, []).append(number)
        found: dict[int, Below] = {}
        barred = [False] * len(load.nodes)  # and all that feeds them
        for x in range(len(load.nodes) - 1, -1, -1):
            feeding = parents[x]
            if not only[x] or not feeding:
                continue
            one = None
            if not barred[x]:
                fed = [(child, found[child]) for child in children[x] if child in found]
                one = self._one(x, asked.get(x, ()), fed)
            if one is not None:
                found[x] = one
            # A drop before one input of a union would leave the rows of the others.
            if one is None or len(feeding) > 1:
                for parent in feeding:
                    barred[parent] = True
        return found

    def _one(self, x: int, asked: Sequence[int], fed: list[tuple[int, Below]]) -> Below | None:
        known = self._known.get(x)
        if known is not None and known[0] == asked and len(known[1]) == len(fed):
            for (_, before), (_, now) in zip(known[1], fed, strict=True):
                if before is not now:
                    break
            else:
                return known[2]
        if len(fed) == 1 and not asked and not self.load.nodes[x].aggregate:
            one: Below | None = _passing(self.load, x, *fed[0])
        else:
            one = _one(self.load, x, asked, fed)
        self._known[x] = asked, fed, one
        return one


def _passing(load: Workload, x: int, number: int, child: Below) -> Below:
    """The same as `_one`, and faster, for operators that feed one other and no query: for most."""
    work = float(load.work[x]) + child.work
    return Below(child.span, work, child.weight, (number,), child.above, answers=child.answers)


def _one(
    load: Workload, x: int, asked: Sequence[int], fed: Sequence[tuple[int, Below]]
) -> Below | None:
    node, base = load.nodes[x], load.answering[x]
    window = load.nodes[base].window if base is not None else None
    parts = [child.span for _, child in fed]
    if window is not None:
        # An answer by itself is a window of one row, and there is one in every slide.
        gaps = [load.queries[number].max_gap for number in asked]
        parts += [Span(1, window.slide, gap, window.kind) for gap in gaps]
    elif asked:
        return None
    span = fan_out(parts)
    if span is None:
        return None
    weight = sum(load.queries[number].weight for number in asked)
    weight += sum(child.weight for _, child in fed)
    work = sum(child.work for _, child in fed)
    above = _merged(child.above for _, child in fed)
    children = tuple(number for number, _ in fed)
    if not node.aggregate:
        answers = all(child.answers for _, child in fed)
        total = float(load.work[x]) + work
        return Below(span, total, weight, children, above, answers=answers)
    if window is None:
        return None
    whole = pipeline(Span(window.range, window.slide, None, window.kind), span)
    if whole is None:
        return None
    above = _merged([above, {span.extent: work}])
    return Below(whole, float(load.work[x]), weight, children, above)


def own_spans(load: Workload, queries: Iterable[int]) -> dict[int, Span | None]:
    """What a drop for one query alone has to keep together, as far up as it can stand.

    Args:
        load: the network.
        queries: their numbers; those get None whose windows cannot be dropped.
    """
    at = load.answering
    found: dict[int, Span | None] = {}
    for number in queries:
        query = load.queries[number]
        base, span = at[query.node], None
        while base is not None and (window := load.nodes[base].window) is not None:
            above = span or Span(1, window.slide, query.max_gap, window.kind)
            both = pipeline(Span(window.range, window.slide, None, window.kind), above)
            if both is None:
                break
            span = both
            parents = load.parents[base]
            base = at[parents[0]] if len(parents) == 1 else None
        found[number] = span
    return found


def _merged(several: Iterable[dict[int, float]]) -> dict[int, float]:
    merged: dict[int, float] = {}
    for one in several:
        for extent, work in one.items():
            merged[extent] = merged.get(extent, 0.0) + work
    return merged
