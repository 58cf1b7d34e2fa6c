"""What a window specification may not be, one rule a function, tried in the order of `RULES`.

Each message names the parameter, the rule and the value got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.windows.kinds import ROW_NUM, Unit

if TYPE_CHECKING:
    from penstock.windows.spec import WindowSpec

_UNITS = get_args(Unit)


def check(spec: WindowSpec) -> None:
    """Raises `SpecificationError` at the first rule that the specification breaks."""
    for rule in RULES:
        rule(spec)


def _refuse(name: str, rule: str, got: object, hint: str = "") -> SpecificationError:
    return SpecificationError(complaint(name, rule, got, hint))


def _whole(name: str, value: object) -> None:
    # bool is an int to Python, but slide=True is a mistake.
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refuse(name, "must be a whole number", value)


def _lengths(spec: WindowSpec) -> None:
    for name, value in (("range", spec.range), ("slide", spec.slide), ("period", spec.period)):
        if value is None and name != "slide":
            continue
        _whole(name, value)
        if value is not None and value <= 0:
            hint = "a window that stands still never ends" if name == "slide" else ""
            raise _refuse(name, "must be greater than 0", value, hint)


def _positions(spec: WindowSpec) -> None:
    _whole("origin", spec.origin)
    if spec.start is not None:
        _whole("start", spec.start)


def _names(spec: WindowSpec) -> None:
    for name, value in (("rattr", spec.rattr), ("sattr", spec.sattr)):
        if not isinstance(value, str) or not value:
            raise _refuse(name, "must be the name of a column", value)
    if not isinstance(spec.pattr, tuple):
        raise _refuse("pattr", "must be a tuple of column names", spec.pattr)
    for column in spec.pattr:
        if not isinstance(column, str) or not column:
            raise _refuse("pattr", "must be a tuple of column names", spec.pattr)
    if len(set(spec.pattr)) < len(spec.pattr):
        raise _refuse("pattr", "must name each column once", spec.pattr)


def _unit(spec: WindowSpec) -> None:
    if spec.unit not in _UNITS:
        hint = did_you_mean(str(spec.unit), _UNITS)
        raise _refuse("unit", "must be 'time', 'rows' or 'value'", spec.unit, hint)
    if spec.rattr == ROW_NUM and spec.unit != "rows":
        raise _refuse("unit", f"must be 'rows' where rattr is {ROW_NUM!r}", spec.unit)
    if spec.rattr != ROW_NUM and spec.unit == "rows":
        raise _refuse("rattr", f"must be {ROW_NUM!r} where unit is 'rows'", spec.rattr)


def _slide_attribute(spec: WindowSpec) -> None:
    if not isinstance(spec.rank, bool):
        raise _refuse("rank", "must be True or False", spec.rank)
    if spec.rank and spec.sattr != spec.rattr:
        hint = "the order of the slide must agree with the range attribute"
        raise _refuse("sattr", f"must be {spec.rattr!r} where rank is set", spec.sattr, hint)
    if spec.rank and spec.rattr == ROW_NUM:
        hint = "the rank of a row number is the row number"
        raise _refuse("rank", f"must be False where rattr is {ROW_NUM!r}", spec.rank, hint)
    if spec.sattr not in (spec.rattr, ROW_NUM):
        rule = f"must be {spec.rattr!r} (the range attribute) or {ROW_NUM!r}"
        raise _refuse("sattr", rule, spec.sattr)


def _shape(spec: WindowSpec) -> None:
    """RANGE, PERIOD and where windows begin must fit the attributes they are on."""
    counted = spec.rattr == ROW_NUM
    driven_by_rows = spec.rank or spec.sattr == ROW_NUM
    if spec.period is not None:
        _cumulative(spec, driven_by_rows)
    elif spec.range is None and driven_by_rows:
        hint = "landmark windows slide on an attribute"
        raise _refuse("range", "must be given where slide counts rows", spec.range, hint)
    if spec.pattr and not counted:
        hint = "group by it instead: on an attribute that gives the same answers"
        raise _refuse("pattr", f"must be empty unless rattr is {ROW_NUM!r}", spec.pattr, hint)
    if driven_by_rows and spec.origin != 0:
        raise _refuse("origin", "must be 0 where slide counts rows", spec.origin)
    begin = 0 if counted else None
    if driven_by_rows and spec.start != begin:
        raise _refuse("start", f"must be {begin} where slide counts rows", spec.start)


def _cumulative(spec: WindowSpec, driven_by_rows: bool) -> None:
    if spec.range is not None:
        hint = "a cumulative window is as long as its period has run"
        raise _refuse("range", "must be None where period is given", spec.range, hint)
    if driven_by_rows:
        raise _refuse("period", "must be None where slide counts rows", spec.period)
    if spec.period is not None and spec.period % spec.slide:
        hint = f"a window would reach over the end of the period: {spec.period} is no multiple"
        raise _refuse("slide", "must divide the period", spec.slide, hint)


RULES: tuple[Callable[[WindowSpec], None], ...] = (
    _lengths,
    _positions,
    _names,
    _unit,
    _slide_attribute,
    _shape,
)
