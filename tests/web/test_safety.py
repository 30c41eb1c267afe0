"""Strangers get nothing: other names and origins, wrong tokens, paths that leave a project, GET that would change."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from sage_code import Project

from .conftest import WebServer

pytestmark = pytest.mark.slow
SECRET = "ghp_" + "9aZ8bY7cX6dW5eV4fU3gT2hS1iR0jQ9kP8lO"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


def ask(server: WebServer, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
    """One request, with exactly these headers and the path as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    sent = {"Authorization": f"Bearer {server.token}", "Host": f"127.0.0.1:{server.port}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value:
            connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body.encode() or None)
    answer = connection.getresponse()
    found = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode())
    connection.close()
    return found


@pytest.mark.parametrize(
    "host",
    ["evil.test", "localhost.evil.test:{}", "127.0.0.1.evil.test:{}", "127.0.0.1", "127.0.0.1:1", "[::1]:{}", ""],
)
def test_another_name_for_this_machine_is_refused(site: WebServer, host: str) -> None:
    assert ask(site, "/", Host=host.format(site.port)).status in (400, 421)


def test_requests_without_the_token_are_refused(site: WebServer) -> None:
    for given in ("", "Bearer x", f"bearer {site.token}", f"Basic {site.token}", f"Bearer {site.token}x"):
        for path in ("/", "/p/sample/code/", "/health", "/live", "/agents", "/p/sample/memory"):
            answer = ask(site, path, Authorization=given)
            assert answer.status == 401
            assert "sample" not in answer.text
    assert ask(site, "/", Authorization="", Cookie=f"sage_web_{site.port}={site.token}").status == 401
    assert ask(site, "/static/base.css", Authorization="").status == 200


def test_wrong_tokens_do_not_let_a_browser_in(site: WebServer, context: BrowserContext) -> None:
    shown = context.new_page()
    for token in ("", "wrong", site.token[:-1], site.token + "x", "%00", "\u202e"):
        assert shown.goto(f"{site.base}/enter?token={token}").status == 401  # type: ignore[union-attr]
        expect(shown.get_by_role("heading")).to_have_text("Who is there?")
        assert shown.goto(site.base + "/").status == 401  # type: ignore[union-attr]
    assert context.cookies() == []


def test_the_cookie_is_not_the_token_and_is_kept_from_scripts(
    site: WebServer, enter: Callable[..., Page], context: BrowserContext
) -> None:
    shown = enter(site)
    (cookie,) = (one for one in context.cookies() if one["name"].startswith("sage_web"))
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert site.token not in cookie["value"]
    assert "sage_web" not in shown.evaluate("document.cookie")
    assert site.token not in shown.content()
    assert site.token not in shown.url


def test_every_answer_has_the_headers_that_protect_it(site: WebServer) -> None:
    for path in ("/", "/health", "/nowhere", "/p/none/code/", "/static/base.js", "/enter"):
        headers = ask(site, path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers


class _Elsewhere(BaseHTTPRequestHandler):
    """A page of somebody else, on another port of this machine: for a browser that is the same site."""

    target = ""

    def do_GET(self) -> None:
        """The page: a form that is sent by a click, and a frame."""
        body = (
            f"<form id=f method=post action='{self.target}/p/sample/memory/knowledge/new'>"
            "<input name=content value=planted><input name=id value=planted><button>send</button></form>"
            f"<iframe src='{self.target}/'></iframe>"
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere(site: WebServer) -> Iterator[str]:
    _Elsewhere.target = site.base
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_another_site_can_neither_change_nor_read_nor_frame(
    site: WebServer, enter: Callable[..., Page], elsewhere: str, sample: Path
) -> None:
    enter(site).close()  # the user is let in, and their browser has the cookie
    shown = enter(site, "/health")
    shown.goto(elsewhere)
    with shown.expect_response(lambda answer: answer.request.method == "POST") as posted:
        shown.get_by_role("button", name="send").click()
    assert posted.value.status == 403
    shown.goto(elsewhere)
    assert len(shown.frames) < 2 or "Search" not in shown.frames[1].content()
    outcome = shown.evaluate(
        """async (base) => {
            try { return await (await fetch(base + '/p/sample/code/server.py', {credentials: 'include'})).text(); }
            catch (error) { return 'refused'; }
        }""",
        site.base,
    )
    assert outcome == "refused"
    hidden = shown.evaluate(
        """async (base) => (await fetch(base + '/p/sample/index', {method: 'POST', mode: 'no-cors',
            credentials: 'include', body: new URLSearchParams({full: '1'})})).type""",
        site.base,
    )
    assert hidden == "opaque"  # it may be sent; what it is answered is below
    assert not list((sample / ".sage").rglob("planted*"))
    assert ask(site, "/p/sample/index", "POST", "full=1", Origin=elsewhere).status == 403


def test_a_foreign_name_that_leads_here_gets_nothing(site: WebServer, context: BrowserContext) -> None:
    shown = context.new_page()
    answer = shown.goto(f"http://rebound.test:{site.port}/")
    assert answer is not None
    assert answer.status == 421
    assert "sample" not in shown.content()


def test_a_change_needs_the_key_of_the_page(site: WebServer, sample: Path) -> None:
    path, body = "/p/sample/memory/knowledge/new", "id=planted&content=planted"
    for key in ("", "x", site.token):
        assert ask(site, path, "POST", body, X_Sage_Change=key).status == 403
    assert ask(site, path, "POST", body + "&_change=x").status == 403
    assert ask(site, path, "POST", "x" * (1 << 21)).status == 413
    assert not list((sample / ".sage").rglob("planted*"))


def test_what_changes_takes_no_get(site: WebServer) -> None:
    from sage_web.application import PAGES

    changing = [route for one in PAGES for route in one.ROUTES if "POST" in (route.methods or ())]
    assert len(changing) > 5
    reading = {route.path for one in PAGES for route in one.ROUTES if "GET" in (route.methods or ())}
    for route in changing:
        assert "GET" not in (route.methods or ())
        if route.path not in reading:
            values = dict.fromkeys(route.param_convertors, "x")
            assert ask(site, str(route.url_path_for(route.name, **values))).status in (400, 404, 405)


TRAVERSALS = [
    "../sample-secret.txt",
    "..%2fsample-secret.txt",
    "%2e%2e/sample-secret.txt",
    "%2e%2e%2fsample-secret.txt",
    "web/../../sample-secret.txt",
    "..%5csample-secret.txt",
    "%252e%252e/sample-secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "link.txt",
    "linked/sample-secret.txt",
    ".git/config",
    ".sage/index_meta.json",
    "ignored.txt",
    ".env",
    "%00",
    "server.py%00.txt",
]


def test_only_files_of_the_project_are_shown(sample: Path, serve: Callable[[Path], WebServer]) -> None:
    (sample.parent / "sample-secret.txt").write_text("outside-of-it\n")
    (sample / "link.txt").symlink_to(sample.parent / "sample-secret.txt")
    (sample / "linked").symlink_to(sample.parent)
    (sample / ".git").mkdir()
    (sample / ".git" / "config").write_text("outside-of-it\n")
    (sample / ".gitignore").write_text("ignored.txt\n.env\n")
    for name in ("ignored.txt", ".env"):
        (sample / name).write_text("outside-of-it\n")
    Project.open(sample).index()
    server = serve(sample)
    for path in TRAVERSALS:
        for before in ("/p/sample/code/", "/p/sample/lines/", "/static/", "/static/../"):
            answer = ask(server, before + path)
            assert answer.status in (400, 403, 404), before + path
            assert "outside-of-it" not in answer.text
            assert "root:" not in answer.text
            assert '"files"' not in answer.text


def test_projects_that_are_not_indexed_are_not_there(site: WebServer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.py").write_text("SECRET = 1\n")
    for slug in ("other", str(tmp_path / "other").replace("/", "%2f"), "..", "%2e%2e", "~root"):
        assert ask(site, f"/p/{slug}/code/a.py").status in (400, 404)


def test_secrets_in_code_are_masked(sample: Path, serve: Callable[[Path], WebServer]) -> None:
    (sample / "keys.py").write_text(f'"""Keys of the deployment."""\nGITHUB_TOKEN = "{SECRET}"\n')
    Project.open(sample).index()
    server = serve(sample)
    for path in ("/p/sample/code/keys.py", "/?q=github+token+of+the+deployment", "/?q=GITHUB_TOKEN&mode=exact"):
        answer = ask(server, path)
        assert answer.status == 200
        assert "GITHUB_TOKEN" in answer.text
        assert SECRET not in answer.text


def test_a_project_of_a_name_of_somebody_elses_choice(
    tmp_path: Path, serve: Callable[[Path], WebServer], enter: Callable[..., Page]
) -> None:
    root = tmp_path / "<img src=x onerror=window.pwned=1>"
    root.mkdir()
    (root / "a.py").write_text("def found():\n    pass\n")
    Project.open(root).index()
    shown = enter(serve(root))
    expect(shown.locator("main").get_by_text("onerror").first).to_be_visible()
    assert shown.evaluate("window.pwned") is None
