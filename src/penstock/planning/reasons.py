"""Sentences: why a drop is there, why a query is closed, what could not be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.planning.levels import Roles, never_shed
from penstock.planning.spans import Span
from penstock.planning.spread import own_spans
from penstock.planning.subset import Dropped, Option
from penstock.planning.workload import Floats, Workload
from penstock.windows.durations import format_duration

_ABOVE = 1e-6
_EQUAL = 1e-9


def share(value: float) -> str:
    """A share in percent, with as many digits as it takes to tell it from 0 and from all.

    >>> share(0.5), share(0.031), share(0.0004), share(0.996)
    ('50 %', '3.1 %', '0.04 %', '99.6 %')
    """
    percent = 100 * value
    if percent in (0, 100) or 10 <= percent < 99:  # noqa: PLR2004 - per cent
        return f"{percent:.0f} %"
    return f"{percent:.3g} %" if percent >= 99 else f"{percent:.2g} %"  # noqa: PLR2004


def why_random(
    load: Workload,
    keep: Floats,
    cut: tuple[int, int],
    neediest: Sequence[int],
    saved: float,
    *,
    even: float = 0.0,
) -> str:
    """Why a random drop stands on an arc.

    Args:
        load: the network.
        keep: of each node.
        cut: the arc.
        neediest: of each node, the query that needs the most.
        saved: seconds per second.
        even: the share that all queries keep, since their errors are small enough; 0 if they are
            not.
    """
    a, x = cut
    most = load.queries[neediest[x]].name
    saves = f"it saves {share(saved / load.total)} of the load"
    if keep[x] <= even * (1 + _EQUAL):
        kept = f"all queries keep {share(float(keep[x]))} of the rows or more"
        return f"{kept}, with errors of {share(load.enough)} at most; {saves}"
    if not load.parents[a]:
        needs = f"{most} needs {share(float(keep[x]))} of the rows"
        alone = len(load.children[x]) == 0
        return f"{needs}; {saves}" if alone else f"{needs}, and no other query more; {saves}"
    above = load.queries[neediest[a]].name
    return (
        f"{above} needs {share(float(keep[a]))} of the rows of {load.nodes[a].name}, "
        f"but from here on {share(float(keep[x]))} are enough, for {most}; {saves}"
    )


def why_windows(load: Workload, option: Option, p: float, queries: Sequence[str]) -> str:
    """Why a window drop stands before an operator.

    Args:
        load: the network.
        option: the drop.
        p: the share of windows.
        queries: whose windows it drops.
    """
    span = option.span
    kept = span.kept(p, option.batch * span.slide)
    early = (
        f"{share(1 - kept)} of the rows are in dropped windows only"
        if kept < 1
        else f"B = {option.batch} is less than the overlap {span.overlap}: no row is dropped, only "
        "what follows from it"
    )
    whose = "the windows of " + ", ".join(queries)
    saved = share((p * option.saves - option.costs) / load.total)
    where = "the first point after which there are only "
    return f"{where}{whose}, all of one kind; {early}; it saves {saved} of the load"


def why_now(load: Workload, option: Option, p: float, queries: Sequence[str]) -> str:  # noqa: ARG001
    """Why the windows of a query are dropped for now."""
    saved = share(option.saves / load.total)
    return (
        f"with {', '.join(queries)} there is more work than fits at this moment; what is kept "
        f"takes less for its weight; until it is opened again this saves {saved} of the load"
    )


def closed_because(load: Workload, roles: Roles) -> Iterator[str]:
    """Why queries are closed."""
    spans = own_spans(load, roles.not_admitted)
    for number in roles.closed:
        query = load.queries[number]
        if number not in roles.not_admitted:
            yield (
                f"{query.name} is closed: its priority is {query.priority}, and what there is does "
                "not suffice for those that come before it"
            )
            continue
        stay = ""
        span = spans[number]
        if span is not None and span.batch is not None:
            stay = f"; if at most {span.batch} of its windows in a row are missing, at least "
            stay += f"{share(span.least(span.batch))} of its rows stay"
        yield (
            f"{query.name} is closed: with the gaps that queries tolerate the load stays above the "
            f"capacity, and it is the costliest of them{stay}"
        )


def too_much(
    load: Workload, roles: Roles, after: float, lost: Mapping[int, float]
) -> Iterator[str]:
    """What could not be met, and which queries cannot help."""
    if not roles.sampled and not roles.windows:
        return
    for number in roles.whole:
        query = load.queries[number]
        if never_shed(query):
            reason = (
                "rows must not be missing in a row, and a random drop cannot promise that"
                if query.rows
                else "a sample of its rows has no error bound; answers = 'subset' drops windows"
            )
            yield f"{query.name} is never shed: {reason}"
    for number, span in own_spans(load, (n for n in roles.windows if n not in lost)).items():
        name = load.queries[number].name
        if span is None:
            yield (
                f"{name} loses no window: which rows are in a window of this kind depends on "
                "the rows before it"
            )
        elif not span.drops_early:
            yield (
                f"{name} loses no window: each row is in {_overlap(span)}, "
                f"and only {span.batch} in a row may be missing, so none is in dropped ones only"
            )
    yield from above(after, load.capacity)


def above(after: float, capacity: float) -> Iterator[str]:
    """That the load stays above the capacity, if it does.

    Args:
        after: the load under the plan, seconds per second.
        capacity: seconds per second.
    """
    if after > capacity * (1 + _ABOVE):
        yield (
            f"the load stays at {after / capacity:.2f} times the capacity: "
            "what is left cannot be dropped"
        )


def at_their_most(load: Workload, windows: Dropped, after: float, *, random: bool) -> Iterator[str]:
    """What each window drop leaves, where all of them together are not enough.

    Args:
        load: the network.
        windows: the window drops.
        after: the load under the plan, seconds per second.
        random: whether rows are dropped at random besides.
    """
    # Those of a running network come and go: what they take at a moment is not the most.
    lasting = [(one, p) for one, p in windows.drops if one.queries is None]
    if any(p < one.most * (1 - _EQUAL) for one, p in lasting):
        return
    if after > load.capacity * (1 + _ABOVE):
        rest = "and the load stays above the capacity"
    elif random:
        rest = "and random drops take the rest from other queries"
    else:
        return
    for one, _ in lasting:
        missing = (
            f"at most {one.batch} in a row may be missing"
            if one.span.batch is not None
            else f"{one.batch} in a row are dropped"
        )
        yield (
            f"the window drop before {load.nodes[one.node].name} drops as much as it can: each row "
            f"is in {_overlap(one.span)}, and {missing}, so at least "
            f"{share(one.span.least(one.batch))} of the rows stay; that is not enough, {rest}"
        )


def _overlap(span: Span) -> str:
    """How many windows a row is in; of nested ones, those that a drop decides on."""
    windows = "1 window" if span.overlap == 1 else f"{span.overlap} windows"
    return f"{windows} ({format_duration(span.range)} every {format_duration(span.slide)})"
