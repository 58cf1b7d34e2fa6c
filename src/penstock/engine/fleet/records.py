"""What a relay does in each batch, written down before the batch: a replay does the same.

penstock/gates/N     orders of the gates, decisions about windows, accounts of all batches
                     before N, and how far rows had come
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.drops.decisions import Decisions
from penstock.drops.orders import ALL_STAY, Orders
from penstock.drops.sealed import seal, unseal
from penstock.engine.files import Folder
from penstock.errors import RecordDamaged
from penstock.fleet.gates import Seen

FOLDER, KIND, VERSION = "penstock/gates", "gates", 1
_KEPT = 100

Accounts = Mapping[str, Mapping[str, int]]
"""Box → rows that came in, were kept, were shed, had no time."""


@dataclass(frozen=True)
class Record:
    """What a batch goes on from.

    Args:
        orders: of the gates, as its folds.
        state: decisions about windows downstream.
        seen: how far rows had come at each stream.
        promised: how far each stream had promised to have come, in microseconds.
        accounts: of all batches before.
        written: when, in milliseconds since the epoch.
    """

    orders: Orders
    state: Decisions = field(default_factory=Decisions)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    promised: Mapping[str, int] = field(default_factory=dict)
    accounts: Accounts = field(default_factory=dict)
    written: int = 0

    def to_bytes(self) -> bytes:
        """Sealed."""
        values = {
            "orders": self.orders.to_json(),
            "state": self.state.to_json(),
            "seen": {name: [one.newest, one.span] for name, one in self.seen.items()},
            "promised": dict(self.promised),
            "accounts": {box: dict(rows) for box, rows in self.accounts.items()},
            "written": self.written,
        }
        return seal(KIND, VERSION, values).encode()

    @staticmethod
    def of(content: bytes) -> Record:
        """What `to_bytes` gave; `RecordDamaged` if it is not."""
        values: dict[str, Any] = unseal(KIND, VERSION, content)
        try:
            return Record(
                Orders.from_json(values["orders"]),
                Decisions.from_json(values["state"]),
                {name: Seen(*one) for name, one in values["seen"].items()},
                values["promised"],
                values["accounts"],
                int(values["written"]),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise RecordDamaged("a record of gates must be whole") from error


class Records:
    """Those of a checkpoint.

    Args:
        checkpoint: of the stream.
        gates: how many there are.
    """

    def __init__(self, checkpoint: str, gates: int) -> None:
        self._checkpoint, self._gates = checkpoint, gates
        self._folder = Folder(checkpoint, FOLDER)

    def first(self) -> tuple[int, Record, bool, str]:
        """The next batch, what it does, whether it has begun before, and what is wrong."""
        done = [int(n) for n in Folder(self._checkpoint, "commits").names() if n.isdigit()]
        batch = max(done, default=-1) + 1
        begun = str(batch) in Folder(self._checkpoint, "offsets").names()
        nothing = Orders(batch, (), (ALL_STAY,) * self._gates, ())
        wrong = ""
        for number in (batch, batch - 1):
            try:
                found = Record.of(self._folder.read(str(number)))
            except (RecordDamaged, OSError):
                if done or begun:
                    wrong = f"the record of batch {batch} cannot be read: it drops nothing"
                continue
            if number < batch or len(found.orders.folds) != self._gates:
                found = replace(found, orders=nothing)
            return batch, found, begun, wrong
        return batch, Record(nothing), begun, wrong

    def write(self, batch: int, record: Record) -> None:
        """Writes down what a batch will do."""
        self._folder.write(str(batch), record.to_bytes())
        self._folder.remove(str(batch - _KEPT))
