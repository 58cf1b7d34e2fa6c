"""The answers of a batch go to their sinks: one action where all go to one place."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame

from penstock.engine.measure import Write
from penstock.engine.part import Part
from penstock.engine.together import united


class Writer(Protocol):
    """A sink as an object."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Takes the answers of a batch; the same number again replaces them."""


Sink = Write | Writer


def delivery(
    part: Part, names: tuple[str, ...], sink: Sink | None, sinks: Mapping[str, Sink]
) -> Write:
    """What is done with each batch.

    Args:
        part: whose answers they are.
        names: of its queries.
        sink: for all queries that have none of their own.
        sinks: of queries.
    """
    common = [name for name in names if name not in sinks]
    own = any(name in sinks for name in names)

    def deliver(batch: DataFrame, number: int) -> None:
        if not own and sink is not None:
            writes(sink)(part.together(batch), number)
            return
        answers = part.answers(batch)
        todo = [(writes(sinks[name]), answers[name]) for name in names if name in sinks]
        if common and sink is not None:
            todo.append((writes(sink), united({name: answers[name] for name in common})))
        with ThreadPoolExecutor(len(todo)) as pool:
            # A thread of ours has to belong to the stream, for its jobs to end with it.
            belonging = inheritable_thread_target(batch.sparkSession)
            jobs = [pool.submit(belonging(write), rows, number) for write, rows in todo]
            for job in jobs:
                job.result()

    return deliver


def write_one(name: str, sink: Sink | None, sinks: Mapping[str, Sink]) -> Write:
    """What is done with the answers of a query that has a stream of its own."""
    if name in sinks:
        return writes(sinks[name])
    assert sink is not None  # noqa: S101 - every query has a sink
    write = writes(sink)
    return lambda batch, number: write(united({name: batch}), number)


def writes(sink: Sink) -> Write:
    """A sink as a function."""
    return sink.write if hasattr(sink, "write") else sink
