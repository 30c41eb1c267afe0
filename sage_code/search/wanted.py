"""Which paths, kinds and languages a filter allows. Without NumPy: searches for exact text use it too."""

from __future__ import annotations

from sage_code.errors import UsageError
from sage_code.languages.kinds import CHUNK_KIND, CHUNK_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

# Each pattern is compared with the path of every file. A glob never backtracks (`fnmatch` makes atomic groups of it),
# so these limits bound what a query costs.
_MAX_PATHS = 100
_MAX_PATH_CHARS = 1_000


def check_paths(patterns: Sequence[str]) -> None:
    """Refuse too many patterns, and patterns that are too long."""
    if len(patterns) > _MAX_PATHS or any(len(pattern) > _MAX_PATH_CHARS for pattern in patterns):
        raise UsageError(
            f"more than {_MAX_PATHS} paths, or one of more than {_MAX_PATH_CHARS} characters", "ask for fewer"
        )


def matches_path(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern: its beginning, any run of its parts, or a glob."""
    plain = pattern.strip("/").removeprefix("./")
    if any(mark in plain for mark in "*?["):
        import fnmatch  # lazy: it loads `re`

        # `**/` also matches no folder at all.
        return any(fnmatch.fnmatchcase(path, glob) for glob in (plain, f"*/{plain}", plain.replace("**/", "")))
    return path.startswith(plain) or f"/{plain}/" in f"/{path}/"


def wanted_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """The kinds in lower case; one that is neither a kind of chunks nor of symbols is a usage error."""
    wanted = frozenset(kind.lower() for kind in kinds)
    for kind in wanted:
        if kind not in CHUNK_KINDS and kind not in CHUNK_KIND:
            known = ", ".join((*CHUNK_KINDS, *(symbol for symbol in CHUNK_KIND if symbol not in CHUNK_KINDS)))
            raise UsageError(f"there is no kind {kind[:40]!r}", f"a kind is one of {known}")
    return wanted


def wanted_language(name: str, known: Collection[str]) -> str:
    """A language by its name, or by an extension of its files: `py`, `.rs`; `known` are those of the project."""
    name = name.lower()
    if name in known:
        return name
    from sage_code.languages.table import all_languages, by_name  # lazy: reads the table of languages

    if by_name(name):
        return name
    extension = name.lstrip(".")
    for language in all_languages():
        if extension in language.extensions:
            return language.name
    raise UsageError(
        f"there is no language {name[:40]!r}", "`sage status` lists those of the project, docs/LANGUAGES.md all"
    )


def several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """The values of a filter that may be given as none, one or several."""
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)
