"""The addresses of a run, and what is found there.

/            the page
/scene.json  what it shows; ?since=TOLD leaves out what was told before
/metrics     for Prometheus
/healthz     whether anybody answers
/mode        takes {"mode": "off" | "monitor" | "on"}, if the run may be changed
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from penstock.errors import UsageError
from penstock.view.metrics import CONTENT_TYPE, Totals, exposition
from penstock.view.page.document import document
from penstock.view.page.exchange import HTML, JSON, Asked, Reply, Route, line
from penstock.view.page.plain import scene_values
from penstock.view.page.site import Site
from penstock.view.scene import Scene

MODES = ("off", "monitor", "on")

_LOOKS, _AGAIN = 3.0, 2.5
"""Seconds since the last question of a browser that looks, which asks once a second; and in which
it has asked twice."""


class Page(Site):
    """The live page of a run; a context manager that closes it.

    Args:
        scene: tells how the run does, whenever it is asked.
        host: the address to listen on; of another than this machine's own only with a token.
        port: to listen on; 0 for any that is free.
        token: what one has to know to see the page, at least 16 characters.
        change: changes the mode of the run; without it, or without a token, nobody can.
        clock: in seconds.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        scene: Callable[[], Scene],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        change: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._scene = scene
        self._change = change if token is not None else None
        self._totals = Totals()
        self._lock = threading.Lock()  # totals are counted by one request at a time
        self._ended = False
        self._clock, self._sleep = clock, sleep
        self._asked = float("-inf")
        self._number = secrets.token_hex(4)  # so that a browser sees when it is another run
        routes = {
            "/": Route(self._document, entrance=True),
            "/scene.json": Route(self._values),
            "/metrics": Route(self._metrics),
            "/healthz": Route(lambda _: line("ok"), public=True),
            "/mode": Route(self._mode, method="POST"),
        }
        super().__init__(routes, host=host, port=port, token=token)

    def end(self) -> None:
        """Tells whoever looks that the run has ended; the page stays until it is closed."""
        self._ended = True

    def linger(self) -> None:
        """Waits for browsers that look, until they have asked again; for nobody else."""
        if self._clock() - self._asked <= _LOOKS:
            self._sleep(_AGAIN)

    def _document(self, _: Asked) -> Reply:
        page = document()
        return Reply(page.html, HTML, headers={"Content-Security-Policy": page.policy})

    def _values(self, asked: Asked) -> Reply:
        known = _known(asked.values.get("since", "{}"))
        if known is None:
            text = "since must be what `told` was before, such as {} for nothing"
            return line(text, HTTPStatus.BAD_REQUEST)
        self._asked = self._clock()
        ended = self._ended  # before the scene is taken: what is shown as the end is the end
        values: dict[str, Any] = scene_values(self._scene(), known)
        values |= {
            "run": self._number,
            "ended": ended,
            "may_change": self._change is not None,
        }
        return Reply(json.dumps(values, ensure_ascii=False, allow_nan=False).encode(), JSON)

    def _metrics(self, _: Asked) -> Reply:
        scene = self._scene()
        with self._lock:
            try:
                return Reply(exposition(scene, self._totals), CONTENT_TYPE)
            except UsageError as error:  # the extra is not installed
                return line(str(error), HTTPStatus.NOT_IMPLEMENTED)

    def _mode(self, asked: Asked) -> Reply:
        if self._change is None:
            text = "this run cannot be changed from here: it was not started with that permission"
            return line(text, HTTPStatus.FORBIDDEN)
        mode = asked.body.get("mode") if isinstance(asked.body, dict) else None
        if mode not in MODES:
            return line(f"mode must be one of {', '.join(MODES)}", HTTPStatus.BAD_REQUEST)
        self._change(mode)
        return line(mode)


def _known(text: str) -> dict[str, int] | None:
    """Part → its last batch that is known; None for a text that is something else.

    >>> _known('{"web": 7}'), _known("7"), _known('{"web": "x"}')
    ({'web': 7}, None, None)
    """
    try:
        found = json.loads(text)
    except ValueError:
        return None
    right = isinstance(found, dict) and all(type(one) is int for one in found.values())
    return found if right else None


def serve(
    scene: Callable[[], Scene],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    change: Callable[[str], None] | None = None,
) -> Page:
    """Shows a run on a page until it is closed; see `Page`.

    >>> with serve(lambda: Scene(title="packets")) as page:
    ...     page.url
    'http://127.0.0.1:...'
    """
    return Page(scene, host=host, port=port, token=token, change=change)
