"""A stream that is stopped in the middle of a batch ends quietly.

Spark looks for an interruption in the trace of Python, by a pattern that calls itself once for each
character. The trace of a Kafka sink is long enough to overflow its stack: what should be an end is
a page of Java on the user's terminal. So an interruption is told in few words.
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from penstock.engine.measure import Write
from penstock.errors import PenstockError

# What Spark takes for an interruption, by these names.
_NAMES = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
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
            trace = str(error)
            name = next((name for name in _NAMES if name in trace), None)
            if name is None:
                raise
            # The beginning is what Spark looks for.
            said = f"py4j.protocol.Py4JJavaError: An error occurred while calling a sink: {name}"
            raise Interrupted(said) from None

    return taken
