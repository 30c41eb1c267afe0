"""Posts a review as the one comment of its pull request, on GitHub or GitLab, from a CI job.

Which pull request it is comes from the variables of the CI, never from the review, and the token from the environment.
The comment of an earlier run is replaced: the one with the marker that this token's user has written, because anybody
can write a comment with the marker. A token is sent only over TLS (or to this machine), and a redirection is not
followed. A pull request of a fork has no token that may comment; that is an outcome and no error.
"""

from __future__ import annotations

import ipaddress
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from sage_code.errors import PostingError, UsageError
from sage_code.review.comment import MARKER

# The variables that hold a token; GitLab's own CI_JOB_TOKEN may not write notes.
_GITHUB_TOKEN, _GITLAB_TOKEN = "GITHUB_TOKEN", "SAGE_REVIEW_TOKEN"
# Of one wait: connecting, or the next bytes.
_SECONDS = 20.0
_MAX_REVIEW = 200_000
_MAX_ANSWER = 8 << 20
_MAX_EVENT = 32 << 20
_PAGE = 100
# 2,000 comments; a longer conversation gets a new comment.
_MAX_PAGES = 20
_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
_COMMENTS = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { comments(first: 100, after: $after) {
    nodes { databaseId body viewerDidAuthor url } pageInfo { hasNextPage endCursor } } } } }"""


@dataclass(frozen=True, slots=True)
class Posted:
    """What was done."""

    action: str  # created replaced unchanged, or why nothing was posted
    url: str = ""
    is_posted: bool = True


class _Earlier(NamedTuple):
    """The comment of an earlier run."""

    id: int
    body: str
    url: str


class _RefusedError(Exception):
    """The token may not do this."""


def post(file: str, environment: Mapping[str, str] = os.environ) -> Posted:
    """Post the review in a file."""
    body = _read(file)
    if environment.get("GITLAB_CI"):
        host: _GitHub | _GitLab | None = _GitLab.of(environment)
        variable = _GITLAB_TOKEN
    elif environment.get("GITHUB_ACTIONS"):
        host, variable = _GitHub.of(environment), _GITHUB_TOKEN
    else:
        raise UsageError("this is no job of GitHub Actions or GitLab CI", f"post {file[:200]} with your CI's own means")
    if host is None:
        return Posted("not posted: this job is about no pull request", is_posted=False)
    if not environment.get(variable):
        return Posted(f"not posted: {variable} is not set, as for a fork", is_posted=False)
    try:
        return _replace(host, body)
    except _RefusedError as refused:
        return Posted(f"not posted: {refused}; a fork's token may only read", is_posted=False)


def _read(file: str) -> str:
    """A review that `sage review` has written."""
    try:
        with open(file, encoding="utf-8") as opened:
            body = opened.read(_MAX_REVIEW)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file[:200]} cannot be read: {error}", "write it with: sage review -o FILE") from error
    if not body.startswith(MARKER):
        raise UsageError(f"{file[:200]} is no review", "write it with: sage review -o FILE")
    return body


def _replace(host: _GitHub | _GitLab, body: str) -> Posted:
    earlier = next((one for one in host.own_comments() if one.body.startswith(MARKER)), None)
    if earlier is None:
        return Posted("created", host.create(body))
    if earlier.body.strip() == body.strip():
        return Posted("unchanged", earlier.url)
    return Posted("replaced", host.update(earlier.id, body))


class _GitHub:
    """Comments of a pull request on GitHub."""

    def __init__(self, api: str, graphql: str, repository: str, number: int, token: str) -> None:
        self._api, self._graphql, self._number = api, graphql, number
        self._owner, _, self._name = repository.partition("/")
        self._repository = f"{api}/repos/{quote(repository)}"
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> _GitHub | None:
        """The pull request of this job."""
        try:
            with open(environment.get("GITHUB_EVENT_PATH", ""), "rb") as opened:
                number = json.loads(opened.read(_MAX_EVENT))["pull_request"]["number"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        names = ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_REPOSITORY")
        api, graphql, repository = (_variable(environment, name) for name in names)
        return cls(api, graphql, repository, int(number), environment.get(_GITHUB_TOKEN, ""))

    def own_comments(self) -> Iterator[_Earlier]:
        """The comments that the token's user has written."""
        after = None
        for _ in range(_MAX_PAGES):
            variables = {"owner": self._owner, "name": self._name, "number": self._number, "after": after}
            found = _ask("POST", self._graphql, self._headers, {"query": _COMMENTS, "variables": variables})
            try:
                comments = found["data"]["repository"]["pullRequest"]["comments"]
            except (KeyError, TypeError):
                raise _RefusedError("the token may not read the pull request") from None
            for one in comments["nodes"]:
                if one["viewerDidAuthor"]:
                    yield _Earlier(one["databaseId"], one["body"], one["url"])
            if not comments["pageInfo"]["hasNextPage"]:
                return
            after = comments["pageInfo"]["endCursor"]

    def create(self, body: str) -> str:
        """A new comment; its address."""
        url = f"{self._repository}/issues/{self._number}/comments"
        return str(_ask("POST", url, self._headers, {"body": body}).get("html_url", ""))

    def update(self, id_: int, body: str) -> str:
        """Another text for a comment; its address."""
        url = f"{self._repository}/issues/comments/{int(id_)}"
        return str(_ask("PATCH", url, self._headers, {"body": body}).get("html_url", ""))


class _GitLab:
    """Notes of a merge request on GitLab."""

    def __init__(self, api: str, project: str, number: str, token: str) -> None:
        self._api = api
        self._notes = f"{api}/projects/{quote(project, safe='')}/merge_requests/{quote(number, safe='')}/notes"
        self._headers = {"PRIVATE-TOKEN": token}

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> _GitLab | None:
        """The merge request of this job."""
        number = environment.get("CI_MERGE_REQUEST_IID", "")
        if not number:
            return None
        project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or _variable(environment, "CI_PROJECT_ID")
        api = _variable(environment, "CI_API_V4_URL")
        return cls(api, project, number, environment.get(_GITLAB_TOKEN, ""))

    def own_comments(self) -> Iterator[_Earlier]:
        """The notes that the token's user has written."""
        me = _ask("GET", f"{self._api}/user", self._headers).get("id")
        for page in range(1, _MAX_PAGES + 1):
            notes = _ask("GET", f"{self._notes}?per_page={_PAGE}&page={page}&sort=asc", self._headers)
            for one in notes:
                if one["author"]["id"] == me:
                    yield _Earlier(one["id"], one["body"], "")
            if len(notes) < _PAGE:
                return

    def create(self, body: str) -> str:
        """A new note."""
        _ask("POST", self._notes, self._headers, {"body": body})
        return ""

    def update(self, id_: int, body: str) -> str:
        """Another text for a note."""
        _ask("PUT", f"{self._notes}/{int(id_)}", self._headers, {"body": body})
        return ""


def _variable(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise UsageError(f"{name} is not set", "run it in the CI job of the pull request")
    return value


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirection would carry the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _ask(method: str, url: str, headers: Mapping[str, str], document: object = None) -> Any:
    """The JSON that an address answers with."""
    parts = urlsplit(url)
    where = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_this_machine(where)):
        raise PostingError(f"the token would be sent to {where[:200]} unencrypted", "use an address with https://")
    data = json.dumps(document).encode() if document is not None else None
    sent = {"Content-Type": "application/json", "User-Agent": "sage-review", **headers}
    request = urllib.request.Request(url, data, sent, method=method)  # noqa: S310 (the scheme was looked at)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read(_MAX_ANSWER))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _REFUSED:
            raise _RefusedError(f"{where} answered {method} with {error.code}") from None
        raise PostingError(f"{where} answered {method} with {error.code}", "run the job again") from None
    except (OSError, ValueError) as error:
        raise PostingError(f"{where} did not answer {method}: {error}", "run the job again") from None


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
