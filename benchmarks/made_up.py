"""Made-up projects for benchmarks: files in several languages that look like code, and a day's edits to them.

Everything comes from one `random.Random`, so a seed names a project and its whole history. Every file names its
revision three times, as a function, a class and a constant, so that a reader of an index can check that all of it is
from one moment.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from string import Template

_VERBS = ("load", "parse", "merge", "render", "resolve", "validate", "encode", "route", "commit", "replay", "schedule")
_NOUNS = ("order", "invoice", "session", "token", "packet", "ledger", "cursor", "branch", "widget", "tensor", "shard")


@dataclass(frozen=True, slots=True)
class _Language:
    suffix: str
    head: Template  # of a file, with its revision
    definition: Template


_PYTHON = _Language(
    ".py",
    Template('''"""Handles $noun data."""

from __future__ import annotations

REVISION_$rev = $rev


class Revision$rev:
    pass


def revision_$rev() -> int:
    return $rev


'''),
    Template('''def ${verb}_${noun}_$n(items: list[str], limit: int = $m) -> dict[str, int]:
    """$Verb every $noun that is worth it, up to a limit."""
    found: dict[str, int] = {}
    for position, item in enumerate(items):
        if not item.startswith("$noun$m") or position > limit:
            continue
        found[item.strip()] = position * $m + len(found)
    return found


'''),
)
_TYPESCRIPT = _Language(
    ".ts",
    Template("""// Handles $noun data.
export const REVISION_$rev = $rev;

export class Revision$rev {}

export function revision_$rev(): number {
  return $rev;
}

"""),
    Template("""/** $Verb every $noun that is worth it, up to a limit. */
export function $verb$Noun$n(items: string[], limit = $m): Map<string, number> {
  const found = new Map<string, number>();
  items.forEach((item, position) => {
    if (!item.startsWith("$noun$m") || position > limit) return;
    found.set(item.trim(), position * $m + found.size);
  });
  return found;
}

"""),
)
_GO = _Language(
    ".go",
    Template("""// Package $noun handles $noun data.
package $noun

const REVISION_$rev = $rev

type Revision$rev struct{}

func revision_$rev() int {
	return $rev
}

"""),
    Template("""// $Verb$Noun$n works on every $noun that is worth it, up to a limit.
func $Verb$Noun$n(items []string, limit int) map[string]int {
	found := map[string]int{}
	for position, item := range items {
		if !strings.HasPrefix(item, "$noun$m") || position > limit {
			continue
		}
		found[strings.TrimSpace(item)] = position*$m + len(found)
	}
	return found
}

"""),
)
_RUST = _Language(
    ".rs",
    Template("""//! Handles $noun data.
pub const REVISION_$rev: u32 = $rev;

pub struct Revision$rev;

pub fn revision_$rev() -> u32 {
    $rev
}

"""),
    Template("""/// $Verb every $noun that is worth it, up to a limit.
pub fn ${verb}_${noun}_$n(items: &[String], limit: usize) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    for (position, item) in items.iter().enumerate() {
        if !item.starts_with("$noun$m") || position > limit {
            continue;
        }
        found.insert(item.trim().to_string(), position * $m + found.len());
    }
    found
}

"""),
)
_LANGUAGES = {language.suffix: language for language in (_PYTHON, _TYPESCRIPT, _GO, _RUST)}
_REVISION = re.compile(r"(?i)(revision_?)\d+")


@dataclass(frozen=True, slots=True)
class Edits:
    """How many files were touched in which way."""

    changed: int
    added: int
    removed: int
    renamed: int


class Project:
    """A folder of made-up files with a history."""

    def __init__(self, root: Path, rng: Random, files: int, definitions: int = 30) -> None:
        self.root, self._rng, self._definitions = root, rng, definitions
        self._made = 0
        self.files: list[Path] = []
        for _ in range(files):
            self._add()

    def edit(self, most: int = 12) -> Edits:
        """Change, add, remove and rename a few files each."""
        counts = Edits(*(self._rng.randint(0, most) for _ in range(4)))
        for _ in range(counts.changed + 1):
            self.touch(self._rng.choice(self.files))
        for _ in range(counts.added):
            self._add()
        for _ in range(min(counts.removed, len(self.files) // 2)):
            self._pick().unlink()
        for _ in range(counts.renamed):
            old = self._pick()
            self.files.append(old.rename(self._path(old.suffix)))
        return counts

    def touch(self, path: Path) -> None:
        """A new revision of one file with one more definition, written atomically, as editors do."""
        self._made += 1
        text = _REVISION.sub(rf"\g<1>{self._made}", path.read_text())
        self._write(path, text + self._definition(_LANGUAGES[path.suffix]))

    def _add(self) -> None:
        language = self._rng.choice(list(_LANGUAGES.values()))
        path = self._path(language.suffix)
        head = language.head.substitute(noun=path.parent.name, rev=self._made)
        self._write(path, head + "".join(self._definition(language) for _ in range(self._definitions)))
        self.files.append(path)

    def _path(self, suffix: str) -> Path:
        self._made += 1
        folder = self.root / self._rng.choice(_NOUNS)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._rng.choice(_VERBS)}_{self._made}{suffix}"

    def _pick(self) -> Path:
        return self.files.pop(self._rng.randrange(len(self.files)))

    def _definition(self, language: _Language) -> str:
        self._made += 1
        verb, noun = self._rng.choice(_VERBS), self._rng.choice(_NOUNS)
        names = {"verb": verb, "noun": noun, "Verb": verb.title(), "Noun": noun.title()}
        return language.definition.substitute(names, n=self._made, m=self._rng.randint(2, 999))

    def _write(self, path: Path, text: str) -> None:
        draft = path.with_name(f".{path.name}.draft~")
        draft.write_text(text)
        os.replace(draft, path)
