"""`penstock run --dashboard`: who may see the page, and who may change the run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.request import Request, urlopen

import pytest

from penstock.cli.live_page import PageOf
from penstock.engine.network_run import NetworkRun
from penstock.errors import UsageError
from penstock.view.scene import Scene

TOKEN = "a-token-of-some-length"  # noqa: S105 - no secret


@dataclass
class Fake:
    """A run whose mode can be changed."""

    modes: list[str] = field(default_factory=list)

    def scene(self) -> Scene:
        return Scene(title="packets.toml")

    def set_mode(self, mode: str) -> None:
        self.modes.append(mode)


def _post(address: str, mode: str) -> int:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    body = json.dumps({"mode": mode}).encode()
    asked = Request(f"{address}mode", body, headers)  # noqa: S310 - on this machine
    with urlopen(asked) as answer:  # noqa: S310 - as above
        return int(answer.status)


def test_the_page_shows_the_run_and_changes_nothing() -> None:
    run = Fake()
    with PageOf(0, "127.0.0.1", None, changes=False).served(cast("NetworkRun", run)) as address:
        with urlopen(f"{address}scene.json") as answer:  # noqa: S310 - on this machine
            shown: dict[str, Any] = json.load(answer)
        assert shown["title"] == "packets.toml"
        with pytest.raises(OSError, match="403"):
            _post(address, "off")
    assert run.modes == []


def test_with_a_token_and_the_permission_it_changes_the_mode() -> None:
    run = Fake()
    with PageOf(0, "127.0.0.1", TOKEN, changes=True).served(cast("NetworkRun", run)) as address:
        assert TOKEN not in address
        assert _post(address, "monitor") < 300
    assert run.modes == ["monitor"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (PageOf(0, "127.0.0.1", None, changes=True), "--changes needs a token"),
        (PageOf(0, "0.0.0.0", None, changes=False), "token"),  # noqa: S104 - it is refused
    ],
)
def test_what_is_not_served(page: PageOf, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        page.check()
