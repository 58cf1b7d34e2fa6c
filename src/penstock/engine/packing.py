"""Many rows as one value: Arrow tables in a binary column, and back."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_MOST_ROWS = 200_000
"""A message has about this many rows: few enough for memory, many enough to be cheap."""

_SMALL = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)

_SHORT = 64
"""Arrays with fewer values are not worth the trouble."""

Batches = Iterable[pa.RecordBatch]


def pack(bucket: str, buckets: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Rows into messages of (bucket, table), for Spark's `mapInArrow`.

    Every bucket gets a message in every batch, if without a table: a bucket that heard nothing
    would not know what has become late by then.

    Args:
        bucket: the column that says to which bucket a row goes; the others are handed on. It need
            not be there if there is one bucket only.
        buckets: how many buckets there are.
    """

    def packed(batches: Batches) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(b.num_rows for b in waiting) >= _MOST_ROWS:
                yield from _messages(waiting, bucket)
                waiting = []
        if any(b.num_rows for b in waiting):
            yield from _messages(waiting, bucket)
        calls = [pa.array(range(buckets), pa.int32()), pa.nulls(buckets, pa.binary())]
        yield pa.RecordBatch.from_arrays(calls, [bucket, "penstock_payload"])

    return packed


def unpack(column: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Messages into rows, for Spark's `mapInArrow`.

    Args:
        column: the position of the tables; null where there is none.
    """

    def rows(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for message in batch.column(column).drop_null():
                yield from deserialise(message.as_buffer()).to_batches()

    return rows


def serialise(table: pa.Table) -> bytes:
    """A table as bytes; compressed, since they are copied several times on their way."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALL) as stream:
        stream.write_table(table.combine_chunks())
    written: bytes = sink.getvalue().to_pybytes()
    return written


def deserialise(message: bytes | pa.Buffer) -> pa.Table:
    """The table that `serialise` was given."""
    with pa.ipc.open_stream(message) as stream:
        return stream.read_all()


def in_parts(table: pa.Table) -> Iterator[pa.Table]:
    """The table in pieces for a message each: memory of that size is used over and over."""
    for begin in range(0, table.num_rows, _MOST_ROWS):
        yield table.slice(begin, _MOST_ROWS)


def freeze(state: object) -> bytes:
    """What a processor keeps between batches, as bytes; arrays take no more room than they need."""
    sink = io.BytesIO()
    _Narrow(sink, pickle.HIGHEST_PROTOCOL).dump(state)
    pickled = sink.getbuffer()
    packed: bytes = pa.compress(pickled, codec="lz4", asbytes=True)
    return len(pickled).to_bytes(8) + packed


def thaw(frozen: bytes) -> Any:  # noqa: ANN401 - whatever was frozen
    """What `freeze` was given."""
    size = int.from_bytes(frozen[:8])
    pickled = pa.decompress(memoryview(frozen)[8:], size, codec="lz4")
    return pickle.loads(pickled)  # noqa: S301 - from the checkpoint


class _Narrow(pickle.Pickler):
    """Writes arrays in the smallest type that holds their values, and rising ones as their steps.

    at     1700000000000  1700000000250  1700000001000     24 bytes
    is     1700000000000, steps 250 750                     8 and 4
    """

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401 - as pickle has it
        if not isinstance(obj, np.ndarray) or obj.ndim != 1 or obj.size < _SHORT:
            return NotImplemented
        if obj.dtype == np.float64:
            with np.errstate(over="ignore"):  # what does not fit is not equal
                narrow = obj.astype(np.float32)
            exact = np.array_equal(narrow, obj)
            return (_widened, (narrow, "f8")) if exact else NotImplemented
        if obj.dtype != np.int64:
            return NotImplemented
        steps = np.diff(obj)
        if steps.min() >= 0 and int(steps.max()) < min(1 << 32, int(obj.max()) - int(obj.min())):
            return _summed, (int(obj[0]), steps.astype(np.min_scalar_type(steps.max())))
        of = np.promote_types(np.min_scalar_type(obj.min()), np.min_scalar_type(obj.max()))
        if of.itemsize == obj.dtype.itemsize:
            return NotImplemented
        return _widened, (obj.astype(of), "i8")


def _widened(narrow: npt.NDArray[Any], of: str) -> npt.NDArray[Any]:
    return narrow.astype(of)


def _summed(first: int, steps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    rising = np.empty(len(steps) + 1, np.int64)
    rising[0] = first
    np.cumsum(steps, dtype=np.int64, out=rising[1:])
    rising[1:] += first
    return rising


def _messages(batches: Sequence[pa.RecordBatch], bucket: str) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches(batches)
    if bucket not in table.column_names:
        numbers, parts = pa.array([0]), [table]
    else:
        numbers = pc.unique(table.column(bucket)).sort()
        rest = table.drop_columns([bucket])
        parts = [rest.filter(pc.equal(table.column(bucket), number)) for number in numbers]
    payloads = pa.array([serialise(part) for part in parts], pa.binary())
    yield pa.RecordBatch.from_arrays(
        [numbers.cast(pa.int32()), payloads], [bucket, "penstock_payload"]
    )
