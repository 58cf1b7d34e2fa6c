"""A query is a window, grouping columns and aggregates, over a stream with an event time."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.network.aggregates import Aggregate
from penstock.network.progress import Progress, RowSlack
from penstock.windows import DOMAIN_KINDS, Kind, Late, SessionSpec, WindowSpec, classify
from penstock.windows.kinds import TUPLE_KINDS

WINDOW_COLUMNS = ("window_start", "window_end")
"""The columns that the results of windows over time or another attribute begin with."""
WID_COLUMNS = ("wid",)
"""Those of windows that rows drive: a row number, or the value at which the window ends."""

WINDOW_TIME = "window_time"
"""The last microsecond of a window, as Spark's `window_time` has it: when its answer is due."""

LATE: tuple[Late, ...] = ("generous", "consistent")


def window_columns(window: WindowSpec | SessionSpec) -> tuple[str, ...]:
    """The columns that tell which window a result is of.

    Args:
        window: of any kind.

    >>> from penstock.windows import rows, tumbling
    >>> window_columns(tumbling("1 min", on="ts")), window_columns(rows(10))
    (('window_start', 'window_end'), ('wid',))
    """
    return WINDOW_COLUMNS if window.kind in DOMAIN_KINDS | {Kind.SESSION} else WID_COLUMNS


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked; nothing is computed yet.

    Args:
        window: of any kind.
        keys: the grouping columns.
        aggregates: result column → aggregate.
        late: "generous" counts a late row in those of its windows that are open, as Spark does;
            "consistent" counts it only if all of its windows are open.
        progress: how the stream says how far it is; None by a slack behind its newest row.
        order: the columns that say in which order the rows of a batch arrive.
        filters: the predicates that hold for the rows, as a checkpoint remembers them; queries
            over the same rows are the same whatever the words.

    >>> from penstock.network.aggregates import count
    >>> from penstock.windows import sliding
    >>> print(Query(sliding("60 s", "5 s", on="ts"), ("host",), {"n": count()}))
    SELECT host, count(*) AS n [RANGE 1 min SLIDE 5 s WATTR ts] GROUP BY host
    """

    window: WindowSpec | SessionSpec
    keys: tuple[str, ...]
    aggregates: dict[str, Aggregate]
    late: Late = "generous"
    progress: Progress | None = None
    order: tuple[str, ...] = ()
    filters: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.late not in LATE:
            hint = did_you_mean(str(self.late), LATE)
            rule = "must be 'generous' or 'consistent'"
            raise SpecificationError(complaint("late", rule, self.late, hint))
        if not self.aggregates:
            hint = "such as agg(n=ps.count())"
            raise SpecificationError(complaint("agg()", "needs an aggregate", None, hint))
        for name, aggregate in self.aggregates.items():
            if not isinstance(aggregate, Aggregate):
                rule, hint = f"needs an aggregate of penstock for {name}", "such as ps.count()"
                raise SpecificationError(complaint("agg()", rule, aggregate, hint))
        self._check_names()

    def _check_names(self) -> None:
        # Spark takes `s` and `S` for one column.
        taken = {name.lower() for name in self.window_columns}
        for what, name in [
            *(("by()", key) for key in self.keys),
            *(("agg()", name) for name in self.aggregates),
        ]:
            if name.lower() in taken:
                rule = "must name each result column once (upper and lower case are the same)"
                raise SpecificationError(complaint(what, rule, name))
            taken.add(name.lower())

    @property
    def spec(self) -> WindowSpec:
        """The window, where it is known to be no session."""
        assert isinstance(self.window, WindowSpec)  # noqa: S101 - sessions go another way
        return self.window

    @property
    def pattr(self) -> tuple[str, ...]:
        """The columns that part the stream; a session has none."""
        return self.window.pattr if isinstance(self.window, WindowSpec) else ()

    @property
    def window_columns(self) -> tuple[str, ...]:
        """The columns that tell which window a result is of."""
        return window_columns(self.window)

    @property
    def terms(self) -> str:
        """What becomes of late rows, how the stream says how far it is, which rows it has."""
        order = f"order {', '.join(self.order)}" if self.counts_rows else ""
        where = f"where {' AND '.join(self.filters)}" if self.filters else ""
        return "; ".join(str(part) for part in (self.late, self.progress, order, where) if part)

    @property
    def counts_rows(self) -> bool:
        """Whether it matters in which order rows arrive."""
        by_number = self.window.kind in TUPLE_KINDS | {Kind.SLIDE_BY_ROWS}
        return by_number or isinstance(self.progress, RowSlack)

    @property
    def user_defined(self) -> bool:
        """Whether an aggregate is the user's own, so that Python has to compute it."""
        return any(aggregate.fold is not None for aggregate in self.aggregates.values())

    def __str__(self) -> str:
        select = [*self.keys, *(f"{a} AS {name}" for name, a in self.aggregates.items())]
        group = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"SELECT {', '.join(select)} [{self.window}]{group}"

    def describe(self) -> list[str]:
        """The lines of `explain` that need no engine: the window's class, what may not repeat."""
        kind = classify(self.window)
        lines = [str(self), f"window    {self.window.kind.value}: {kind}"]
        lines += [
            f"note      {name} = {a}: it is a sketch, and a replay may give another answer"
            for name, a in self.aggregates.items()
            if not a.repeatable
        ]
        return lines
