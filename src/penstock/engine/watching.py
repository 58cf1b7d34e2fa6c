"""How far a long job of Spark's is, told while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from pyspark.sql import SparkSession

Tell = Callable[[str, float], None]
"""What is being done, and which share of it is, from 0 to 1."""

_PAUSE = 0.5
"""Seconds from one look to the next."""


@contextmanager
def watched(spark: SparkSession, what: str, tell: Tell) -> Iterator[None]:
    """Tells the share of tasks that are done, of the jobs that the body runs.

    Args:
        spark: the session.
        what: is being done.
        tell: is told, in a thread of its own.
    """
    context, group = spark.sparkContext, f"penstock {uuid4().hex[:8]}"
    over = threading.Event()

    def look() -> None:
        tracker = context.statusTracker()
        while not over.wait(_PAUSE):
            done = total = 0
            for job in tracker.getJobIdsForGroup(group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info is not None else ():
                    found = tracker.getStageInfo(stage)
                    if found is not None:
                        done, total = done + found.numCompletedTasks, total + found.numTasks
            tell(what, done / total if total else 0.0)

    tell(what, 0.0)
    context.setJobGroup(group, what)
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        # Spark has no other way to take a group back.
        for name in ("spark.jobGroup.id", "spark.job.description"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]
    tell(what, 1.0)
