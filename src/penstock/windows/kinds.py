"""The kinds of windows, and the three ways in which data or domain drive them."""

from __future__ import annotations

from enum import Enum
from typing import Literal

ROW_NUM = "row-num"
"""The arrival position of a row, counted from 0; not a column, so it has a name no column has."""

Unit = Literal["time", "rows", "value"]
"""What RANGE is measured in: microseconds, rows, or steps of a plain whole number."""


class Kind(Enum):
    """The window kinds of the paper, and two that users expect: cumulative, and session."""

    SLIDING = "sliding"
    TUMBLING = "tumbling"
    LANDMARK = "landmark"
    CUMULATIVE = "cumulative"
    TUPLE = "tuple"
    PARTITIONED_TUPLE = "partitioned tuple"
    SLIDE_BY_TUPLE = "slide by tuple"
    SLIDE_BY_ROWS = "slide by rows"
    SLIDE_BY_RANK = "slide by rank"
    SESSION = "session"


DOMAIN_KINDS = frozenset({Kind.SLIDING, Kind.TUMBLING, Kind.LANDMARK, Kind.CUMULATIVE})
"""RANGE and SLIDE are both on one attribute (WATTR) of the row: the domain drives the windows."""

TUPLE_KINDS = frozenset({Kind.TUPLE, Kind.PARTITIONED_TUPLE})
"""RANGE and SLIDE both count rows, in the stream or in a partition of it."""

SLIDE_BY_KINDS = frozenset({Kind.SLIDE_BY_TUPLE, Kind.SLIDE_BY_ROWS, Kind.SLIDE_BY_RANK})
"""RANGE is on an attribute and SLIDE counts rows: the data drive the windows."""
