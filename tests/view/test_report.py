"""The report of a run: complete, alone, and safe to open."""

from __future__ import annotations

import builtins
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from penstock.control.status import Status
from penstock.errors import UsageError
from penstock.view.html import scene_html, status_html
from penstock.view.plots import plot
from penstock.view.report import write_report
from penstock.view.report.page import page
from penstock.view.scene import Scene
from tests.view.bursts import NAMES, burst

VOID = {"meta", "br", "rect", "path"}


class Nested(HTMLParser):
    """Fails where an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("report") / "new"
    assert write_report(where, burst()) == ""
    return where


def test_everything_is_written(folder):
    pictures = {"run", "response", "rates", "demand", "shed", "backlog", "error"}
    assert {path.name for path in folder.iterdir()} == {
        *("report.html", "report.md", "statuses.jsonl", "statistics.json"),
        *(f"{name}.png" for name in pictures),
    }
    for name in pictures:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_every_batch_is_a_line_that_can_be_read_again(folder):
    lines = (folder / "statuses.jsonl").read_text().splitlines()
    assert tuple(Status.from_json(json.loads(line)) for line in lines) == burst().statuses


def test_the_page_asks_no_network_and_is_well_formed(folder):
    text = (folder / "report.html").read_text()
    Nested(text)
    assert "prefers-color-scheme: dark" in text
    without = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|src=|href=|@import|url\(", without)


def test_the_page_has_plots_network_queries_accounts_decisions_and_problems(folder):
    text = (folder / "report.html").read_text()
    for title in ("Over time", "Network", "Queries", "Accounts", "Decisions", "Problems"):
        assert f"<h2>{title}</h2>" in text
    assert text.count("<figure>") == 6
    assert 'class="penstock"' in text
    for said in (*NAMES, "held: 95 % of rows", "balanced: every row", "plan 31 could not be read"):
        assert said in text
    assert "3.3 x the capacity of 17.0 k/s arrives" in text


def test_the_summary_says_whether_the_target_was_held_and_the_books_balance(folder):
    text = (folder / "report.md").read_text()
    assert "| target | held: 95 % of rows answered within 2.7 s" in text
    assert "| accounts | balanced" in text
    assert (
        "| loss | 14 % of the rows of all queries; 6 of 279 windows with subset answers |" in text
    )
    assert "| tcp_packets | approximate | 2,260,320 |" in text
    assert "![run.png](run.png)" in text


def test_what_comes_from_outside_cannot_become_markup():
    bad = "</script><img src=x onerror=alert(1)>"
    last = replace(burst(40).statuses[-1], reason=bad, problems=(bad,))
    scene = replace(burst(40), title=bad, statuses=(*burst(39).statuses, last))
    for text in (page(scene), scene_html(scene), status_html(last)):
        assert "<img" not in text
    Nested(page(scene))


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_a_run_that_was_short_has_a_report_too(tmp_path, batches):
    assert write_report(tmp_path, burst(batches)) == ""
    assert (tmp_path / "report.html").read_text().count("<figure>") == (5 if batches == 2 else 0)


def test_without_matplotlib_one_line_says_how_to_get_it_and_the_rest_is_written(
    tmp_path, monkeypatch
):
    usual = builtins.__import__

    def none(name, *args, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", none)
    said = write_report(tmp_path, burst(3))
    assert said == "pictures need matplotlib: pip install 'penstock[plots]'"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"report.html", "report.md", "statuses.jsonl", "statistics.json"}
    assert ".png" not in (tmp_path / "report.md").read_text()
    with pytest.raises(UsageError, match=r"penstock\[plots\]"):
        plot(burst(3).statuses)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--report must be a folder to write to"):
        write_report(tmp_path / "file", Scene(title="a"))


def test_a_figure_has_a_plot_for_each_thing_that_is_known():
    assert [axes.get_title("left") for axes in plot(burst(3).statuses).axes] == [
        *("Response time", "Rows a second", "Rows that are dropped", "Rows that wait"),
        "Expected relative error",
    ]
    (only,) = plot(burst(40).statuses, "demand").axes
    assert [line.get_label() for line in only.get_lines()] == ["demand", "capacity"]


def test_an_error_that_nobody_knows_is_nothing_that_is_drawn_or_added(tmp_path):
    last = burst(40).statuses[-1]
    queries = tuple(replace(query, error=float("inf")) for query in last.queries)
    scene = replace(burst(40), statuses=(*burst(39).statuses, replace(last, queries=queries)))
    assert write_report(tmp_path, scene) == ""
    for name in ("report.html", "report.md", "statuses.jsonl"):
        assert not re.search(r"\b(inf|Infinity|nan|NaN)\b", (tmp_path / name).read_text())
