"""What Java has to say of a failure, in one line."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError


def words(error: BaseException) -> str:
    r"""The reason of a failure: of Java's own the last cause, for the first line only says where.

    Args:
        error: of Spark, or of Java.

    >>> words(ValueError("no such topic\nat line 7"))
    'no such topic'
    >>> words(Py4JError("An error occurred.\n: java.Wrapped: x\nCaused by: a.b.Ssl: no trust"))
    'Ssl: no trust'
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or ["no reason given"]
    if not isinstance(error, Py4JError):
        return lines[0]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    raised = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    # The packages of a class say nothing to those who did not write it.
    return re.sub(r"^(\w+\.)+", "", [*lines[:1], *raised[:1], *causes][-1])
