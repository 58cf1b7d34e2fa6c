"""A run that is watched is not much slower for it."""

from __future__ import annotations

from typing import Any

from penstock.engine.latest import RARELY, Latest


class Looked(Latest):
    """Looks that take two seconds; the first finds nothing."""

    now: float = 100.0
    looks: int = 0

    def _found(self, batch: Any) -> dict[str, list[dict[str, Any]]]:
        del batch
        self.now += 2
        self.looks += 1
        return {"n": [{"n": self.looks}]} if self.looks > 1 else {}


def test_looks_take_a_tenth_of_the_time_at_most() -> None:
    latest = Looked(None)  # type: ignore[arg-type]
    latest.clock = lambda: latest.now
    assert not latest.due  # nobody watches
    latest.wanted = True
    for _ in range(100):
        if latest.due:
            latest.take(None)
        latest.now += 1
    assert latest.answers == {"n": [{"n": latest.looks}]}
    spent = 2 * (latest.looks - 1)  # the first found nothing, and another followed at once
    assert latest.looks > 1
    assert spent <= (latest.now - 100) / (RARELY + 1) + 2
