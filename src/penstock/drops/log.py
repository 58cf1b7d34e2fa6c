"""The plan log: what each batch dropped by, durable before it does, so that a replay does the same.

batch      5     6     7     8          asked for 8, when its record is missing or damaged:
record     ok    ok    ok    ✗          drop nothing further, suppress what 7 had dropped
           ok    ok    ✗     ✗          besides, suppress every window that has begun: what 7
                                        decided is not known, and rows were dropped by it
           ✗     ✗     ✗     ✗          suppress every window that has begun
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from penstock.drops.checks import whole
from penstock.drops.decisions import Decisions
from penstock.drops.plan import Plan
from penstock.drops.sealed import seal, unseal
from penstock.errors import PenstockError, RecordDamaged, complaint

_VERSION = 1
_SUFFIX = ".json"
_KEPT = 100


class Folder(Protocol):
    """Small files, on whatever file system; `engine.files.Folder` is one."""

    def names(self) -> list[str]:
        """The names of the files."""

    def read(self, name: str) -> bytes:
        """The content of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, whole or not at all."""

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one batch drops by.

    Args:
        batch: its id.
        plan: what is to be dropped.
        decisions: the windows that are.
    """

    batch: int
    plan: Plan = field(default_factory=Plan)
    decisions: Decisions = field(default_factory=Decisions)

    def __post_init__(self) -> None:
        whole("batch", self.batch)

    def to_json(self) -> str:
        """One line of JSON with a version and a checksum."""
        values: dict[str, Any] = {
            "batch": self.batch,
            "plan": self.plan.values(),
            "decisions": self.decisions.to_json(),
        }
        return seal("plan record", _VERSION, values)

    @classmethod
    def from_json(cls, text: str | bytes) -> Record:
        """What `to_json` gave; `RecordDamaged` if it is truncated or was changed."""
        values = unseal("plan record", _VERSION, text)
        try:
            decisions = Decisions.from_json(values["decisions"])
            return cls(values["batch"], Plan.of(values["plan"]), decisions)
        except (LookupError, TypeError, ValueError, AttributeError, PenstockError) as error:
            rule = "must be one that can be"
            raise RecordDamaged(complaint("a plan record", rule, values)) from error


@dataclass(frozen=True, slots=True)
class Found:
    """The record to use for a batch.

    Args:
        record: as it was written, or what is safe in its place.
        report: one line on what is wrong with the log; empty if nothing is.
    """

    record: Record
    report: str = ""


class PlanLog:
    """Records by batch id; only the last ones are kept.

    Args:
        folder: where they are.
        kept: how many.
    """

    def __init__(self, folder: Folder, kept: int = _KEPT) -> None:
        whole("kept", kept, least=2)
        self._folder, self._kept = folder, kept
        self._pruned = False

    def write(self, record: Record) -> None:
        """Makes a record durable; the batch may use it as soon as this returns."""
        self._folder.write(_name(record.batch), record.to_json().encode())
        oldest = record.batch - self._kept
        # Once there is one more with each batch; at first, whatever earlier runs left behind.
        old = [oldest] if self._pruned else [batch for batch in self._batches() if batch <= oldest]
        for batch in old:
            # A file that cannot be removed is only a file too many.
            with suppress(OSError, PenstockError):
                self._folder.remove(_name(batch))
        self._pruned = True

    def at(self, batch: int, newest: int | None) -> Found:
        """The record of a batch, or what is safe if it cannot be read.

        What is found instead should be written as the batch's record before it is used.

        Args:
            batch: its id.
            newest: the largest event time that batches before it have seen, in microseconds; None
                if they saw none.
        """
        batches = self._batches()
        record, wrong = self._read(batch, batches)
        if record is not None:
            return Found(record)
        if batch == 0 and not batches:
            return Found(Record(0))
        lost = None if newest is None else newest + 1
        what = f"plan log: the record of batch {batch} {wrong}; nothing further is dropped"
        for before in sorted((one for one in batches if one < batch), reverse=True):
            record, _ = self._read(before, batches)
            if record is None:
                continue
            decisions = record.decisions
            if before == batch - 1:
                kept = f"what was dropped in batch {before} stays suppressed"
                return Found(Record(batch, Plan(), decisions), f"{what}, {kept}")
            decisions = replace(decisions, suppress_until=_later(decisions.suppress_until, lost))
            kept = f"what was dropped in batch {before} stays suppressed, and every open window"
            return Found(Record(batch, Plan(), decisions), f"{what}, {kept}")
        nothing = Record(batch, Plan(), Decisions(suppress_until=lost))
        return Found(
            nothing, f"{what}, no record before it is readable: every open window is suppressed"
        )

    def _batches(self) -> list[int]:
        stems = [name.removesuffix(_SUFFIX) for name in self._folder.names()]
        return [int(stem) for stem in stems if stem.isdecimal() and stem.isascii()]

    def _read(self, batch: int, batches: list[int]) -> tuple[Record | None, str]:
        if batch not in batches:
            return None, "is missing"
        try:
            record = Record.from_json(self._folder.read(_name(batch)))
        except (OSError, RecordDamaged) as error:
            return None, f"is unreadable ({error})"
        # A file of another batch under this name would be as wrong as a damaged one.
        return (record, "") if record.batch == batch else (None, f"is that of {record.batch}")


def _name(batch: int) -> str:
    return f"{batch}{_SUFFIX}"


def _later(one: int | None, other: int | None) -> int | None:
    known = [time for time in (one, other) if time is not None]
    return max(known, default=None)
