"""What went wrong in Spark, in one line; the trace is kept apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import reduce

from penstock.errors import StreamFailed
from penstock.network.operators import Source

# Spark names its errors in brackets; an outer one wraps the one that matters.
_NAMED = re.compile(
    r"\[(?!STREAM_FAILED|FAILED_EXECUTE_UDF|TASK_WRITE|FOREACH_BATCH)[A-Z][A-Z0-9_.]+\][^\n\[]*"
)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] ([^\n]*)")
# An error of Python ends its traceback; those of Spark itself only say that there was one.
_PYTHON = re.compile(
    r"^(?!pyspark\.|py4j\.|org\.|java\.)[\w.]*(?:Error|Exception|Overflow|Failed): [^\n]+",
    re.MULTILINE,
)


def stream_failed(name: str, error: BaseException) -> StreamFailed:
    """The failure of a stream, with its cause in one line.

    Args:
        name: what the user calls the stream.
        error: what Spark raised.
    """
    trace = str(error)
    return StreamFailed(f"stream {name!r} failed: {cause(trace)}", trace=trace)


Hide = Callable[[str], str]
"""Takes secrets out of a text."""


def hiding(sources: Iterable[Source]) -> Hide:
    """Takes the secrets of sources out of a text.

    Args:
        sources: of a network.
    """
    origins = [one.origin.of for one in sources if one.origin is not None]
    hides: list[Hide] = [one.hide for one in origins if hasattr(one, "hide")]
    return lambda text: reduce(lambda said, hide: hide(said), hides, text)


def cause(trace: str) -> str:
    """What a trace says in words: an error of the user's Python, or one that Spark names.

    >>> cause("[STREAM_FAILED] Query [id = 1] terminated: [ARITHMETIC_OVERFLOW] long overflow.")
    '[ARITHMETIC_OVERFLOW] long overflow.'
    """
    python = _PYTHON.findall(trace) if "Traceback (most recent call last)" in trace else []
    named = [match.group(0) for match in _NAMED.finditer(trace)]
    found = _RAISED.findall(trace) or python or named or trace.strip().splitlines()
    # Where a stack is printed on the same line, the words come before it.
    return found[0].split("SQLSTATE")[0].strip(" :") if found else "no reason given"
