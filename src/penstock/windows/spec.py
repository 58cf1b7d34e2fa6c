"""One specification type describes every kind of window; its kind follows from its parameters.

RANGE 5 min, SLIDE 1 min          SLIDE 2 min, no RANGE          RANGE 1 min, SLIDE 2 min
|----0----|                       |-0-|                            |-0|
  |----1----|                     |---1---|                             |-1|
    |----2----|                   |-----2-----|                              |-2|
sliding (= tumbling if equal)     landmark                       sliding, with gaps
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.windows.durations import format_duration
from penstock.windows.kinds import ROW_NUM, SLIDE_BY_KINDS, TUPLE_KINDS, Kind, Unit
from penstock.windows.rules import check


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSpec:
    """A window is RANGE long, moves by SLIDE, and ends at `origin + (w + 1) * slide`.

    Args:
        range: length in `unit`; None for landmark and cumulative windows.
        slide: step in `unit`; in rows where `sattr` is `ROW_NUM` or `rank` is set.
        rattr: the column that RANGE is on (RATTR), or `ROW_NUM`.
        sattr: the column that SLIDE is on (SATTR): the same (one WATTR), or `ROW_NUM`.
        pattr: the columns (PATTR) that part the stream before it is windowed; tuple windows only.
        origin: phase of the window ends in `unit`; the paper has the smallest WATTR here.
        start: where the stream begins in `unit`; extents are clipped there (partial extents).
            None: no beginning, and window-ids run over all whole numbers.
        period: length of the period in `unit` after which a cumulative window starts afresh.
        rank: SLIDE is on rank(RATTR), the row's position in the order of RATTR.
        unit: what `range`, `period`, `origin` and `start` are measured in.

    `sliding`, `rows` and the other constructors read durations, and are easier to write.

    >>> q1 = WindowSpec(range=300_000_000, slide=60_000_000, rattr="ts", sattr="ts")
    >>> q1.kind, str(q1)
    (<Kind.SLIDING: 'sliding'>, 'RANGE 5 min SLIDE 1 min WATTR ts')

    Li et al., SIGMOD 2005, §3.2.
    """

    range: int | None
    slide: int
    rattr: str
    sattr: str
    pattr: tuple[str, ...] = ()
    origin: int = 0
    start: int | None = None
    period: int | None = None
    rank: bool = False
    unit: Unit = "time"

    def __post_init__(self) -> None:
        check(self)

    @property
    def kind(self) -> Kind:
        """The kind says what the windows mean, whichever constructor was used."""
        if self.rattr == ROW_NUM:
            return Kind.PARTITIONED_TUPLE if self.pattr else Kind.TUPLE
        if self.rank or self.sattr == ROW_NUM:
            # By one row, the order in which rows are counted no longer matters.
            if self.slide == 1:
                return Kind.SLIDE_BY_TUPLE
            return Kind.SLIDE_BY_RANK if self.rank else Kind.SLIDE_BY_ROWS
        if self.period is not None:
            return Kind.CUMULATIVE
        if self.range is None:
            return Kind.LANDMARK
        return Kind.TUMBLING if self.range == self.slide else Kind.SLIDING

    def __str__(self) -> str:
        """The specification in the paper's words; phase and start are named where they are set."""
        counted = self.kind in TUPLE_KINDS | SLIDE_BY_KINDS
        parts = [f"RANGE {self._text(self.range)}"] if self.range is not None else ["LANDMARK"]
        if self.period is not None:
            parts = [f"PERIOD {self._text(self.period)}"]
        if self.kind in SLIDE_BY_KINDS:
            sattr = f"rank({self.rattr})" if self.rank else self.sattr
            parts += [f"RATTR {self.rattr}", f"SLIDE {_rows(self.slide)}", f"SATTR {sattr}"]
        else:
            slide = _rows(self.slide) if counted else self._text(self.slide)
            parts += [f"SLIDE {slide}", f"WATTR {self.rattr}"]
        parts += [f"PATTR {', '.join(self.pattr)}"] if self.pattr else []
        parts += [f"ORIGIN {self._text(self.origin)}"] if self.origin else []
        if self.start is not None and not counted:
            parts.append(f"START {self._text(self.start)}")
        return " ".join(parts)

    def _text(self, amount: int) -> str:
        if self.unit == "time":
            return format_duration(amount)
        return _rows(amount) if self.unit == "rows" else str(amount)


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
