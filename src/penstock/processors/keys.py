"""Keys as numbers: 0, 1, 2, … in their order of appearance, whatever type their columns have.

Null is a key like any other; 0.0 and -0.0 are one, and so are all NaN, as in Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.processors.partials import Indices

Key = tuple[Any, ...]


@dataclass(slots=True)
class Keys:
    """The keys seen so far, and their numbers."""

    numbers: dict[Key, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def encode(self, columns: Sequence[pa.Array], rows: int) -> Indices:
        """The number of each row's key; new keys are given the next ones.

        Args:
            columns: the key columns; none if there is one group for all rows.
            rows: how many rows there are.
        """
        if not columns:
            self.numbers.setdefault((), 0)
            return np.zeros(rows, np.int64)
        values, codes = _distinct([_plain(column) for column in columns])
        numbers = [self.numbers.setdefault(key, len(self.numbers)) for key in values]
        return np.array(numbers, np.int64)[codes] if numbers else np.empty(0, np.int64)

    def columns(self, numbers: Indices, types: Sequence[pa.DataType]) -> list[pa.Array]:
        """The keys with these numbers, as columns of these types."""
        keys = list(self.numbers)
        arrays = []
        for place, of in enumerate(types):
            each = _typed([key[place] for key in keys], of)
            arrays.append(each.take(pa.array(numbers)))
        return arrays

    def forget(self, used: Indices) -> Indices:
        """Keeps the used ones only; gives the new number of every old one, 0 for the others."""
        keys = list(self.numbers)
        self.numbers = {keys[old]: new for new, old in enumerate(used.tolist())}
        renumbered = np.zeros(len(keys), np.int64)
        renumbered[used] = np.arange(len(used))
        return renumbered


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[Key], Indices]:
    """The different rows of some columns, and which of them each row is."""
    encoded = [column.dictionary_encode(null_encoding="encode") for column in columns]
    values = [e.dictionary.to_pylist() for e in encoded]
    indices = [e.indices.to_numpy().astype(np.int64) for e in encoded]
    codes = indices[0]
    for more, index in zip(values[1:], indices[1:], strict=True):
        codes = codes * max(1, len(more)) + index
        if len(encoded) > 2:  # noqa: PLR2004 - keeps the numbers small
            codes = np.unique(codes, return_inverse=True)[1]
    if len(columns) == 1:
        return [(value,) for value in values[0]], codes
    _, sample, codes = np.unique(codes, return_index=True, return_inverse=True)
    keys = [
        tuple(value[index[row]] for value, index in zip(values, indices, strict=True))
        for row in sample.tolist()
    ]
    return keys, codes


def _plain(column: pa.Array) -> pa.Array:
    """Floats as their bits, times as their number: values that Python takes for equal or not."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    of = column.type
    if pa.types.is_floating(of):
        data = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0
        data = np.where(np.isnan(data), np.nan, data)
        return pa.array(data.view(np.int64), mask=column.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(of) or pa.types.is_duration(of):
        return column.cast(pa.int64())
    if pa.types.is_dictionary(of):
        return column.dictionary_decode()
    if pa.types.is_nested(of):
        return pa.array([pickle.dumps(value) for value in column.to_pylist()], pa.binary())
    return column


def _typed(values: list[Any], of: pa.DataType) -> pa.Array:
    if pa.types.is_floating(of):
        bits = pa.array(values, pa.int64())
        floats = pc.fill_null(bits, 0).to_numpy().view(np.float64)
        return pa.array(floats, mask=bits.is_null().to_numpy(zero_copy_only=False)).cast(of)
    if pa.types.is_timestamp(of) or pa.types.is_duration(of):
        return pa.array(values, pa.int64()).cast(of)
    if pa.types.is_nested(of):
        return pa.array([pickle.loads(value) for value in values], of)  # noqa: S301 - our own
    return pa.array(values, of)
