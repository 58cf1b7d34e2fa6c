"""What goes wrong in a command is one line for its user; `--verbose` adds the trace."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from pyspark.errors import PySparkException

from penstock.engine.failures import cause
from penstock.errors import PenstockError, SchemaError, SpecificationError, StreamFailed, UsageError
from penstock.network.cql import CqlError

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
"""Exit codes: it failed while it ran; it was asked for what cannot be; Ctrl-C."""

Verbose = Annotated[
    bool, typer.Option("--verbose", help="Show the trace of an error, and what Spark logged.")
]


@contextmanager
def one_line_errors(*, verbose: bool) -> Iterator[None]:
    """Ends the command with a line on stderr and an exit code if the body fails.

    Args:
        verbose: whether the trace comes before the line.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise _ended("stopped", INTERRUPTED) from None
    except (SpecificationError, SchemaError, UsageError) as error:
        # One line has no room for the excerpt; the line and column in it are enough.
        said = str(error).partition("\n")[0] if isinstance(error, CqlError) else str(error)
        raise _ended(said, MISUSED, error if verbose else None) from None
    except PenstockError as error:
        raise _ended(str(error), FAILED, error if verbose else None) from None
    except PySparkException as error:
        raise _ended(cause(str(error)), FAILED, error if verbose else None) from None


def _ended(message: str, code: int, error: Exception | None = None) -> typer.Exit:
    if error is not None:
        engine = error.trace if isinstance(error, StreamFailed) else ""
        print((engine or "".join(traceback.format_exception(error))).rstrip(), file=sys.stderr)
    # Whatever the message is made of, it is one line.
    print("penstock:", " ".join(message.split()), file=sys.stderr)
    return typer.Exit(code)
