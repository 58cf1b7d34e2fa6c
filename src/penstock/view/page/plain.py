"""A scene as plain values that JSON has, only what a page does not know yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.control.status import Status
from penstock.network.secrets import Secret
from penstock.view.accounts import balanced
from penstock.view.parts import after, last_batches, wholes
from penstock.view.scene import Scene

_EXACT_IN_A_BROWSER = 2**53
_LONGEST = 500  # characters of one value
_CHARTED = (
    *("at", "response", "median", "target", "arriving", "taking"),
    *("capacity", "demand", "seconds", "backlog", "keep"),
)
"""What the charts of the page are drawn from."""


def scene_values(scene: Scene, known: Mapping[str, int] | None = None) -> dict[str, Any]:
    """What a page shows.

    Args:
        scene: of the run.
        known: what `told` was in the values that the page has got before; None for none.

    Returns:
        The fields of the scene: `statuses` of the batches that are new, without their drops and
        queries, which are those of `now`, and of several parts each with what is drawn, which is
        of the `whole`; and `told`, the last batch of each part.
    """
    now = scene.now
    return {
        "title": scene.title,
        "picture": scene.picture,
        "statuses": _fresh(scene.statuses, known or {}),
        "told": last_batches(scene.statuses),
        "now": plain(now.to_json()) if now is not None else None,
        "answers": plain(scene.answers),
        "accounts": plain(scene.accounts),
        "balanced": {query: balanced(of) for query, of in scene.accounts.items()},
        "gaps": plain(scene.gaps),
    }


def plain(value: object) -> Any:  # noqa: ANN401, PLR0911 - JSON, and a case for each type of it
    """Something as JSON can have it; what it cannot have becomes text.

    >>> plain({"n": (1, math.nan, 2**60), "key": Secret("swordfish")})
    {'n': [1, None, '1152921504606846976'], 'key': '***'}
    """
    match value:
        case None | bool():
            return value
        case Secret():
            return "***"
        case str():
            return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
        case int():
            return value if abs(value) <= _EXACT_IN_A_BROWSER else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case _:
            return plain(str(value))


def _fresh(statuses: Sequence[Status], known: Mapping[str, int]) -> list[dict[str, Any]]:
    new = {id(one) for one in after(statuses, known)}
    pairs = zip(statuses, wholes(statuses), strict=True)
    return [
        _brief(one) | ({} if whole is one else {"whole": _drawn(whole)})
        for one, whole in pairs
        if id(one) in new
    ]


def _drawn(status: Status) -> dict[str, Any]:
    return {name: plain(getattr(status, name)) for name in _CHARTED}


def _brief(status: Status) -> dict[str, Any]:
    """Statuses are many: those of the past are without what only the last one is asked for."""
    names = (name for name in Status.__slots__ if name not in {"drops", "queries"})
    return {name: plain(getattr(status, name)) for name in names}
