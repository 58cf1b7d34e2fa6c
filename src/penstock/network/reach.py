"""Which rows of its streams a stretch of a query's answers needs, windows over windows included.

windows over windows                [--------)            the stretch that is asked for
windows that end in it         |----|
                                    |----|
rows                           [-------------)            it begins where the first of them does
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import UsageError, complaint
from penstock.network.operators import Aggregate, Operator, Source, inputs
from penstock.windows import WindowSpec

Span = tuple[int, int]


def reach(operator: Operator, spans: Iterable[Span]) -> dict[Source, list[Span]]:
    """Stream → the stretches of event time whose rows can be in these stretches of an operator.

    Args:
        operator: whose rows are asked for; those of an aggregate have the time of their window's
            last microsecond.
        spans: from a time to before another, in microseconds.
    """
    wanted = list(spans)
    if isinstance(operator, Source):
        return {operator: wanted}
    if isinstance(operator, Aggregate):
        length = _length(operator.query.window)
        wanted = [(start + 1 - length, end) for start, end in wanted]
    found: dict[Source, list[Span]] = {}
    for fed_by in inputs(operator):
        for source, theirs in reach(fed_by, wanted).items():
            found.setdefault(source, []).extend(theirs)
    return found


def _length(window: object) -> int:
    length = None
    if isinstance(window, WindowSpec):
        length = window.range if window.period is None else window.period
    if length is None:
        rule = "must have windows of a length that is known"
        raise UsageError(complaint("a query", rule, str(window)))
    return length
