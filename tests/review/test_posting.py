"""One comment of a pull request, on code hosts that answer on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sage_code.errors import PostingError, UsageError
from sage_code.review.comment import MARKER
from sage_code.review.posting import post

TOKEN = "of-the-job"
BODY = f"{MARKER}\n### What this change means\n"
Run = Callable[..., Any]


class Host:
    """A code host with one pull request, 7, whose comments it keeps: author, text."""

    def __init__(self) -> None:
        self.comments: list[list[Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str] = set()
        self.refusal = 0
        self.me: Any = 1
        host = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def _answer(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                host.requests.append((self.command, self.path))
                token = self.headers.get("Authorization", "") or self.headers.get("PRIVATE-TOKEN", "")
                host.tokens.add(token.removeprefix("Bearer "))
                status, found = host.answer(self.command, self.path, json.loads(data) if data else {})
                body = json.dumps(found).encode()
                self.send_response(status)
                if status in (301, 302):
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = _answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method: str, path: str, asked: Any) -> tuple[int, Any]:
        """What GitHub (below /gh) and GitLab (below /gl) answer."""
        if self.refusal:
            return self.refusal, {}
        if path == "/gh/graphql":
            start = int(asked["variables"]["after"] or 0)
            nodes = [
                {"databaseId": at, "body": body, "viewerDidAuthor": author == self.me, "url": f"u{at}"}
                for at, (author, body) in enumerate(self.comments)
            ]
            page = {"hasNextPage": start + 2 < len(nodes), "endCursor": str(start + 2)}
            comments = {"nodes": nodes[start : start + 2], "pageInfo": page}
            return 200, {"data": {"repository": {"pullRequest": {"comments": comments}}}}
        if path == "/gl/user":
            return 200, {"id": self.me}
        known = {"/gh/repos/o/r/issues/7/comments", "/gl/projects/o%2Fr/merge_requests/7/notes"}
        name, _, query = path.partition("?")
        if name in known and method == "GET":
            notes = [{"id": at, "body": body, "author": {"id": who}} for at, (who, body) in enumerate(self.comments)]
            return 200, notes if "&page=1&" in query else []
        if name in known and method == "POST":
            self.comments.append([self.me, asked["body"]])
            return 201, {"html_url": "new"}
        folder, _, number = name.rpartition("/")
        if (method, folder) in {("PATCH", "/gh/repos/o/r/issues/comments"), ("PUT", f"{sorted(known)[1]}")}:
            self.comments[int(number)][1] = asked["body"]
            return 200, {"html_url": f"u{number}"}
        return 404, {}


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


@pytest.fixture
def review(tmp_path: Path) -> str:
    (tmp_path / "review.md").write_text(BODY)
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 7}}')
    return str(tmp_path / "review.md")


def _github(host: Host, review: str, **more: str) -> dict[str, str]:
    event = str(Path(review).parent / "event.json")
    return {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": event, "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": f"{host.base}/gh", "GITHUB_GRAPHQL_URL": f"{host.base}/gh/graphql", "GITHUB_TOKEN": TOKEN,
        **more,
    }  # fmt: skip


def _gitlab(host: Host, review: str, **more: str) -> dict[str, str]:
    return {
        "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_ID": "o/r", "CI_API_V4_URL": f"{host.base}/gl",
        "SAGE_REVIEW_TOKEN": TOKEN, **more,
    }  # fmt: skip


BOTH = pytest.mark.parametrize("variables", [_github, _gitlab])


@BOTH
def test_the_first_run_creates_a_comment_and_the_next_ones_replace_it(host: Host, review: str, variables: Run) -> None:
    host.comments += [[2, "hello"], [2, f"{BODY}mine, says a stranger"], [1, "by the same bot, about something else"]]
    before = [list(one) for one in host.comments]
    environment = variables(host, review)
    assert post(review, environment).action == "created"
    assert post(review, environment).action == "unchanged"
    Path(review).write_text(f"{BODY}More.\n")
    assert post(review, environment).action == "replaced"
    assert host.comments == [*before, [1, f"{BODY}More.\n"]]
    assert host.tokens == {TOKEN}


@BOTH
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_may_only_read_posts_nothing_and_is_no_error(
    host: Host, review: str, variables: Run, status: int
) -> None:
    host.refusal = status
    done = post(review, variables(host, review))
    assert (done.is_posted, host.comments) == (False, [])
    assert f"with {status}" in done.action


@BOTH
@pytest.mark.parametrize("status", [302, 500])
def test_a_redirection_is_not_followed_and_a_broken_host_is_an_error(
    host: Host, review: str, variables: Run, status: int
) -> None:
    host.refusal = status
    with pytest.raises(PostingError, match=str(status)):
        post(review, variables(host, review))
    assert not [path for _, path in host.requests if path == "/elsewhere"]


def test_without_a_token_or_a_pull_request_nothing_is_asked(host: Host, review: str, tmp_path: Path) -> None:
    assert "GITHUB_TOKEN is not set" in post(review, _github(host, review, GITHUB_TOKEN="")).action
    assert "SAGE_REVIEW_TOKEN is not set" in post(review, _gitlab(host, review, SAGE_REVIEW_TOKEN="")).action
    assert "no pull request" in post(review, _gitlab(host, review, CI_MERGE_REQUEST_IID="")).action
    for event in ("{}", "[", '{"pull_request": null}'):
        (tmp_path / "event.json").write_text(event)
        assert "no pull request" in post(review, _github(host, review)).action
    assert host.requests == []


def test_the_token_goes_nowhere_in_the_clear(host: Host, review: str) -> None:
    for api in ("http://git.example/api", "ftp://127.0.0.1/x", "file:///etc/hostname"):
        with pytest.raises(PostingError, match="unencrypted"):
            post(review, _gitlab(host, review, CI_API_V4_URL=api))
    assert host.requests == []


def test_only_a_review_is_posted_and_only_in_a_ci_job(host: Host, review: str, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("@everyone")
    for file in ("other.md", "gone.md"):
        with pytest.raises(UsageError, match=r"is no review|cannot be read"):
            post(str(tmp_path / file), _github(host, review))
    with pytest.raises(UsageError, match="no job"):
        post(review, {})


def test_the_command(host: Host, review: str, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITLAB_CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    assert sage("review", "post", review).code == 2
    for name, value in _github(host, review).items():
        monkeypatch.setenv(name, value)
    assert sage("review", "post", review).out == "created new\n"
    assert json.loads(sage("review", "post", review, "--json").out) == {"action": "unchanged", "url": "u0"}
    host.refusal = 403
    assert sage("review", "post", review).code == 1
