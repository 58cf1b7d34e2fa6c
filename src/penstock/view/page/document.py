"""The page in one piece, and a policy under which the browser runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

STYLES = ("charts.css", "page.css")
SCRIPTS = ("charts.js", "parts.js", "page.js")


@dataclass(frozen=True, slots=True)
class Document:
    """A page, and its Content-Security-Policy."""

    html: bytes
    policy: str


def part(name: str) -> str:
    """The text of a file beside this one.

    >>> "function" in part("charts.js")
    True
    """
    return (files("penstock.view.page") / name).read_text(encoding="utf-8")


@cache
def document() -> Document:
    """The page. Scripts and styles are allowed by what they are, so nothing can be slipped in."""
    style, script = ("\n".join(map(part, names)) for names in (STYLES, SCRIPTS))
    html = part("page.html").replace("/* STYLE */", style).replace("/* SCRIPT */", script)
    policy = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return Document(html.encode(), "; ".join(f"{what} {who}" for what, who in policy.items()))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
