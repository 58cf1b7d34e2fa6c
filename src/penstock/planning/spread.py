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
    """An operator on which only queries stand whose windows may be dropped.

    Args:
        span: of a drop before it; None if none may stand there.
        work: seconds per second up to the next aggregates, these included.
        above: extent of what is kept above them → seconds per second.
        weight: of the queries that stand on it.
        children: the operators that it feeds, but for unions, which are looked at by themselves.
        root: whether no drop can stand further up.
        answers: whether its rows are answers already, each a window by itself.
    """

    span: Span | None
    work: float
    weight: float
    children: tuple[int, ...]
    above: dict[int, float] = field(default_factory=dict)
    root: bool = False
    answers: bool = False

    def saves(self, run: int) -> float:
        """Seconds per second if all windows were dropped, in runs.

        Args:
            run: how long a run of dropped windows is.
        """
        saved = sum(work * max(0.0, 1 - extent / run) for extent, work in self.above.items())
        if self.span is not None:
            saved += self.work * max(0.0, 1 - self.span.extent / run)
        return saved


def below(load: Workload, queries: Iterable[int], only: Sequence[bool]) -> dict[int, Below]:
    """What is known of each operator, from the queries to the streams.

    Args:
        load: the network.
        queries: the numbers of those whose windows may be dropped.
        only: of each node, whether these are all that stand on it.
    """
    asked: dict[int, list[int]] = {}
    for number in queries:
        asked.setdefault(load.queries[number].node, []).append(number)
    stands_on = answering(load)
    found: dict[int, Below] = {}
    for x in range(len(load.nodes) - 1, -1, -1):
        if only[x] and load.nodes[x].inputs:
            found[x] = _one(load, x, asked.get(x, []), stands_on[x], found)
    for x, one in list(found.items()):
        parents = load.parents[x]
        if len(parents) > 1 or parents[0] not in found:
            found[x] = Below(
                one.span, one.work, one.weight, one.children, one.above, True, one.answers
            )
    return found


def _one(
    load: Workload, x: int, asked: list[int], stands_on: int | None, found: dict[int, Below]
) -> Below:
    node = load.nodes[x]
    fed = [child for child in load.children[x] if child in found]
    children = tuple(child for child in fed if len(load.parents[child]) == 1)
    parts = [found[child].span for child in children] + [None] * (len(fed) - len(children))
    base = x if node.aggregate else stands_on
    window = load.nodes[base].window if base is not None else None
    for number in asked:
        # An answer by itself is a window of one row, and there is one in every slide.
        gap = load.queries[number].max_gap
        parts.append(None if window is None else Span(1, window.slide, gap, window.kind))
    weight = sum(load.queries[number].weight for number in asked)
    weight += sum(found[child].weight for child in fed)
    known = [part for part in parts if part is not None]
    span = fan_out(known) if len(known) == len(parts) else None
    work = sum(found[child].work for child in children)
    above = _merged(found[child].above for child in children)
    if not node.aggregate:
        answers = all(found[child].answers for child in fed)
        total = float(load.work[x]) + work
        return Below(span, total, weight, children, above, answers=answers)
    if span is not None:
        above = _merged([above, {span.extent: work}])
    whole = None
    if window is not None and span is not None:
        whole = pipeline(Span(window.range, window.slide, None, window.kind), span)
    return Below(whole, float(load.work[x]), weight, children, above)


def answering(load: Workload) -> list[int | None]:
    """The aggregate whose answers each node hands on; None if rows of streams, or of several."""
    found: list[int | None] = []
    for x, node in enumerate(load.nodes):
        if node.aggregate:
            found.append(x)
        else:
            parents = load.parents[x]
            found.append(found[parents[0]] if len(parents) == 1 else None)
    return found


def _merged(several: Iterable[dict[int, float]]) -> dict[int, float]:
    merged: dict[int, float] = {}
    for one in several:
        for extent, work in one.items():
            merged[extent] = merged.get(extent, 0.0) + work
    return merged
