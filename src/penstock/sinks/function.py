"""Results into a function of the user's own: the way to Delta, Iceberg and everything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.errors import SpecificationError, complaint


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is called with every batch.

    Args:
        call: takes the DataFrame and the number of the batch.
    """

    call: Callable[[DataFrame, int], object]

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Calls the function.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        self.call(batch, batch_id)

    def describe(self) -> str:
        """One line for a report."""
        return f"the function {getattr(self.call, '__name__', type(self.call).__name__)}"


def function(call: Callable[[DataFrame, int], object]) -> Function:
    """Results into a function of the user's own.

    The function is called at least once for a batch, always with the same number for the same
    rows: where it replaces what it wrote under that number, every row is there once. It should run
    one action on the DataFrame, or persist it first.

    Args:
        call: takes the DataFrame and the number of the batch.
    """
    if not callable(call):
        rule = "must be a function of a DataFrame and the number of its batch"
        raise SpecificationError(complaint("function()", rule, call))
    return Function(call)
