"""A stream that is stopped in the middle of a batch ends quietly.

Spark looks for an interruption in the trace of Python, by a pattern that calls itself once for each
character. The trace of a Kafka sink is long enough to overflow its stack: what should be an end is
a page of Java on the user's terminal. So an interruption is told in few words.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from penstock.engine.measure import Write
from penstock.errors import PenstockError

_INTERRUPTED = "java.lang.InterruptedException"
# What Spark takes for an interruption by its name, and what it does to the jobs of a batch itself.
_SIGNS = re.compile(
    rf"{_INTERRUPTED}|java\.io\.InterruptedIOException"
    r"|java\.nio\.channels\.ClosedByInterruptException"
    r"|\[SPARK_JOB_CANCELLED\][^\n]* was stopped"
)


class Interrupted(PenstockError):
    """The stream was stopped while a batch was on its way."""


def told_briefly(take: Write) -> Write:
    """What is done with a batch; if it is interrupted, Spark is told so in few words.

    Args:
        take: what is done.
    """

    def taken(batch: DataFrame, number: int) -> None:
        try:
            take(batch, number)
        except Py4JJavaError as error:
            found = _SIGNS.search(str(error))
            if found is None:
                raise
            # The beginning and the end are what Spark looks for.
            begin = "py4j.protocol.Py4JJavaError: An error occurred while calling a sink"
            raise Interrupted(f"{begin}: {found.group(0)}: {_INTERRUPTED}") from None

    return taken
