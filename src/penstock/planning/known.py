"""What is known of a network: from a snapshot of it, its JSON, or a table in a TOML file.

[statistics.stream.packets]                 [statistics.query.web_bytes]
rate = 50_000           # rows/s            rows_per_window = 20_000    # of the worst group
[statistics.operator."filter 1"]            mean = 500                  # of what is summed
selectivity = 0.8                           deviation = 600
cost = 1e-7             # seconds per row
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from penstock.control.snapshot import Snapshot
from penstock.errors import SpecificationError, complaint
from penstock.network.tables import Table
from penstock.planning.expected import alike, hardness_of_all


@dataclass(frozen=True, slots=True)
class Known:
    """Numbers by name; what is not there is not known.

    Args:
        rates: of streams, rows per second.
        costs: of operators, seconds per row.
        selectivities: of operators.
        hardness: of queries, Σv²/(Σv)² of a window, of the worst group where there are groups.
        groups: of queries whose hardness is that of all groups, how many there are, as if alike.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    hardness: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, groups: Literal["worst", "all"] = "worst") -> Known:
        """What the statistics of a running network say.

        Args:
            snapshot: as `Statistics.now` has it.
            groups: "worst" plans for the error of the worst group, as the paper does; it often has
                a row or two. "all" plans for Σ|error| / Σ|answer| over all groups of a window.
        """
        found = cls.from_rows(snapshot.table())
        if groups == "worst":
            return found
        every = {name: hardness_of_all(those.values()) for name, those in snapshot.groups.items()}
        known = {name: value for name, value in every.items() if value is not None}
        counted = {name: alike(snapshot.groups[name].values()) for name in known}
        return replace(found, hardness={**found.hardness, **known}, groups=counted)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Known:
        """What the rows of `Snapshot.table` say.

        Args:
            rows: streams, operators and queries; `of` says which.
        """
        rates, costs, selectivities, hard = {}, {}, {}, dict[str, float]()
        for row in rows:
            name = row["name"]
            match row["of"]:
                case "stream" if row["rate"] is not None:
                    rates[name] = row["rate"]
                case "operator":
                    costs[name] = row["cost"]
                    if row["selectivity"] is not None and row["kind"] != "aggregate":
                        selectivities[name] = row["selectivity"]
                case "query" if row["mean"] is not None:
                    # The row of the worst group comes after that of all rows together.
                    hard[name] = _hardness(row["hardness"], row["rows_per_window"])
        return cls(rates, costs, selectivities, hard)

    @classmethod
    def from_json(cls, values: object) -> Known:
        """What `Snapshot.to_json` wrote, or a list of that.

        Args:
            values: as JSON reads them.
        """
        parts: list[Any] = values if isinstance(values, list) else [values]
        try:
            rows = [row for part in parts for row in part["table"]]
            _each_once(rows)
            return cls.from_rows(rows)
        except (KeyError, TypeError) as error:
            hint = "write it by Snapshot.to_json()"
            got = type(values).__name__
            what = complaint("statistics", "must be as a snapshot writes them", got, hint)
            raise SpecificationError(what) from error

    @classmethod
    def from_table(cls, table: Table) -> Known:
        """What the [statistics] of a TOML file say.

        Args:
            table: with the tables stream, operator and query.
        """
        table.known("stream", "operator", "query")
        rates: dict[str, float] = {}
        costs: dict[str, float] = {}
        selectivities: dict[str, float] = {}
        hard: dict[str, float] = {}
        for one in table.tables("stream"):
            one.known("rate")
            _put(rates, one, "rate")
        for one in table.tables("operator"):
            one.known("cost", "selectivity")
            _put(costs, one, "cost")
            if (one.number("selectivity") or 0) > 1:
                raise one.refused("selectivity", "must be a number from 0 to 1")
            _put(selectivities, one, "selectivity")
        for one in table.tables("query"):
            one.known("rows_per_window", "mean", "deviation")
            rows = one.number("rows_per_window")
            if rows is None:
                raise one.refused("rows_per_window", "must be given")
            mean, deviation = one.number("mean") or 1.0, one.number("deviation") or 0.0
            hard[one.name] = (deviation**2 + mean**2) / (rows * mean**2)
        return cls(rates, costs, selectivities, hard)

    def but(self, other: Known) -> Known:
        """The same, but where the other says something else."""
        return Known(
            {**self.rates, **other.rates},
            {**self.costs, **other.costs},
            {**self.selectivities, **other.selectivities},
            {**self.hardness, **other.hardness},
            {**self.groups, **other.groups},
        )

    def at(self, rates: Mapping[str, float]) -> Known:
        """The same at other rates; a window then has more rows, and is easier to sample.

        Args:
            rates: of streams, rows per second; those that are not named stay.
        """
        now = {**self.rates, **rates}
        before = sum(self.rates.get(name, rate) for name, rate in now.items())
        faster = sum(now.values()) / before if before else 1.0
        hardness = {name: value / faster for name, value in self.hardness.items()}
        return replace(self, rates=now, hardness=hardness)


def _each_once(rows: Iterable[Mapping[str, Any]]) -> None:
    """Streams of Spark that run apart number their operators each for themselves."""
    seen = set[str]()
    for row in rows:
        if row["of"] == "operator" and row["name"] in seen:
            rule, hint = "must name each operator once", "plan what runs apart by itself"
            raise SpecificationError(complaint("statistics", rule, row["name"], hint))
        seen.update([row["name"]] if row["of"] == "operator" else [])


def _put(into: dict[str, float], table: Table, key: str) -> None:
    value = table.number(key)
    if value is not None:
        into[table.name] = value


def _hardness(value: float | None, rows: float | None) -> float:
    """What JSON has no word for is infinite; and the least is that of a count of the same rows."""
    if value is None:
        return math.inf
    return value if value > 0 else 1 / rows if rows else math.inf
