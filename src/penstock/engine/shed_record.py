"""What is written down before each batch, and what decisions go on from after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.drops.decisions import Decisions
from penstock.drops.floors import Buckets, from_json, to_json
from penstock.drops.in_force import Span
from penstock.drops.orders import Orders
from penstock.drops.sealed import seal, unseal
from penstock.engine.files import Folder
from penstock.engine.orders import KIND, VERSION, orders_of
from penstock.errors import RecordDamaged

Mode = Literal["off", "monitor", "on"]
MODES: tuple[Mode, ...] = ("off", "monitor", "on")


@dataclass(frozen=True, slots=True)
class Record:
    """What decisions go on from.

    Args:
        decisions: for the batch.
        would: what would have been decided, where rows are only counted.
        newest: how far the stream was, in microseconds.
        span: how far a batch goes, in microseconds.
        lost: the batch from which on it is not known what was dropped before; None as a rule.
        sizes: of queries with a floor, what their groups had in the last windows.
        large: whether it was expected to be a large batch.
        in_force: of each aggregate, which windows may have lost rows at random.
    """

    decisions: Decisions = field(default_factory=Decisions)
    would: Decisions | None = None
    newest: int | None = None
    span: int = 0
    lost: int | None = None
    sizes: Mapping[str, Buckets] = field(default_factory=dict)
    large: bool = False
    in_force: tuple[tuple[Span, ...], ...] = ()

    def sealed(self, orders: Orders, **more: object) -> bytes:
        """The record as it is written.

        Args:
            orders: of the batch.
            more: what somebody who reads it wants to know.
        """
        values = {
            **more,
            "decisions": self.decisions.to_json(),
            "orders": orders.to_json(),
            "newest": self.newest,
            "span": self.span,
            "would": None if self.would is None else self.would.to_json(),
            "lost": self.lost,
            "sizes": to_json(self.sizes),
        }
        return seal(KIND, VERSION, values).encode()

    @classmethod
    def read(cls, folder: Folder, batch: int) -> Record | None:
        """That of a batch; None if it cannot be read, or is of another batch."""
        try:
            content = folder.read(str(batch))
            values: dict[str, Any] = unseal(KIND, VERSION, content)
            orders = orders_of(content, batch)
            would = values.get("would")
            return cls(
                Decisions.from_json(values["decisions"]),
                None if would is None else Decisions.from_json(would),
                values.get("newest"),
                values.get("span", 0),
                values.get("lost"),
                from_json(values.get("sizes", {})),
                orders.large,
                orders.in_force,
            )
        except (RecordDamaged, OSError, LookupError, TypeError, ValueError):
            return None
