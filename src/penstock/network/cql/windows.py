"""A window clause becomes a window specification, or is refused at the part that does not fit.

    RANGE    SLIDE    on                           window
    time     time     WATTR ts                     sliding, tumbling
    value    value    WATTR n                      sliding, tumbling over a column of numbers
    -        either   WATTR, with LANDMARK         landmark
    rows     rows     WATTR row-num                rows; with PATTR in each partition
    either   rows     RATTR ts SATTR row-num       slide_by_tuple, slide_by_rows
    either   rows     RATTR ts SATTR rank(ts)      slide_by_rank

Windows end at multiples of SLIDE since the epoch, as in the paper. Spark's windows begin there,
which is the same where SLIDE divides RANGE.
"""

from __future__ import annotations

from typing import NoReturn

from penstock.network.cql.clause import Amount, Attribute, Clause
from penstock.network.cql.errors import CqlError
from penstock.network.cql.names import written
from penstock.network.cql.tokens import Token
from penstock.windows import (
    WindowSpec,
    landmark,
    rows,
    slide_by_rank,
    slide_by_rows,
    sliding,
)
from penstock.windows.amounts import DomainUnit
from penstock.windows.kinds import ROW_NUM


def to_window(clause: Clause, text: str) -> WindowSpec:
    """The window that the clause describes.

    Args:
        clause: the parts that were written.
        text: the whole text, for the message.

    >>> from penstock.network.cql.clause import window_clause
    >>> from penstock.network.cql.cursor import Cursor
    >>> q3 = "[RANGE 300 seconds RATTR ts SLIDE 1 row SATTR row-num]"
    >>> print(to_window(window_clause(Cursor(q3)), q3))
    RANGE 5 min RATTR ts SLIDE 1 row SATTR row-num

    Li et al., SIGMOD 2005, §3.2.
    """
    return _Reader(clause, text).window()


class _Reader:
    def __init__(self, clause: Clause, text: str) -> None:
        self.clause = clause
        self.text = text

    def window(self) -> WindowSpec:
        slide = self._lengths()
        rattr, sattr = self._attributes()
        if rattr.name == ROW_NUM:
            return self._rows(slide, sattr)
        self._column_has_a_domain(rattr)
        if sattr.rank or sattr.name == ROW_NUM:
            return self._slide_by(slide, rattr, sattr)
        if sattr.name.lower() != rattr.name.lower():
            may = f"{written(rattr.name)} (as RATTR), row-num or rank({written(rattr.name)})"
            self._refuse(f"SATTR must be {may}; got {sattr.token}", sattr.token)
        return self._domain(slide, rattr)

    def _lengths(self) -> Amount:
        words, clause = self.clause.words, self.clause
        if "LANDMARK" in words and "RANGE" in words:
            second = max(words["LANDMARK"], words["RANGE"], key=lambda word: word.at)
            self._refuse("a window has RANGE or LANDMARK, not both", second)
        if "LANDMARK" not in words and clause.range is None:
            self._missing("RANGE, such as RANGE 300 seconds, or LANDMARK")
        if clause.slide is None:
            self._missing("SLIDE, such as SLIDE 60 seconds")
        return clause.slide

    def _attributes(self) -> tuple[Attribute, Attribute]:
        """RATTR and SATTR; a WATTR is both."""
        clause = self.clause
        other = clause.rattr or clause.sattr
        if clause.wattr is not None:
            if other is not None:
                word = clause.words["RATTR" if clause.rattr else "SATTR"]
                message = "WATTR stands for RATTR and SATTR together: give it alone, or these two"
                self._refuse(message, max(word, clause.words["WATTR"], key=lambda w: w.at))
            return clause.wattr, clause.wattr
        if other is None:
            counted = clause.range is not None and clause.range.unit == "rows"
            self._missing("WATTR, such as WATTR " + ("row-num" if counted else "ts"))
        if clause.rattr is None:
            self._missing("RATTR, the column that RANGE is on")
        if clause.sattr is None:
            self._missing("SATTR, such as SATTR row-num")
        return clause.rattr, clause.sattr

    def _rows(self, slide: Amount, sattr: Attribute) -> WindowSpec:
        if self.clause.range is None:
            message = "LANDMARK needs a column, and row-num is none"
            self._refuse(message, self.clause.words["LANDMARK"])
        if sattr.rank or sattr.name != ROW_NUM:
            self._refuse("SATTR must be row-num where RATTR is row-num", sattr.token)
        for part, amount in (("RANGE", self.clause.range), ("SLIDE", slide)):
            if amount.unit != "rows":
                message = f"{part} must be in rows where it is on row-num"
                self._refuse(message, amount.token)
        by = [column.name for column in self.clause.pattr]
        return rows(self.clause.range.value, slide.value, by=by)

    def _column_has_a_domain(self, rattr: Attribute) -> None:
        clause = self.clause
        if clause.range is not None and clause.range.unit == "rows":
            word = "WATTR" if clause.wattr else "RATTR"
            message = f"RANGE counts rows, so {word} must be row-num; got {rattr.token}"
            self._refuse(message, rattr.token)
        if clause.pattr:
            columns = ", ".join(written(column.name) for column in clause.pattr)
            message = f"PATTR is for windows that count rows; write GROUP BY {columns}"
            self._refuse(f"{message}, which gives the same answers here", clause.words["PATTR"])

    def _slide_by(self, slide: Amount, rattr: Attribute, sattr: Attribute) -> WindowSpec:
        length = self.clause.range
        if length is None:
            message = "LANDMARK slides on its column: it takes WATTR, not SATTR"
            self._refuse(message, self.clause.words["LANDMARK"])
        if sattr.rank and sattr.name.lower() != rattr.name.lower():
            message = f"SATTR must be the rank of RATTR, rank({written(rattr.name)})"
            self._refuse(f"{message}; got rank({written(sattr.name)})", sattr.token)
        if slide.unit != "rows":
            on = f"rank({written(rattr.name)})" if sattr.rank else ROW_NUM
            self._refuse(f"SLIDE must be in rows where it is on {on}", slide.token)
        make = slide_by_rank if sattr.rank else slide_by_rows
        unit = _domain_unit(length)
        return make(length.value, on=rattr.name, every=slide.value, unit=unit)

    def _domain(self, slide: Amount, wattr: Attribute) -> WindowSpec:
        length = self.clause.range
        if slide.unit == "rows":
            on = f"RATTR {written(wattr.name)} SATTR row-num"
            self._refuse(f"SLIDE counts rows: write {on} for such a window", slide.token)
        unit = _domain_unit(slide)
        if length is None:
            return landmark(slide.value, on=wattr.name, unit=unit)
        if length.unit != slide.unit:
            message = "RANGE and SLIDE must both have a unit of time, or both have none"
            self._refuse(message, slide.token)
        return sliding(length.value, slide.value, on=wattr.name, unit=unit)

    def _missing(self, what: str) -> NoReturn:
        self._refuse(f"the window needs {what}", self.clause.closing)

    def _refuse(self, message: str, token: Token) -> NoReturn:
        raise CqlError(message, self.text, token.at)


def _domain_unit(amount: Amount) -> DomainUnit:
    return "time" if amount.unit == "time" else "value"
