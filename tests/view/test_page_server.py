"""The live page lets in who may, tells only what is new, and changes nothing without permission."""

import http.client
import json
import logging
import math
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import quote, urlsplit

import pytest

from penstock.errors import UsageError
from penstock.network.secrets import Secret
from penstock.view.page import Page, serve
from penstock.view.page.document import document
from penstock.view.scene import Scene
from tests.view.scenes import scene, status

TOKEN = "correct-horse-battery"  # noqa: S105 - of these tests
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ADDRESSES = ["/", "/scene.json", "/metrics", "/mode", "/nothing"]


@dataclass
class Got:
    """A reply."""

    status: int
    headers: http.client.HTTPMessage
    text: str


def ask(
    page: Page, path: str, *, method: str = "GET", body: str | None = None, **headers: str
) -> Got:
    port = urlsplit(page.url).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    reply = connection.getresponse()
    got = Got(reply.status, reply.headers, reply.read().decode())
    connection.close()
    return got


@pytest.fixture(scope="module")
def open_page() -> Iterator[Page]:
    """On this machine, without a token."""
    with serve(lambda: scene(30)) as page:
        yield page


@pytest.fixture(scope="module")
def all_changes() -> list[str]:
    """The modes that were asked for by all tests."""
    return []


@pytest.fixture
def changed(all_changes: list[str]) -> list[str]:
    """The modes that were asked for by this test."""
    all_changes.clear()
    return all_changes


@pytest.fixture(scope="module")
def guarded(all_changes: list[str]) -> Iterator[Page]:
    """With a token, and the permission to change the run."""
    with serve(lambda: scene(30), token=TOKEN, change=all_changes.append) as page:
        yield page


class TestWhoIsLetIn:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])  # noqa: S104
    def test_other_machines_are_refused_without_a_token(self, host):
        with pytest.raises(UsageError, match=r"^host must be an address of this machine, .*token"):
            serve(scene, host=host)

    def test_with_a_token_all_addresses_may_be_listened_on(self):
        with serve(scene, host="0.0.0.0", token=TOKEN) as page:  # noqa: S104
            assert page.url.startswith("http://localhost:")
            # It has many names, which it does not know; without the token none is of use.
            assert ask(page, "/scene.json", Host="node7.example.org").status == 401
            assert ask(page, "/scene.json", Host="node7.example.org", **BEARER).status == 200

    @pytest.mark.parametrize(
        "token",
        [
            "",
            "short",
            "fifteen-letters",
            "with a space in the middle",
            "ünïcödé-tokens-are-refused",
        ],
    )
    def test_a_token_that_can_be_guessed_is_refused_and_not_shown(self, token):
        with pytest.raises(UsageError, match=r"^token must have at least 16 characters") as refusal:
            serve(scene, token=token)
        assert not token or token not in str(refusal.value)

    @pytest.mark.parametrize("path", ADDRESSES)
    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": "Bearer wrong-wrong-wrong-wrong"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": "Bearer ü"},
            {"Cookie": "penstock=x"},
            {"Cookie": f"token={TOKEN}"},
        ],
        ids=str,
    )
    def test_without_the_token_there_is_nothing(self, guarded, path, headers):
        method = "POST" if path == "/mode" else "GET"
        got = ask(guarded, path, method=method, body="{}" if method == "POST" else None, **headers)
        assert (got.status, got.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "packets" not in got.text

    def test_the_token_may_be_a_header(self, guarded):
        for path in ("/", "/scene.json", "/metrics"):
            got = ask(guarded, path, **BEARER)
            assert got.status == 200
            assert got.headers["Set-Cookie"] is None

    def test_the_token_in_the_address_becomes_a_cookie_that_does_not_hold_it(self, guarded):
        got = ask(guarded, f"/?token={TOKEN}")
        assert got.status == 200
        cookie, *rules = got.headers["Set-Cookie"].split("; ")
        assert rules == ["HttpOnly", "SameSite=Strict", "Path=/"]
        assert TOKEN not in cookie
        assert ask(guarded, "/scene.json", Cookie=cookie).status == 200
        assert ask(guarded, "/scene.json", Cookie=cookie + "x").status == 401

    def test_the_cookie_is_of_no_use_for_another_run(self, guarded):
        cookie = ask(guarded, f"/?token={TOKEN}").headers["Set-Cookie"].partition(";")[0]
        with serve(scene, token=TOKEN) as other:
            renamed = f"penstock_{urlsplit(other.url).port}={cookie.partition('=')[2]}"
            assert ask(other, "/scene.json", Cookie=renamed).status == 401

    def test_the_token_in_an_address_is_for_the_page_only(self, guarded):
        assert ask(guarded, f"/scene.json?token={TOKEN}").status == 401
        assert ask(guarded, f"/metrics?token={TOKEN}").status == 401

    def test_health_is_for_everybody(self, guarded):
        assert (ask(guarded, "/healthz").status, ask(guarded, "/healthz").text) == (200, "ok\n")

    @pytest.mark.parametrize(
        "name", ["evil.example", "127.0.0.1.evil.example:80", "", "[::1", "10.0.0.1"]
    )
    def test_a_foreign_name_that_leads_here_is_refused(self, open_page, name):
        for path in ADDRESSES:
            assert ask(open_page, path, Host=name).status == 421

    @pytest.mark.parametrize("name", ["localhost", "LOCALHOST:8080", "127.0.0.1:9", "[::1]:80"])
    def test_the_names_of_this_machine_are_known(self, open_page, name):
        assert ask(open_page, "/scene.json", Host=name).status == 200


class TestChangingTheRun:
    def post(self, page: Page, mode: object = "monitor", **headers: str) -> Got:
        headers = {"Content_Type": "application/json", **headers}
        return ask(page, "/mode", method="POST", body=json.dumps({"mode": mode}), **headers)

    def test_with_the_token_and_permission_it_is_changed(self, guarded, changed):
        assert self.post(guarded, "monitor", **BEARER).status == 200
        assert self.post(guarded, "off", **BEARER, Origin=guarded.url.rstrip("/")).status == 200
        assert changed == ["monitor", "off"]

    def test_without_permission_it_is_not(self):
        with serve(scene, token=TOKEN) as page:
            assert self.post(page, **BEARER).status == 403
            assert json.loads(ask(page, "/scene.json", **BEARER).text)["may_change"] is False

    def test_without_a_token_it_is_not_even_with_permission(self, changed):
        with serve(scene, change=changed.append) as page:
            assert self.post(page).status == 403
            assert json.loads(ask(page, "/scene.json").text)["may_change"] is False
        assert changed == []

    def test_from_another_site_it_is_not(self, guarded, changed):
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://["):
            assert self.post(guarded, **BEARER, Origin=origin).status == 403
        assert self.post(guarded, **BEARER, Sec_Fetch_Site="cross-site").status == 403
        assert changed == []

    @pytest.mark.parametrize("mode", ["", "ON", None, 1, ["on"], {"on": 1}])
    def test_other_modes_are_refused(self, guarded, changed, mode):
        got = self.post(guarded, mode, **BEARER)
        assert (got.status, got.text) == (400, "mode must be one of off, monitor, on\n")
        assert changed == []

    @pytest.mark.parametrize(
        ("body", "kind"),
        [
            ("{", "application/json"),
            ('{"mode": "on"}', "text/plain"),
            (" " * 5000, "application/json"),
            ("", "application/json"),
        ],
    )
    def test_what_is_not_json_is_refused(self, guarded, changed, body, kind):
        got = ask(guarded, "/mode", method="POST", body=body, Content_Type=kind, **BEARER)
        assert got.status == 400
        assert changed == []

    def test_a_list_is_no_mode(self, guarded):
        kind = "application/json"
        assert (
            ask(guarded, "/mode", method="POST", body="[1]", Content_Type=kind, **BEARER).status
            == 400
        )

    def test_a_run_that_refuses_says_why(self):
        def refuse(mode: str) -> None:
            raise UsageError("the run has ended")

        with serve(scene, token=TOKEN, change=refuse) as page:
            got = self.post(page, **BEARER)
        assert (got.status, got.text) == (409, "the run has ended\n")


class TestWhatIsTold:
    def test_only_what_is_new(self, open_page):
        part = scene(1).statuses[0].queries[0].name
        since = quote(json.dumps({part: 27}))
        values = json.loads(ask(open_page, f"/scene.json?since={since}").text)
        assert values["told"] == {part: 29}
        assert [one["batch"] for one in values["statuses"]] == [28, 29]
        assert values["now"]["batch"] == 29
        assert {one["name"] for one in values["now"]["queries"]} > {"web_large"}
        assert "queries" not in values["statuses"][0]
        assert values["balanced"] == dict.fromkeys(scene(30).accounts, True)
        assert len(json.loads(ask(open_page, "/scene.json").text)["statuses"]) == 30

    def test_what_was_told_are_batches_of_parts(self, open_page):
        for wrong in ("x", "27", quote('{"web": "x"}'), quote('["web"]')):
            assert ask(open_page, f"/scene.json?since={wrong}").status == 400

    def test_values_that_json_lacks_become_text_and_secrets_become_stars(self):
        when = datetime(2026, 1, 1, tzinfo=UTC)
        row = {
            "a": math.nan,
            "b": 2**60,
            "c": Decimal("1.5"),
            "d": when,
            "e": Secret("sw0rdfish"),
            "f": b"x" * 999,
        }
        with serve(lambda: Scene(title="t", answers={"q": [row]})) as page:
            text = ask(page, "/scene.json").text
        (told,) = json.loads(text)["answers"]["q"]
        assert "sw0rdfish" not in text
        assert told["a"] is None
        assert told["b"] == "1152921504606846976"  # a browser would round it
        assert (told["c"], told["d"], told["e"]) == ("1.5", "2026-01-01 00:00:00+00:00", "***")
        assert len(told["f"]) == 500

    def test_that_the_run_has_ended(self):
        with serve(scene) as page:
            assert json.loads(ask(page, "/scene.json").text)["ended"] is False
            page.end()
            assert json.loads(ask(page, "/scene.json").text)["ended"] is True

    def test_metrics_count_on_from_scrape_to_scrape(self):
        statuses = [status(n) for n in range(10)]
        with serve(lambda: Scene(title="t", statuses=tuple(statuses[-4:]))) as page:
            assert "\npenstock_batches_total 4.0\n" in ask(page, "/metrics").text
            statuses += [status(10), status(11)]
            got = ask(page, "/metrics")
        assert "\npenstock_batches_total 6.0\n" in got.text
        assert got.headers["Content-Type"].startswith("text/plain; version=0.0.4")

    def test_without_the_extra_only_the_metrics_are_missing(self, open_page, monkeypatch):
        monkeypatch.setitem(sys.modules, "prometheus_client", None)
        got = ask(open_page, "/metrics")
        assert got.status == 501
        assert "pip install 'penstock[metrics]'" in got.text
        assert ask(open_page, "/").status == 200

    def test_other_addresses_and_methods_are_refused_in_a_line(self, open_page):
        assert ask(open_page, "/nothing").status == 404
        assert ask(open_page, "/../../etc/passwd").status == 404
        got = ask(open_page, "/", method="POST", body="{}")
        assert (got.status, got.headers["Allow"]) == (405, "GET")
        assert ask(open_page, "/mode").status == 405
        got = ask(open_page, "/", method="DELETE")
        assert got.status == 501
        assert "<" not in got.text


class TestHowItIsServed:
    @pytest.mark.parametrize("path", ["/", "/scene.json", "/metrics", "/healthz", "/nothing"])
    def test_every_reply_has_the_headers_that_keep_it_to_itself(self, open_page, path):
        headers = ask(open_page, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Server"] == "penstock"
        assert headers["Access-Control-Allow-Origin"] is None

    def test_the_page_is_one_file_that_needs_no_internet(self, open_page):
        html = ask(open_page, "/").text
        assert html == document().html.decode()
        assert html.count("<script>") == html.count("</script>") == 1
        for outside in ("src=", "@import", "url(", "https:"):
            assert outside not in html.replace("http://www.w3.org/2000/svg", "")

    def test_a_scene_that_fails_is_told_without_its_reason(self, caplog):
        def fail() -> Scene:
            raise RuntimeError("jaas password=swordfish")

        with serve(fail, token=TOKEN) as page, caplog.at_level(logging.ERROR):
            got = ask(page, "/scene.json?token=x", **BEARER)
            assert ask(page, "/healthz").status == 200
        assert (got.status, got.text) == (500, "the run could not answer\n")
        assert "/scene.json could not be answered" in caplog.text
        assert TOKEN not in caplog.text

    def test_nothing_is_printed_and_the_token_is_logged_nowhere(self, guarded, capfd, caplog):
        with caplog.at_level(logging.DEBUG):
            told = [ask(guarded, path, **BEARER) for path in ("/", "/scene.json", "/metrics", "/x")]
            told.append(ask(guarded, f"/?token={TOKEN}"))
            told.append(ask(guarded, f"/nothing?token={TOKEN}"))
            with socket.create_connection(("127.0.0.1", urlsplit(guarded.url).port or 0)) as raw:
                raw.sendall(f"GET /?token={TOKEN} and more\r\n\r\n".encode())
                raw.recv(100)
        assert all(TOKEN not in got.text + str(got.headers) for got in told)
        assert TOKEN not in caplog.text
        assert TOKEN not in repr(vars(guarded))
        assert capfd.readouterr() == ("", "")

    def test_after_it_is_closed_nobody_answers(self):
        page = serve(scene)
        assert ask(page, "/healthz").status == 200
        page.close()
        page.close()
        with pytest.raises(ConnectionRefusedError):
            ask(page, "/healthz")

    def test_a_port_that_is_taken_is_refused_in_one_line(self, open_page):
        port = urlsplit(open_page.url).port or 0
        with pytest.raises(UsageError, match=rf"^port must be one .* got {port}; 0 takes a free"):
            serve(scene, port=port)
        with pytest.raises(UsageError, match="got 70000"):
            serve(scene, port=70_000)

    def test_a_browser_that_hangs_up_disturbs_nobody(self, open_page, capfd):
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", urlsplit(open_page.url).port or 0)) as raw:
                raw.sendall(b"GET /scene.json HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert ask(open_page, "/healthz").status == 200
        assert capfd.readouterr() == ("", "")
