"""`penstock run --dashboard`: who may see the page, and who may change the run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from penstock.cli.live_page import PageOf
from penstock.cli.main import app
from penstock.engine.network_run import NetworkRun
from penstock.errors import UsageError
from penstock.view.page import Page
from penstock.view.scene import Scene
from tests.cli.test_run_command import NETWORK

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


def test_a_browser_that_looks_is_told_that_the_run_has_ended() -> None:
    now, waited, seen = [0.0], list[float](), list[bool]()
    with Page(lambda: Scene(title="t"), clock=lambda: now[0], sleep=waited.append) as page:
        page.linger()  # nobody has looked
        assert waited == []
        with urlopen(f"{page.url}scene.json") as answer:  # noqa: S310 - on this machine
            seen.append(json.load(answer)["ended"])
        now[0] = 1.0
        page.end()
        page.linger()
        with urlopen(f"{page.url}scene.json") as answer:  # noqa: S310 - as above
            seen.append(json.load(answer)["ended"])
        now[0] = 60.0
        page.linger()  # who looked then has gone
    assert seen == [False, True]
    assert waited == [2.5]


@pytest.mark.parametrize("option", [["--host", "::"], ["--token", TOKEN], ["--changes"]])
def test_options_of_the_page_need_the_page(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(NETWORK)
    result = CliRunner().invoke(app, ["run", str(tmp_path / "a.toml"), *option])
    assert (result.exit_code, result.stdout) == (2, "")
    said = f"{option[0]} needs the live page; give its port, as --dashboard 8080"
    assert result.stderr == f"penstock: {said}\n"


def test_python_serves_and_reports_a_run_as_the_command_does(tmp_path: Path) -> None:
    network = SimpleNamespace(graph=SimpleNamespace(names={}), svg=lambda notes: "")
    run = NetworkRun(cast("Any", network), (), title="mine")
    with run.serve() as page, urlopen(f"{page.url}scene.json") as answer:  # noqa: S310 - as above
        assert json.load(answer)["title"] == "mine"
    with pytest.raises(UsageError, match="changes needs a token"):
        run.serve(changes=True)
    with run.serve(token=TOKEN, changes=True) as page:
        assert _post(page.url, "monitor") < 300
    run.report(tmp_path / "report")
    assert "Run of mine" in (tmp_path / "report" / "report.html").read_text()
