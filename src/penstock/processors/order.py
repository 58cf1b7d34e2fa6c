"""The order of arrival of the rows of a batch, the same whenever the batch is run again.

Tasks hand over their rows in any order. Rows are taken in the order of the columns that the user
names; rows that are equal in these in the order of all others, so that rows whose order is open are
equal in all that a query sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.processors.partials import Indices


def arrival(rows: pa.Table, by: Sequence[str]) -> Indices | None:
    """The positions of the rows in order of arrival; None if they are in it already.

    Args:
        rows: of one batch.
        by: the columns that order them, missing values last; none if it does not matter.
    """
    if rows.num_rows < 2 or not by:  # noqa: PLR2004 - nothing to order
        return None
    if len(by) == 1 and _number(rows.schema.field(by[0]).type):
        values = rows.column(by[0])
        if not values.null_count:
            values = values.cast(pa.int64())
            if _rises(values):
                return None
            numbers = values.to_numpy()
            order = np.argsort(numbers, kind="stable")
            if (np.diff(numbers[order]) > 0).all():  # no two are equal: the others do not matter
                return order
    others = [name for name in rows.column_names if name not in by]
    sortable = [name for name in (*by, *others) if _sortable(rows.schema.field(name).type)]
    keys = [(name, "ascending") for name in sortable]
    sorted_: Indices = pc.sort_indices(rows, sort_keys=keys).to_numpy().astype(np.int64)
    return sorted_


def _rises(values: pa.ChunkedArray) -> bool:
    """Whether each value is greater than the one before; looked at chunk by chunk, not copied."""
    before = -math.inf
    for chunk in values.chunks:
        numbers = chunk.to_numpy()
        if len(numbers) and (numbers[0] <= before or not (np.diff(numbers) > 0).all()):
            return False
        before = int(numbers[-1]) if len(numbers) else before
    return True


def _number(of: pa.DataType) -> bool:
    return bool(pa.types.is_integer(of) or pa.types.is_timestamp(of))


def _sortable(of: pa.DataType) -> bool:
    return not pa.types.is_nested(of)
