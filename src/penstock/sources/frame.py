"""Any DataFrame as a source."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import SchemaError, complaint, did_you_mean
from penstock.sources import checks


@dataclass(frozen=True, slots=True)
class Frame:
    """A DataFrame of the user's own.

    Args:
        rows: batch or stream.
        identity: the columns that tell two rows apart.
    """

    rows: DataFrame
    identity: tuple[str, ...]

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The DataFrame as it was given."""
        del spark  # it belongs to the session that it was made in
        return self.rows

    def describe(self) -> str:
        """One line for a report."""
        kind = "stream" if self.rows.isStreaming else "table"
        return f"a {kind} with columns {', '.join(self.rows.columns)}"


def frame(rows: DataFrame, identity: str | tuple[str, ...] | list[str] = ()) -> Frame:
    """Any DataFrame as a source.

    Args:
        rows: batch or stream.
        identity: the column or columns that tell two rows apart, such as an order number. Without
            them equal rows are dropped together, and error bounds do not hold.
    """
    if not isinstance(rows, DataFrame):
        raise SchemaError(complaint("frame()", "needs a DataFrame", type(rows).__name__))
    listed = checks.names("identity", identity)
    known = {name.lower() for name in rows.columns}
    for name in listed:
        if name.lower() not in known:
            hint = did_you_mean(name, rows.columns)
            raise SchemaError(complaint("identity", "must be a column", name, hint))
    return Frame(rows, listed)
