"""A small web server in a thread of its own, which ends with the process if not before."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from penstock.errors import UsageError, complaint
from penstock.view.page.door import Door
from penstock.view.page.exchange import Route
from penstock.view.page.server import Server

_EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - compared only
_LOOK_UP = 0.05  # seconds after which `close` is seen


class Site:
    """Serves until it is closed.

    Args:
        routes: address → what answers there.
        host: the address to listen on; of another than this machine's own only with a token.
        port: to listen on; 0 for any that is free.
        token: what one has to know to be answered; None lets in this machine only.
    """

    def __init__(
        self, routes: Mapping[str, Route], *, host: str, port: int, token: str | None
    ) -> None:
        self._door = Door(host, token)
        try:
            self._server = Server(self._door, routes, port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            rule = f"must be one that can be listened on at {host} ({reason})"
            raise UsageError(complaint("port", rule, port, "0 takes a free one")) from error
        run = {"poll_interval": _LOOK_UP}
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, kwargs=run, name="penstock page", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is found; the token is no part of it."""
        host = "localhost" if self._door.host in _EVERYWHERE else self._door.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._server.server_port}/"

    def close(self) -> None:
        """Stops serving; to call it again does nothing."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
