"""HTTP: a request is let in or not, its route answers, and no failure of it reaches the run."""

from __future__ import annotations

import json
import logging
import socket
import socketserver
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from penstock.errors import PenstockError
from penstock.view.page.door import Door
from penstock.view.page.exchange import JSON, TEXT, Asked, Reply, Route, line

_LONGEST_BODY = 4096  # bytes
_PATIENCE = 20.0  # seconds that a browser may take to send its request
_LOG = logging.getLogger(__name__)

_ALWAYS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server(ThreadingHTTPServer):
    """Listens; each request has a thread of its own, which ends with the process.

    Args:
        door: who may ask.
        routes: address → what answers there.
        port: to listen on; 0 for any that is free.
    """

    daemon_threads = True

    def __init__(self, door: Door, routes: Mapping[str, Route], port: int) -> None:
        self.door = door
        self.routes = routes
        self.address_family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
        super().__init__((door.host, port), Handler)

    def server_bind(self) -> None:
        """Binds without looking up the full name of the host, which can take a minute."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.door.host, int(self.server_address[1])

    @property
    def cookie(self) -> str:
        """A browser sends cookies to all ports of a host: so the port is part of the name."""
        return f"penstock_{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """A browser that has gone away is no news for the terminal of the run."""
        _LOG.debug("a request ended early", exc_info=True)


class Handler(BaseHTTPRequestHandler):
    """One request. Connections are not kept, so that nothing is served after the end."""

    server: Server
    timeout = _PATIENCE
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = TEXT

    def do_GET(self) -> None:
        """Answers."""
        self._send(self._reply("GET"))

    def do_POST(self) -> None:
        """Answers."""
        self._send(self._reply("POST"))

    def version_string(self) -> str:
        """No versions: they would tell whoever asks what to try."""
        return "penstock"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - http.server
        """Nothing is logged: an address may hold the token."""

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {**_ALWAYS, **reply.headers, "Content-Type": reply.kind}
        for name, value in {**headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def _reply(self, method: str) -> Reply:
        door, address = self.server.door, urlsplit(self.path)
        if not door.knows(self.headers.get("Host", "")):
            text = "this page is for this machine only: ask for it by the name localhost"
            return line(text, HTTPStatus.MISDIRECTED_REQUEST)
        route = self.server.routes.get(address.path)
        values = {name: found[0] for name, found in parse_qs(address.query).items()}
        welcome: dict[str, str] = {}
        if route is not None and route.entrance and door.is_token(values.get("token", "")):
            welcome = {"Set-Cookie": door.cookie(self.server.cookie)}
        elif (route is None or not route.public) and not door.lets_in(
            self.headers, self.server.cookie
        ):
            text = "a token is needed: open /?token=…, or send 'Authorization: Bearer …'"
            return line(text, HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        if route is None:
            return line("there is nothing at this address", HTTPStatus.NOT_FOUND)
        if route.method != method:
            text = f"this address takes {route.method} only"
            return line(text, HTTPStatus.METHOD_NOT_ALLOWED, Allow=route.method)
        reply = self._answer(route, values)
        return Reply(reply.body, reply.kind, reply.status, {**reply.headers, **welcome})

    def _answer(self, route: Route, values: Mapping[str, str]) -> Reply:
        try:
            if route.method == "POST":
                if not self.server.door.same_site(self.headers):
                    return line("another site may not do this", HTTPStatus.FORBIDDEN)
                return route.answer(Asked(values, self._body()))
            return route.answer(Asked(values))
        except _Unreadable:
            text = f"the body must be JSON of at most {_LONGEST_BODY} bytes, sent as {JSON}"
            return line(text, HTTPStatus.BAD_REQUEST)
        except PenstockError as error:
            return line(str(error), HTTPStatus.CONFLICT)
        except Exception:  # noqa: BLE001 - whoever looks at a run must not make it fail
            _LOG.exception("%s could not be answered", urlsplit(self.path).path)
            return line("the run could not answer", HTTPStatus.INTERNAL_SERVER_ERROR)

    def _body(self) -> Any:  # noqa: ANN401 - JSON
        length = self.headers.get("Content-Length", "")
        right = length.isdecimal() and int(length) <= _LONGEST_BODY
        if not right or self.headers.get_content_type() != JSON:
            raise _Unreadable
        try:
            return json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise _Unreadable from error


class _Unreadable(Exception):
    pass
