"""Writes a new plugin of the user's own: a file that works as it is, and a test that passes.

Each hook comes with an example that does something small and harmless: other words in a search, tests further down, a
host name that is not shown.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.events.plugins import HOOKS
from sage_code.paths import sage_home

DEFAULT_HOOKS = ("pre_search",)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MAX_NAME = 64
# What a plugin must not be called: its test imports it by its name, before all other modules.
_TAKEN = frozenset({"tests", "sage_code", "sage_cli", "sage_mcp"}) | sys.stdlib_module_names

_TABLE_OF_WORDS = """# A word of a query, and words that are searched for with it.
WORDS = {"auth": "authentication login"}
"""
_TABLE_OF_TEXTS = """# A text, and what is shown instead.
SHOWN_AS = {"db7.internal.example": "[a database]"}
"""
_SHOWN = '''def _shown(value: Any) -> Any:
    """A value with every text in it as it is shown."""
    if isinstance(value, str):
        for text, instead in SHOWN_AS.items():
            value = value.replace(text, instead)
    elif isinstance(value, list):
        value = [_shown(item) for item in value]
    elif isinstance(value, dict):
        value = {key: _shown(item) for key, item in value.items()}
    return value
'''


@dataclass(frozen=True, slots=True)
class _Example:
    method: str
    test: str
    table: str = ""
    helper: str = ""


_EXAMPLES = {
    "pre_load": _Example(
        '''    def pre_load(self, layer: str, path: str) -> str | None:
        """Another path to load, inside of the same folder; None loads this one."""
        return None
''',
        """        self.assertIsNone(self.plugin.pre_load("core", "/project/.sage/core.md"))
""",
    ),
    "post_load": _Example(
        '''    def post_load(self, layer: str, content: str) -> str | None:
        """Another content; None keeps this one."""
        return str(_shown(content))
''',
        """        self.assertEqual(self.plugin.post_load("core", "on db7.internal.example"), "on [a database]")
""",
        _TABLE_OF_TEXTS,
        _SHOWN,
    ),
    "on_timeout": _Example(
        '''    def on_timeout(self, layer: str, elapsed_ms: int) -> str | None:
        """A content instead of the one that did not come in time; None leaves it out."""
        return f"({layer} took longer than {elapsed_ms} ms)"
''',
        """        self.assertEqual(self.plugin.on_timeout("core", 50), "(core took longer than 50 ms)")
""",
    ),
    "pre_search": _Example(
        '''    def pre_search(self, where: str, query: str, filters: dict[str, Any]) -> str | None:
        """Another query; None keeps this one."""
        added = [WORDS[word] for word in query.lower().split() if word in WORDS]
        return " ".join([query, *added]) if added else None
''',
        """        self.assertEqual(self.plugin.pre_search("code", "auth token", {}), "auth token authentication login")
        self.assertIsNone(self.plugin.pre_search("code", "token", {}))
""",
        _TABLE_OF_WORDS,
    ),
    "post_search": _Example(
        '''\
    def post_search(self, where: str, query: str, results: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """The results in another order, with other scores, fewer or more; None keeps these. Here tests go down."""
        for row in results:
            if "test" in row.get("file", ""):
                row["score"] *= 0.5
        return sorted(results, key=lambda row: -row["score"])
''',
        """        rows = [
            {"id": "a", "score": 0.8, "file": "tests/test_login.py"},
            {"id": "b", "score": 0.6, "file": "login.py"},
        ]
        self.assertEqual([row["id"] for row in self.plugin.post_search("code", "login", rows) or []], ["b", "a"])
""",
    ),
    "pre_format": _Example(
        '''    def pre_format(self, command: str, document: dict[str, Any]) -> dict[str, Any] | None:
        """The document with other values of the same types; None keeps it."""
        return {key: _shown(value) for key, value in document.items()}
''',
        """        found = self.plugin.pre_format("search", {"results": [{"snippet": "on db7.internal.example"}]})
        self.assertEqual(found, {"results": [{"snippet": "on [a database]"}]})
""",
        _TABLE_OF_TEXTS,
        _SHOWN,
    ),
    "post_format": _Example(
        '''    def post_format(self, command: str, text: str) -> str | None:
        """Another text; None keeps this one. A text of JSON must stay one."""
        return str(_shown(text))
''',
        """        self.assertEqual(self.plugin.post_format("search", "on db7.internal.example"), "on [a database]")
""",
        _TABLE_OF_TEXTS,
        _SHOWN,
    ),
}


@dataclass(frozen=True, slots=True)
class NewPlugin:
    """The files of a plugin that was written."""

    name: str
    path: str
    test_path: str
    hooks: tuple[str, ...]


def write(name: str, hooks: Sequence[str] = DEFAULT_HOOKS) -> NewPlugin:
    """Write a plugin and its test below `<home>/plugins/`; UsageError if there is one, which stays as it is."""
    from sage_code.files.private import make_private  # lazy: only `sage plugins new` writes

    name = name.replace("_", "-")
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or len(name) > _MAX_NAME or module in _TAKEN or keyword.iskeyword(module):
        raise UsageError(
            f"a plugin cannot be called {name[:80]!r}", "use small letters, digits and -, like `my-synonyms`"
        )
    if unknown := [hook for hook in hooks if hook not in HOOKS]:
        raise UsageError(f"there is no hook {unknown[0][:80]!r}", f"there are {', '.join(HOOKS)}")
    chosen = tuple(hook for hook in HOOKS if hook in hooks)
    folder = os.path.join(sage_home(), "plugins")
    path = os.path.join(folder, f"{module}.py")
    test_path = os.path.join(folder, "tests", f"test_{module}.py")
    for existing in (path, test_path):
        if os.path.lexists(existing):
            raise UsageError(f"{existing} is there already", "choose another name, or delete it first")
    make_private(os.path.dirname(test_path))
    _create(path, _plugin(name, chosen))
    _create(test_path, _test(module, chosen))
    return NewPlugin(name, path, test_path, chosen)


def _create(path: str, text: str) -> None:
    """Write a file that is new; never over another, also not over one that appears meanwhile."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _plugin(name: str, hooks: Sequence[str]) -> str:
    """The text of the plugin."""
    examples = [_EXAMPLES[hook] for hook in hooks]
    tables = "\n".join(dict.fromkeys(one.table for one in examples if one.table))
    helpers = "".join(f"\n\n{text}" for text in dict.fromkeys(one.helper for one in examples if one.helper))
    methods = "\n".join(one.method for one in examples)
    head = f'''"""A plugin of Sage. docs/PLUGINS.md says what each hook receives and may change.

Enable it with `sage plugins enable {name}`. A change of this file counts from the next call on.
"""

from __future__ import annotations

from typing import Any

from sage_code.events.plugins import PluginMetadata
'''
    class_ = f'''class Plugin:
    """What Sage calls."""

    metadata = PluginMetadata(
        name="{name}",
        version="0.1.0",
        description="What it does, in a sentence.",
        hooks={list(hooks)!r},
    )

'''.replace("'", '"')
    if "Any" not in tables + helpers + methods:
        head = head.replace("from typing import Any\n\n", "")
    return head + (f"\n{tables}" if tables else "") + "\n\n" + class_ + methods + helpers


def _test(module: str, hooks: Sequence[str]) -> str:
    """The text of its test, which needs nothing but Python and Sage."""
    tests = "\n".join(f"    def test_{hook}(self) -> None:\n{_EXAMPLES[hook].test}" for hook in hooks)
    return f'''"""The test of the plugin `{module}.py`: run this file with the Python that Sage is installed in."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from {module} import Plugin


class PluginTest(unittest.TestCase):
    def setUp(self) -> None:
        self.plugin = Plugin()

{tests}

if __name__ == "__main__":
    unittest.main()
'''
