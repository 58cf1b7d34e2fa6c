"""A plan as text: on the picture of its network, then query by query, then why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.drops.plan import WindowDrop
from penstock.network.graph import Graph
from penstock.network.operators import Operator
from penstock.network.render import trees
from penstock.planning.reasons import share
from penstock.planning.result import Outcome, Planned
from penstock.windows.durations import format_duration

_HEAD = ("query", "answers", "rows kept", "error bound", "expected error", "answers lost")


def render(found: Planned, graph: Graph, assumed: Sequence[str] = ()) -> str:
    """The whole as text.

    Args:
        found: the plan.
        graph: the network.
        assumed: what was guessed.
    """
    parts = [_load(found), trees(graph, _notes(found, graph)), _queries(found)]
    if found.greatest_bound:
        often = f"{100 * found.delta:g} % of cases"
        # A bound is proven; a quantile takes errors for normal.
        often = f"{often} at most" if found.errors == "bound" else f"about {often}"
        parts[-1] += (
            "\nan answer (where there are groups, that of the worst) is off by more than its bound "
            f"in {often}"
        )
    parts += ["\n".join(_why(found))] if found.reasons else []
    parts += ["\n".join(["note", *(f"  {note}" for note in found.notes)])] if found.notes else []
    if assumed:
        parts.append("\n".join(["assumed, not measured", *(f"  {line}" for line in assumed)]))
    return "\n\n".join(parts)


def _load(found: Planned) -> str:
    before, after = found.before / found.capacity, found.after / found.capacity
    said = f"load      {before:.2f} times the capacity; {after:.2f} under this plan"
    if not found.plan.random and not found.plan.windows and not found.plan.closed:
        said = f"load      {before:.2f} times the capacity: nothing is dropped"
    return said


def _notes(found: Planned, graph: Graph) -> dict[Operator, str]:
    notes: dict[str, list[str]] = {}
    for drop in found.plan.random:
        said = f"keep {share(drop.keep)}"
        notes.setdefault(drop.arc.before, []).append(said)
    for one in found.plan.windows:
        notes.setdefault(one.arc.before, []).append(_windows(one))
    for name in found.plan.closed:
        answering = graph.names[graph.queries[name]]
        said = "closed" if answering == name else f"{name} is closed"
        notes.setdefault(answering, []).append(said)
    return {
        operator: "; ".join(dict.fromkeys(notes[name]))
        for operator, name in graph.names.items()
        if name in notes
    }


def _windows(drop: WindowDrop) -> str:
    return f"drop {share(drop.p)} of windows, {drop.batch} in a row"


def _queries(found: Planned) -> str:
    lines = [_HEAD, *(_cells(name, one) for name, one in found.outcomes.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = 2
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cells(name: str, one: Outcome) -> tuple[str, ...]:
    if not one.keep:
        return name, one.answers, "closed", "-", "-", share(one.lost)
    if one.whole:
        return name, one.answers, share(1.0), "exact", "exact", share(0.0)
    bound, error = (
        "exact" if value is None else f"± {share(value)}" for value in (one.bound, one.error)
    )
    rows = "-" if one.bound is None and one.keep == 1 else share(one.keep)
    return name, one.answers, rows, bound, error, share(one.lost)


def _why(found: Planned) -> Iterator[str]:
    yield "why"
    for drop in found.plan.random:
        yield f"  {drop.arc}: keep {share(drop.keep)}"
        yield f"      {found.reasons[drop.arc]}"
    for one in found.plan.windows:
        range, slide = format_duration(one.range), format_duration(one.slide)
        yield f"  {one.arc}: {_windows(one)}, {range} every {slide}"
        yield f"      {found.reasons[one.arc]}"
