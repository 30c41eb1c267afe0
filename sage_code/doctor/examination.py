"""`sage doctor`: runs all checks, in the order in which a question passes through the parts of Sage.

A check that fails is a finding and does not stop the others. Nothing is changed: a check creates neither a store nor an
index.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sage_code.doctor.agents import agent_findings
from sage_code.doctor.findings import Finding, Level
from sage_code.doctor.plugins import plugin_findings
from sage_code.doctor.round_trip import ask_version
from sage_code.errors import SageError
from sage_code.files.locks import locked
from sage_code.paths import sage_home
from sage_code.settings.loading import Settings, load_settings

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

_OLDEST_PYTHON = (3, 11)
_NEEDED = ("lance", "pyarrow", "numpy", "orjson", "xxhash", "tree_sitter", "tree_sitter_language_pack", "mcp.client")
_PROBE = "def connect(host): ..."

Check = Callable[[], Iterator[Finding]]


def examine(root: str, version: str) -> list[Finding]:
    """Every finding about Sage on this machine and the project at `root`."""
    settings = cache(lambda: load_settings(root))
    embedder = cache(lambda: _embedder(settings()))
    checks: list[tuple[str, Check]] = [
        ("python", _python),
        ("home", _home),
        ("settings", lambda: _settings(settings())),
        ("model", lambda: _model(embedder())),
        ("store", lambda: _store(settings(), embedder)),
        ("index", lambda: _index(root, settings())),
        ("plugins", plugin_findings),
        ("agents", lambda: agent_findings(root, version)),
        ("mcp", lambda: ask_version(version)),
    ]
    findings = []
    for name, check in checks:
        started = time.monotonic()
        found = list(_run(name, check))
        took = round((time.monotonic() - started) * 1000)
        findings += [replace(finding, took_ms=took) for finding in found[:1]] + found[1:]
    return findings


def worst(findings: list[Finding]) -> Level:
    """The most serious level among the findings."""
    order: tuple[Level, ...] = ("error", "warning", "note")
    return next((level for level in order if any(finding.level == level for finding in findings)), "ok")


def _run(name: str, check: Check) -> Iterator[Finding]:
    """The findings of a check; an exception becomes a finding too."""
    try:
        yield from check()
    except SageError as error:
        yield Finding(name, "error", error.message, error.hint)
    except Exception as error:  # a broken installation may raise anything
        fix = "reinstall sage-code; if it stays, report it with the output of `sage --debug doctor`"
        yield Finding(name, "error", f"unexpected {type(error).__name__}: {error}", fix)


def _python() -> Iterator[Finding]:
    """Whether Python is new enough and has the packages that Sage needs."""
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        yield Finding("python", "error", found, f"install Python {_OLDEST_PYTHON[0]}.{_OLDEST_PYTHON[1]} or newer")
        return
    missing = [name for name in _NEEDED if not _is_there(name)]
    if missing:
        yield Finding(
            "python", "error", f"{found} lacks {', '.join(missing)}", "reinstall sage-code with its dependencies"
        )
    else:
        yield Finding("python", "ok", found)


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _home() -> Iterator[Finding]:
    """Whether Sage's home can be written to."""
    home = sage_home()
    folder = home
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
        yield Finding("home", "ok", home if folder == home else f"{home} will be made by the first index")
    else:
        fix = f"make {folder} a folder that you may write to, or set SAGE_HOME to one"
        yield Finding("home", "error", f"{home} cannot be written to", fix)


def _settings(settings: Settings) -> Iterator[Finding]:
    for warning in settings.warnings:
        yield Finding("settings", "warning", warning, "`sage config list` shows every setting and where it comes from")
    if not settings.warnings:
        yield Finding("settings", "ok", "every setting is valid")


def _embedder(settings: Settings) -> Embedder:
    from sage_code.embed.loading import load_embedder  # lazy: NumPy, or torch

    return load_embedder(settings.code_embedding_model, "code", settings)


def _model(embedder: Embedder) -> Iterator[Finding]:
    vectors = embedder.embed_code([_PROBE])
    if vectors.shape == (1, embedder.dim) and float(abs(vectors).sum()) > 0:
        yield Finding("model", "ok", f"{embedder.name}, {embedder.dim}-d")
    else:
        fix = "reinstall sage-code, or choose another model with `sage models use`"
        yield Finding("model", "error", f"{embedder.name} gives no sensible vectors", fix)


def _store(settings: Settings, embedder: Callable[[], Embedder]) -> Iterator[Finding]:
    """Whether the tables of the store can be read."""
    from sage_code.store.lance import (  # lazy: Lance takes a third of a second
        Store,
        damaged_tables,
        store_uri,
        use_lock,
    )

    uri = store_uri(settings.store_uri)
    if "://" not in uri and not os.path.isdir(uri):
        yield Finding("store", "ok", f"{uri} will be made by the first index")
        return
    with locked(use_lock(uri), shared=True):
        if damaged := damaged_tables(uri):
            fix = "`sage admin verify` sets damaged tables aside and makes them again"
            yield Finding("store", "error", f"{uri}: cannot read {', '.join(damaged)}", fix)
            return
        model = embedder()
        store = Store(uri, model.name, model.dim)
        yield Finding("store", "ok", f"{uri}: {store.count():,} texts of {store.count_files():,} versions of files")


def _index(root: str, settings: Settings) -> Iterator[Finding]:
    """Whether the project's index is complete and fresh."""
    from sage_code.index.status import status

    found = status(root, settings)
    if advice := found.advice:
        problem = advice.problem if root in advice.problem else f"{root}: {advice.problem}"
        yield Finding("index", advice.level, problem, f"`sage index {root}` {advice.remedy}")
    else:
        yield Finding("index", "ok", f"{root}: {found.files:,} files, {found.chunks:,} chunks, fresh")
