"""What a backfill has done, would do, and cannot do any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.drops.gaps import Span, stretches

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 3
"""Stretches of time that are shown of each query."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How long the records are kept that are needed.

    Args:
        stream: whose.
        until: when those of the oldest window begin to be deleted, in microseconds.
    """

    stream: str
    until: int


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a backfill did, or would do; `str()` is a paragraph to read.

    Args:
        revisions: the numbers of those that were computed.
        windows: query → the windows in them, in microseconds.
        gone: query → the windows that cannot be computed any more: records may be deleted.
        missing: how many windows the ledger has as missing, of those that were asked for.
        before: how many of them had been backfilled before.
        kept: how long the records of the oldest window are kept, where that is not for ever.
        dry: whether nothing was computed.
    """

    revisions: tuple[int, ...]
    windows: Mapping[str, Sequence[Span]]
    gone: Mapping[str, Sequence[Span]]
    missing: int
    before: int
    kept: tuple[Kept, ...] = ()
    dry: bool = False

    @property
    def count(self) -> int:
        """How many windows were computed."""
        return sum(map(len, self.windows.values()))

    def to_json(self) -> dict[str, Any]:
        """Plain values, with times as text."""
        return {
            "dry_run": self.dry,
            "missing": self.missing,
            "before": self.before,
            "revisions": list(self.revisions),
            "windows": {name: _listed(spans) for name, spans in self.windows.items()},
            "gone": {name: _listed(spans) for name, spans in self.gone.items()},
            "kept_until": {one.stream: _time(one.until) for one in self.kept},
        }

    def __str__(self) -> str:
        lines = [f"missing   {_windows(self.missing)}, {self.before} of them backfilled before"]
        if self.windows:
            done = "would be " if self.dry else ""
            numbers = ", ".join(map(str, self.revisions))
            lines.append(f"computed  {done}{_windows(self.count)}, as revision {numbers}")
            lines += [f"          {name}: {_short(spans)}" for name, spans in self.windows.items()]
        else:
            lines.append("computed  nothing was left to do")
        if self.gone:
            lost = sum(map(len, self.gone.values()))
            lines.append(f"gone      {_windows(lost)}: records that they need may be deleted")
            lines += [f"          {name}: {_short(spans)}" for name, spans in self.gone.items()]
        for one in self.kept:
            lines.append(
                f"kept      {one.stream}: records of the oldest are deleted from about "
                f"{_time(one.until)} on"
            )
        return "\n".join(lines)


def _windows(count: int) -> str:
    return f"{count:,} window{'' if count == 1 else 's'}"


def _short(spans: Sequence[Span]) -> str:
    apart = stretches(spans, len(spans))
    shown = [_stretch(*span) for span in apart[:_SHOWN]]
    more = [f"and {len(apart) - _SHOWN} more stretches"] if len(apart) > _SHOWN else []
    return f"{_windows(len(spans))}, " + ", ".join([*shown, *more])


def _stretch(start: int, end: int) -> str:
    """From a time to another; the day stands there once.

    >>> _stretch(0, 90_000_000)
    '1970-01-01 00:00:00 to 00:01:30Z'
    """
    day, first = _time(start).removesuffix("Z").split()
    other, last = _time(end).split()
    return f"{day} {first} to {last if day == other else f'{other} {last}'}"


def _listed(spans: Sequence[Span]) -> list[list[str]]:
    return [[_time(start), _time(end)] for start, end in spans]


def _time(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ").replace("+00:00", "Z")
