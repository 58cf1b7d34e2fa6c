"""Who may ask: anybody on this machine, or from elsewhere who has the token.

A page of another site must not read ours through the browser of somebody who may. On this machine
the name that the browser asked for tells: a foreign one that leads here (DNS rebinding) is refused.
With a token, the browser keeps a cookie that it sends from our own page only.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import string
from dataclasses import dataclass, field
from email.message import Message
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from penstock.errors import UsageError, complaint

_SHORTEST = 16
_LETTERS = frozenset(string.ascii_letters + string.digits + "-._~")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class Door:
    """Lets in who may ask.

    Args:
        host: the address that is listened on.
        token: what one has to know; None lets in this machine only.
    """

    host: str
    token: str | None = field(default=None, repr=False)
    _cookie: str = field(default_factory=secrets.token_urlsafe, repr=False)

    def __post_init__(self) -> None:
        if self.token is None:
            if not is_loopback(self.host):
                rule = (
                    "must be an address of this machine, such as 127.0.0.1, unless a token is set"
                )
                raise UsageError(complaint("host", rule, self.host))
        elif len(self.token) < _SHORTEST or not _LETTERS.issuperset(self.token):
            # The value is a secret, so only its length is told.
            rule = f"must have at least {_SHORTEST} characters, of a-z, A-Z, 0-9 and -._~"
            got = f"{len(self.token)} characters"
            hint = "such as what `openssl rand -hex 16` prints"
            raise UsageError(f"token {rule}, got {got}; {hint}")

    def knows(self, name: str) -> bool:
        """Whether this is the name of a server that the browser may have meant.

        Args:
            name: the header Host, such as "localhost:4040".
        """
        if not is_loopback(self.host):
            return True  # it has many names; the token is what counts
        try:
            asked = urlsplit(f"//{name}").hostname
        except ValueError:
            return False
        return asked is not None and is_loopback(asked)

    def lets_in(self, headers: Message, cookie: str) -> bool:
        """Whether these headers show the token, or the cookie that was given for it.

        Args:
            headers: of the request.
            cookie: the name of our cookie.
        """
        if self.token is None:
            return True
        kind, _, shown = headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(shown.strip()):
            return True
        try:
            kept = SimpleCookie(headers.get("Cookie", "")).get(cookie)
        except CookieError:
            return False
        return kept is not None and _same(kept.value, self._cookie)

    def is_token(self, shown: str) -> bool:
        """Whether it is the token; how long the answer takes does not tell how close it was."""
        return self.token is not None and _same(shown, self.token)

    def cookie(self, name: str) -> str:
        """The header that has the browser remember that the token was shown.

        It does not hold the token, and is of no use to the next run.
        """
        return f"{name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"

    def same_site(self, headers: Message) -> bool:
        """Whether our own page, or no page at all, sends the request."""
        origin = headers.get("Origin")
        if origin is None:
            return headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
        try:
            return urlsplit(origin).netloc == headers.get("Host", "")
        except ValueError:
            return False


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
