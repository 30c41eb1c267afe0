"""What belongs to a project and what never does: the settings of discovery and its built-in excludes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.settings.table import Settings

# Larger files are data: of 84,000 files in our 29 benchmark repositories ten that could be text are larger
# (translations, a changelog, test data), and none of those is code that a person wrote.
DEFAULT_MAX_FILE_BYTES = 1_000_000

# Bookkeeping of version control and of Sage itself; not even mentioned among the ignored.
OWN_FOLDERS = frozenset({b".git", b".hg", b".svn", b".jj", b".sage"})

# Names that mean the same in every project. `venv`, `target`, `build` and `dist` are not here: they are
# sources in some projects (CPython has Lib/venv) and are known by their markers or by .gitignore.
CACHE_FOLDERS = frozenset({
    b"node_modules", b"__pycache__", b".venv", b".tox", b".nox", b".mypy_cache", b".ruff_cache",
    b".pytest_cache", b".gradle", b".idea", b".vs",
})  # fmt: skip

GITIGNORE = b".gitignore"
SAGEIGNORE = b".sageignore"
# Far above any real ignore file, and little enough to compile.
MAX_IGNORE_BYTES = 256 * 1024
# Of all ignore files of a project together: reading patterns takes a few seconds a megabyte.
MAX_IGNORE_BYTES_IN_ALL = 4 << 20

VENV_MARKER = b"pyvenv.cfg"
CACHE_MARKER = b"CACHEDIR.TAG"  # Cargo's target/, and every tool that follows bford.info/cachedir
CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


@dataclass(frozen=True, slots=True)
class DiscoverRules:
    """The user's say. `extra_excludes` are gitignore patterns relative to the root; they win over any
    `.sageignore`, because that file belongs to the repository and these belong to the user."""

    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    extra_excludes: tuple[str, ...] = ()
    include_generated: bool = False
    include_secrets: bool = False


DEFAULT_RULES = DiscoverRules()


def discover_rules(settings: Settings) -> DiscoverRules:
    """What the settings say about which files belong to a project."""
    return DiscoverRules(
        settings.max_file_bytes, tuple(settings.exclude), settings.include_generated, settings.include_secrets
    )
