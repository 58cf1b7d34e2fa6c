"""The live page in a real browser: what it shows, what it refuses to run, how it ends.

Screenshots are left in artifacts/.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

from penstock.control.status import Status
from penstock.view.page import Page, serve
from penstock.view.scene import Scene
from tests.view.scenes import NASTY, ROOT, scene, status

TOKEN = "correct-horse-battery"  # noqa: S105 - of these tests
ARTIFACTS = ROOT / "artifacts"
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
TIMES, DASH = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"

Open = Callable[..., Tab]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        reason = "needs Chromium: on Debian and Ubuntu, 'apt-get install chromium'"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def tabs(browser: Browser) -> Iterator[Open]:
    """Opens pages; at the end they must have asked nobody else, and complained of nothing."""
    contexts, asked, complaints = [], [], []

    def opened(page: Page, path: str = "", *, width: int = 1280, **options: Any) -> Tab:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        tab.on("request", lambda request: asked.append((page.url, request.url)))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(page.url + path)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert all(url.startswith((ours, "data:")) for ours, url in asked), asked
    # That a server which was closed cannot be reached is the browser's own note.
    assert [text for text in complaints if "ERR_CONNECTION_REFUSED" not in text] == []


@pytest.fixture
def tab(browser: Browser) -> Iterator[Open]:
    """Opens a page of its own for a test."""
    with tabs(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def overloaded(browser: Browser) -> Iterator[Tab]:
    """A page that several tests look at."""
    with tabs(browser) as opened, serve(lambda: scene(100)) as page:
        yield shown(opened(page))


def shown(tab: Tab) -> Tab:
    """When the first values have been drawn."""
    expect(tab.locator(".tile").first).to_be_visible()
    return tab


def points(path: str | None) -> list[tuple[float, float]]:
    """The corners of a line."""
    found = re.findall(r"[ML]([-\d.]+),([-\d.]+)", path or "")
    return [(float(x), float(y)) for x, y in found]


class TestWhatItShows:
    def test_a_run_at_a_glance(self, overloaded):
        assert overloaded.title() == f"packets.toml {DASH} Penstock"
        expect(overloaded.locator("#phase")).to_have_text("shedding")
        expect(overloaded.locator("#why")).to_contain_text("arriving 34,668/s, capacity 12,000/s")
        tiles = overloaded.locator(".tile").all_inner_texts()
        values = [text.split("\n")[1] for text in tiles]
        assert values == ["2.5 s", f"2.89 {TIMES}", "31.2 %", "900", "✓ balanced"]
        assert "target 3 s, held" in tiles[0]

    def test_charts_have_lines_axes_units_and_the_target(self, overloaded):
        captions = overloaded.locator(".chart figcaption").all_inner_texts()
        assert [" ".join(text.split()) for text in captions] == [
            "Response time (s) 95th percentile 2.5 s median 1.5 s target 3 s",
            "Rates (rows/s) arriving 34.7K rows/s taken 10.8K rows/s capacity 12K rows/s",
            f"Demand ({TIMES}) of capacity 2.89 {TIMES} capacity 1 {TIMES}",
            "Batches (s) took 1.5 s",
            "Backlog (rows) waiting 900 rows",
            "Kept of rows 31.2 %",
        ]
        response = overloaded.locator(".chart svg").first
        assert response.locator(".grid .left").all_text_contents() == ["0", "1", "2", "3"]
        times = response.locator(".grid .below").all_text_contents()
        assert len(times) > 1
        assert all(re.fullmatch(r"\d\d:\d\d(:\d\d)?", text) for text in times)
        # The target is a level line through its own value on the axis.
        level = {y for _, y in points(response.locator(".line.limit").get_attribute("d"))}
        at_three = float(response.locator(".grid line").nth(3).get_attribute("y1") or "nan")
        assert level == {round(at_three, 1)}
        drawn = points(response.locator(".line.one").get_attribute("d"))
        assert len(drawn) == 99  # of the first batch nobody knows the response time
        assert min(y for _, y in drawn) < at_three  # it was missed once
        said = "Response time: 95th percentile 2.5 s, median 1.5 s, target 3 s"
        assert response.get_attribute("aria-label") == said

    def test_pointing_at_a_chart_shows_its_values(self, overloaded):
        tip = overloaded.locator(".tip").first
        expect(tip).to_be_hidden()
        overloaded.hover(".chart svg", position={"x": 200, "y": 80})
        expect(tip).to_contain_text("95th percentile 3.14 s")
        expect(tip).to_contain_text("target 3 s")
        assert overloaded.locator(".chart").first.locator(".mark circle").count() == 3
        overloaded.mouse.move(5, 5)
        expect(tip).to_be_hidden()
        overloaded.locator(".chart svg").first.focus()
        overloaded.keyboard.press("ArrowLeft")
        expect(tip).to_contain_text("95th percentile 2.5 s")
        overloaded.keyboard.press("Escape")
        expect(tip).to_be_hidden()

    def test_the_network_and_its_drops(self, overloaded):
        wide = overloaded.locator("#picture").evaluate(
            "(e) => e.decode().then(() => e.naturalWidth)"
        )
        assert wide > 500
        drops = overloaded.locator("#drops")
        where = "packets → filter 1 for web_bytes_by_host"
        expect(drops).to_contain_text(f"keeps 31.2 % of rows {where}")
        expect(drops).to_contain_text("drops 68.8 % of windows filter 2 → web_large")

    def test_answers_with_bounds_and_gaps(self, overloaded):
        web = overloaded.locator("[data-query=web_bytes_by_host]")
        said = "approximate answers · keeps 31.2 % of rows · error expected ±3.1 %"
        expect(web).to_contain_text(said)
        heads = ["window_end", "dst_host", "bytes", "packets", "from"]
        assert web.locator("th").all_text_contents() == heads
        first = web.locator("tbody tr").first
        expect(first).to_contain_text(f"8,100,000 7.53M {DASH} 8.67M")
        expect(first).to_contain_text("41 %, 5,062 rows")
        ends = [x for x, _ in points(first.locator(".whisker").first.get_attribute("d"))]
        dot = float(first.locator("circle").first.get_attribute("cx") or "nan")
        assert min(ends) < dot < max(ends)
        assert web.locator(".bounds .whisker").count() == 16
        expect(web).to_contain_text("all rows, exact")
        gaps = overloaded.locator("[data-query=web_large] .gaps")
        expect(gaps).to_contain_text("14:16:30 (dropped), 14:16:20 (dropped)")

    def test_decisions_accounts_and_problems(self, overloaded):
        assert overloaded.locator("#log li").count() == 100
        expect(overloaded.locator("#log li").first).to_contain_text("batch 99")
        expect(overloaded.locator("#log li").first).to_contain_text("keep 0.312")
        accounts = overloaded.locator("#accounts tbody tr")
        expect(accounts).to_have_count(3)
        expect(accounts.first).to_contain_text("✓ balances")
        rows = f"{scene(100).accounts['web_large']['rows_in']:,}"  # to the last row
        expect(accounts.nth(1)).to_contain_text(rows)
        expect(overloaded.locator("#problems li")).to_have_count(1)

    def test_accounts_that_are_off_are_told_by_how_much(self, tab):
        wrong = {"rows_in": 1000, "shed_at_stream": 1, "shed_on_the_way": 0}
        accounts = {"q": wrong | {"taken": 987}, "half": {"late_lost": 1}}
        with serve(lambda: replace(scene(20), accounts=accounts)) as page:
            one = shown(tab(page))
        expect(one.locator("#accounts")).to_contain_text("✗ off by 12")
        expect(one.locator("#accounts")).to_contain_text("not all counted")
        expect(one.locator(".tile").last).to_contain_text("1 of 2 queries")

    def test_before_the_first_batch_it_waits_and_then_shows_what_little_is_known(self, tab):
        bare: list[Status] = []
        with serve(lambda: Scene(title="packets.toml", statuses=tuple(bare))) as page:
            one = tab(page)
            expect(one.locator("h1")).to_have_text("Penstock packets.toml")
            expect(one.get_by_text("Waiting for the first batch.")).to_be_visible()
            expect(one.locator("#all")).to_be_hidden()
            bare += [Status(at=1e9 + n, batch=n, seconds=0, rows=0) for n in range(3)]
            shown(one)
        assert "NaN" not in one.locator("main").inner_html()
        assert "undefined" not in one.locator("main").inner_html()
        expect(one.locator(".tile").first).to_contain_text("no target")

    def test_a_long_run_keeps_its_peaks_and_draws_no_more_than_can_be_seen(self, tab):
        many = [replace(status(n % 150), at=1e9 + n, batch=n, response=1.0) for n in range(4000)]
        many[2345] = replace(many[2345], response=9.0)
        with serve(lambda: Scene(title="t", statuses=tuple(many))) as page:
            one = shown(tab(page))
        drawn = points(one.locator(".chart svg .line.one").first.get_attribute("d"))
        assert len(drawn) < 1000
        assert sum(y < 50 for _, y in drawn) == 1


class TestWhatItRefuses:
    def test_names_from_the_stream_are_text(self, tab):
        ran = """<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"
            onload="document.title='pwned'"><script>document.title='pwned'</script></svg>"""
        with serve(lambda: replace(scene(100, title=NASTY), picture=ran)) as page:
            one = shown(tab(page))
            one.locator("#picture").evaluate("(e) => e.decode()")
        assert one.title() == f"{NASTY} {DASH} Penstock"
        assert one.locator("script").count() == 1
        assert one.locator("img").count() == 1
        expect(one.locator("[data-query=web_bytes_by_host] tbody")).to_contain_text(NASTY)
        expect(one.locator("#problems")).to_contain_text(NASTY)

    def test_the_browser_runs_nothing_but_its_own_script(self, browser):
        with serve(lambda: scene(20)) as page:
            one = browser.new_page()
            one.goto(page.url)
            one.evaluate("""() => {
                window.broken = [];
                document.addEventListener("securitypolicyviolation",
                    (event) => broken.push(event.violatedDirective));
                const script = document.createElement("script");
                script.textContent = "window.ran = 1";
                document.body.append(script);
                document.body.insertAdjacentHTML("beforeend", `<p style="color: red">x</p>
                    <img src="http://192.0.2.1/x" onerror="window.ran = 2">`);
                fetch("http://192.0.2.1/").catch(() => {});
            }""")
            one.wait_for_function("broken.length >= 5")
            broken = {re.sub("-(elem|attr)$", "", name) for name in one.evaluate("broken")}
            assert broken == {"script-src", "style-src", "img-src", "connect-src"}
            assert one.evaluate("window.ran") is None
            one.close()

    def test_the_token_leaves_the_address_and_the_mode_can_be_changed(self, tab):
        asked: list[str] = []
        with serve(lambda: scene(20), token=TOKEN, change=asked.append) as page:
            one = shown(tab(page, f"?token={TOKEN}"))
            assert one.url == page.url
            assert one.evaluate("document.cookie") == ""  # a script cannot read it
            assert TOKEN not in one.content()
            one.reload()
            shown(one)  # by the cookie
            on = one.get_by_role("button", name="on", exact=True)
            expect(on).to_have_attribute("aria-pressed", "true")
            one.get_by_role("button", name="monitor").click()
            expect(one.locator("#asked")).to_have_text("monitor from the next batch on")
        assert asked == ["monitor"]

    def test_without_a_token_there_are_no_buttons(self, tab):
        with serve(lambda: scene(20), change=lambda _: None) as page:
            expect(shown(tab(page)).locator("#modes")).to_be_hidden()


class TestHowItGoesOn:
    def test_what_is_new_is_added_and_the_rest_left_in_place(self, tab):
        now = [50]
        with serve(lambda: scene(now[0])) as page:
            one = shown(tab(page))
            one.evaluate("""() => {
                for (const e of document.querySelectorAll(".chart svg, #log li")) e.kept = true;
            }""")
            one.locator(".chart svg").first.focus()
            one.keyboard.press("ArrowLeft")
            before = one.locator(".tip").first.inner_text()
            now[0] = 53
            expect(one.locator("#batch")).to_contain_text("batch 52")
        kept = "(all) => all.map((e) => e.kept === true)"
        assert one.locator("#log li").evaluate_all(kept) == [False] * 3 + [True] * 50
        assert all(one.locator(".chart svg").evaluate_all(kept))
        assert one.locator(".tip").first.inner_text() == before  # it stays at its batch

    def test_the_end_of_the_run_is_said(self, tab):
        with serve(lambda: scene(20)) as page:
            one = shown(tab(page))
            expect(one.locator("#banner")).to_be_hidden()
            page.end()
            expect(one.locator("#banner")).to_contain_text("The run has ended.")
        one.wait_for_timeout(1200)  # it asks no more, so that it does not miss the server
        expect(one.locator("#banner")).to_contain_text("The run has ended.")
        expect(one.locator(".tile").first).to_be_visible()

    def test_that_nobody_answers_is_said_and_the_next_run_is_shown(self, tab):
        with serve(lambda: scene(20)) as page:
            one, port = shown(tab(page)), int(page.url.split(":")[-1].strip("/"))
        expect(one.locator("#banner")).to_contain_text("Nobody answers since")
        expect(one.locator(".tile").first).to_be_visible()
        with serve(lambda: scene(5, title="another"), port=port):
            expect(one.locator("#title")).to_have_text("another")
            expect(one.locator("#banner")).to_be_hidden()
            assert one.locator("#log li").count() == 5


@pytest.mark.parametrize(("look", "width"), [("desktop", 1280), ("phone", 375)])
def test_it_can_be_read_in_light_and_dark(tab, look, width):
    ARTIFACTS.mkdir(exist_ok=True)
    with serve(lambda: scene(100), token=TOKEN, change=lambda _: None) as page:
        one = shown(tab(page, f"?token={TOKEN}", width=width, has_touch=width < 400))
        one.locator("#picture").evaluate("(e) => e.decode()")
        chart = one.locator(".chart svg").first
        (chart.tap if width < 400 else chart.hover)(position={"x": 200, "y": 80})
        expect(one.locator(".tip").first).to_be_visible()
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            one.emulate_media(color_scheme=scheme)
            assert one.evaluate(CONTRAST) == []
            one.screenshot(path=ARTIFACTS / f"page-{look}-{scheme}.png", full_page=True)
    assert one.evaluate("document.documentElement.scrollWidth") == width  # nothing hangs over
    cramped = one.locator(".tile *, .chart, button").evaluate_all(
        "(all) => all.filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth).length"
    )
    assert cramped == 0
    buttons = [button.bounding_box() for button in one.get_by_role("button").all()]
    assert len(buttons) == 3
    assert all(box and box["height"] >= 36 for box in buttons)  # for a finger
