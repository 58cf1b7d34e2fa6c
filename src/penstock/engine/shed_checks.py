"""What is looked at before a stream that drops rows begins, or goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target
from penstock.engine.part import Part
from penstock.errors import UsageError, complaint


def without_identity(part: Part) -> Iterator[str]:
    """A line for each stream whose equal rows have one random number: bounds do not hold for them.

    Args:
        part: what runs.
    """
    for source in part.shared.rows:
        if not source.identity and part.shared.approximates:
            yield (
                f"stream {source.name} does not say what tells its rows apart: equal rows are "
                "dropped together, and bounds may be too narrow; give it identity="
            )


def check_strides(state: Decisions, targets: Mapping[str, Target]) -> None:
    """Refuses another tolerance for windows dropped per group: they are in batches of max_gap + 1.

    Args:
        state: what was decided.
        targets: the queries.
    """
    for name, target in targets.items():
        before = {level.stride - 1 for level in state.levels.get(name, ())}
        if before - {target.max_gap}:
            rule = f"must stay {before.pop()} while windows are dropped per group"
            hint = "run with drop=0 until the open windows have closed, and change it then"
            raise UsageError(complaint(f"max_gap of {name}", rule, target.max_gap, hint))
