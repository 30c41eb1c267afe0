"""The settings of discovery, and the files and folders that never belong to a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.settings.table import Settings

# Larger files are data: of 84,000 files in our 29 benchmark repositories ten that could be text are larger
# (translations, a changelog, test data), and none of those is code that a person wrote.
DEFAULT_MAX_FILE_BYTES = 1_000_000

# Folders of version control and of Sage; not listed among the ignored ones either.
OWN_FOLDERS = frozenset({b".git", b".hg", b".svn", b".jj", b".sage"})

# Caches in every project. `venv`, `target`, `build` and `dist` are not here: they are sources in some projects (CPython
# has Lib/venv) and are recognised by their markers or by .gitignore.
CACHE_FOLDERS = frozenset({
    b"node_modules", b"__pycache__", b".venv", b".tox", b".nox", b".mypy_cache", b".ruff_cache",
    b".pytest_cache", b".gradle", b".idea", b".vs",
})  # fmt: skip

GITIGNORE = b".gitignore"
SAGEIGNORE = b".sageignore"
# Far above any real ignore file, and quick to compile.
MAX_IGNORE_BYTES = 256 * 1024
# All ignore files of a project together: parsing patterns takes a few seconds a megabyte.
MAX_IGNORE_BYTES_IN_ALL = 4 << 20

VENV_MARKER = b"pyvenv.cfg"
CACHE_MARKER = b"CACHEDIR.TAG"  # Cargo's target/, and every tool that follows bford.info/cachedir
CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


@dataclass(frozen=True, slots=True)
class DiscoverRules:
    """The user's settings of discovery. `extra_excludes` are gitignore patterns relative to the root; they overrule any
    `.sageignore`, because that file comes from the repository."""

    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    extra_excludes: tuple[str, ...] = ()
    include_generated: bool = False
    include_secrets: bool = False


DEFAULT_RULES = DiscoverRules()


def discover_rules(settings: Settings) -> DiscoverRules:
    """The rules of discovery in the settings."""
    return DiscoverRules(
        settings.max_file_bytes, tuple(settings.exclude), settings.include_generated, settings.include_secrets
    )
