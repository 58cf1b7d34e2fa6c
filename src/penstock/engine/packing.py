"""Many rows as one value: Arrow tables in a binary column, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

_MOST_ROWS = 200_000
"""A message has about this many rows: few enough for memory, many enough to be cheap."""

Batches = Iterable[pa.RecordBatch]


def pack(bucket: str, buckets: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Rows into messages of (bucket, table), for Spark's `mapInArrow`.

    Every bucket gets a message in every batch, if without a table: a bucket that heard nothing
    would not know what has become late by then.

    Args:
        bucket: the column that says to which bucket a row goes; the others are handed on.
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
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    written: bytes = sink.getvalue().to_pybytes()
    return written


def deserialise(message: bytes | pa.Buffer) -> pa.Table:
    """The table that `serialise` was given."""
    with pa.ipc.open_stream(message) as stream:
        return stream.read_all()


def _messages(batches: Sequence[pa.RecordBatch], bucket: str) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches(batches)
    buckets = pc.unique(table.column(bucket)).sort()
    rest = table.drop_columns([bucket])
    parts = [
        rest if len(buckets) == 1 else rest.filter(pc.equal(table.column(bucket), number))
        for number in buckets
    ]
    payloads = pa.array([serialise(part) for part in parts], pa.binary())
    yield pa.RecordBatch.from_arrays(
        [buckets.cast(pa.int32()), payloads], [bucket, "penstock_payload"]
    )
