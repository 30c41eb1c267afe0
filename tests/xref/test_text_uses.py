"""Uses that are no plain calls are found in every main language, at the line of the name; comments and strings never.

Each line that must be listed for a name ends with a comment that says so: `+name` for one that is listed by default,
`?name` for one that is listed at confidence 0 only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.xref.answers import Usage

FILES = {
    "py/thing.py": '''\
class PyThing:
    py_limit = 3

    def py_spin(self):
        return self.py_limit  # +py_limit


def py_handler(event):
    """Not py_handler, and not py_limit."""
    return event


def py_wrap(inner):
    return inner
''',
    "py/use.py": """\
from thing import (
    PyThing,  # +PyThing
    py_handler,  # +py_handler
    py_wrap,  # +py_wrap
)

TABLE = {"py_handler": py_handler}  # +py_handler


def all_of(xs, make: PyThing) -> "list[int]":  # +PyThing
    things = [make]
    list(map(make.py_spin, xs))  # +py_spin
    return [one.py_limit for one in things]  # +py_limit


@py_wrap  # +py_wrap
def shadow(py_handler):  # ?py_handler
    print("py_handler")
    # py_handler
    return py_handler, f"{py_handler}"  # ?py_handler


def keywords(f):
    f(py_handler=1)  # ?py_handler
    return (py_handler if f else None)  # +py_handler
""",
    "ts/thing.ts": """\
export class TsThing {
    tsLimit = 3;
    tsSpin(): number { return this.tsLimit; } // +tsLimit
}
export function tsHandler(e: number): number { return e; }
export interface TsShape { size: number }
""",
    "ts/use.ts": """\
import {
    TsThing, // +TsThing
    tsHandler, // +tsHandler
} from "./thing";
import type { TsShape } from "./thing"; // +TsShape

const table = { on: tsHandler, "tsHandler": 1 }; // +tsHandler
export function run(xs: number[], thing: TsThing, shape: Partial<TsShape>) { // +TsThing +TsShape
    const text = `tsHandler ${xs.map(tsHandler)}`; // +tsHandler
    return xs.map(thing.tsSpin) || thing.tsLimit; // +tsSpin +tsLimit
}
""",
    "js/thing.js": """\
function jsHandler(e) { return e; }
class JsThing { jsSpin() { return 1; } }
module.exports = { jsHandler, JsThing }; // +jsHandler +JsThing
""",
    "js/use.js": """\
const { jsHandler, JsThing } = require("./thing"); // +jsHandler +JsThing
// jsHandler in a comment
const handlers = [jsHandler]; // +jsHandler
export function run(xs, jsThing) {
    const text = 'jsHandler';
    if (xs instanceof JsThing) return jsHandler ?? text; // +JsThing +jsHandler
    return xs.map(jsThing.jsSpin); // +jsSpin
}
""",
    "go/thing.go": """\
package thing

type GoThing struct {
	GoLimit int
}

func (t *GoThing) GoSpin() int { return t.GoLimit } // +GoLimit +GoThing

func goHandler(e int) int { return e }
""",
    "go/use.go": """\
package thing

// goHandler in a comment
var table = map[string]func(int) int{"goHandler": goHandler} // +goHandler

func run(t *GoThing, xs []GoThing) []func() int { // +GoThing
	spin := t.GoSpin // +GoSpin
	other := GoThing{GoLimit: 1} // +GoThing ?GoLimit
	defer func() { _ = other.GoLimit }() // +GoLimit
	return []func() int{spin, other.GoSpin} // +GoSpin
}
""",
    "rust/thing.rs": """\
pub struct RsThing {
    pub rs_limit: u32,
}

impl RsThing { // +RsThing
    pub fn rs_spin(&self) -> u32 { self.rs_limit } // +rs_limit
}

pub fn rs_handler(e: u32) -> u32 { e }
""",
    "rust/use.rs": """\
use crate::thing::{rs_handler, RsThing}; // +rs_handler +RsThing

/// rs_handler in a comment
pub fn run(xs: Vec<RsThing>) -> Option<RsThing> { // +RsThing
    let handler: fn(u32) -> u32 = rs_handler; // +rs_handler
    println!("rs_handler {}", rs_handler(1)); // +rs_handler
    assert_eq!(xs.iter().map(RsThing::rs_spin).sum::<u32>(), 1); // +RsThing +rs_spin
    let made = RsThing { rs_limit: handler(2) }; // +RsThing ?rs_limit
    Some(made)
}
""",
    "java/JavaThing.java": """\
package p;

public class JavaThing {
    static final int JAVA_LIMIT = 3;
    int javaSpin() { return JAVA_LIMIT; } // +JAVA_LIMIT
    static int javaHandler(int e) { return e; }
}
""",
    "java/JavaUse.java": """\
package p;

/** JavaThing in a comment */
public class JavaUse {
    private java.util.List<JavaThing> things; // +JavaThing
    int run(JavaThing thing) throws Exception { // +JavaThing
        Object type = JavaThing.class; // +JavaThing
        things.stream().map(JavaThing::javaSpin); // +JavaThing +javaSpin
        if (type instanceof JavaThing) return JavaThing.JAVA_LIMIT; // +JavaThing +JAVA_LIMIT
        return "JavaThing".length();
    }
}
""",
    "ruby/thing.rb": """\
class RubyThing
  RUBY_LIMIT = 3

  def ruby_spin
    RUBY_LIMIT # +RUBY_LIMIT
  end

  def ruby_handler(event)
    [event].each(&method(:ruby_spin)) # +ruby_spin
    "ruby_handler"
  end
end
""",
    "ruby/use.rb": """\
require_relative "thing"

# RubyThing in a comment
class RubyUse < RubyThing # +RubyThing
  before_action :ruby_handler # +ruby_handler
  KINDS = [RubyThing].freeze # +RubyThing

  def run(things)
    things.map(&:ruby_spin) # +ruby_spin
    rescue_with(RubyThing, "#{RubyThing::RUBY_LIMIT}") # +RubyThing +RUBY_LIMIT
  end
end
""",
    "php/Thing.php": """\
<?php
class PhpThing
{
    const PHP_LIMIT = 3;
    public $phpSize = 1;
    public function phpSpin() { return $this->phpSize; } // +phpSize
}
function php_handler($e) { return $e; }
""",
    "php/use.php": """\
<?php
// PhpThing in a comment
function run(PhpThing $thing, array $xs): ?PhpThing // +PhpThing
{
    if ($thing instanceof PhpThing) { // +PhpThing
        echo PhpThing::class, 'PhpThing', PhpThing::PHP_LIMIT; // +PhpThing +PHP_LIMIT
    }
    $spin = $thing->phpSpin(...); // +phpSpin
    $handler = php_handler(...); // +php_handler
    $thing->phpSize = 2; // +phpSize
    return $thing;
}
""",
    "c/thing.h": """\
struct c_thing { int c_limit; };
int c_handler(int e); // +c_handler
#define C_TWICE(x) (2 * c_handler(x)) // +c_handler
""",
    "c/thing.c": """\
#include "thing.h"
/* c_handler in a comment */
int c_handler(int e) { return e; }
""",
    "c/use.c": """\
#include "thing.h"
static int (*handlers[])(int) = { c_handler, &c_handler }; // +c_handler
int run(struct c_thing *thing) { // +c_thing
    int (*one)(int) = thing ? c_handler : 0; // +c_handler
    const char *text = "c_handler";
    return thing->c_limit + sizeof(struct c_thing) + one(1) + text[0]; // +c_limit +c_thing
}
""",
    "cpp/thing.hpp": """\
#include <vector>
class CppThing {
  public:
    int cppSpin() const { return 1; }
    static const int kCppLimit = 3;
};
inline int cppHandler(int e) { return e; }
""",
    "cpp/use.cpp": """\
#include "thing.hpp"
// CppThing in a comment
std::vector<CppThing> all; // +CppThing
int run(const CppThing& thing, const char* text = "CppThing") { // +CppThing
    auto spin = &CppThing::cppSpin; // +CppThing +cppSpin
    auto handler = cppHandler; // +cppHandler
    std::transform(all.begin(), all.end(), cppHandler); // +cppHandler
    return static_cast<const CppThing&>(thing).cppSpin() + CppThing::kCppLimit; // +CppThing +cppSpin +kCppLimit
}
""",
    "cs/Thing.cs": """\
namespace P;
public class CsThing {
    public const int CsLimit = 3;
    public int CsSpin(int x) { return CsLimit; } // +CsLimit
    public static int CsHandler(int e) { return e; }
}
""",
    "cs/Use.cs": """\
namespace P;
// CsThing in a comment
public class CsUse {
    private List<CsThing> things; // +CsThing
    public int Run(CsThing thing, int[] xs) { // +CsThing
        xs.Select(thing.CsSpin).ToList(); // +CsSpin
        xs.Select(CsThing.CsHandler); // +CsThing +CsHandler
        var name = nameof(CsThing) + "CsThing" + $"{CsThing.CsLimit}"; // +CsThing +CsLimit
        return thing is CsThing other ? 1 : typeof(CsThing).Name.Length; // +CsThing
    }
}
""",
    "kt/Thing.kt": """\
package p

class KtThing(val ktLimit: Int) {
    fun ktSpin(): Int = ktLimit // +ktLimit
}
fun ktHandler(e: Int): Int = e
""",
    "kt/Use.kt": """\
package p

// KtThing in a comment
fun run(xs: List<KtThing>, thing: KtThing): KtThing? { // +KtThing
    val all: Map<String, KtThing> = emptyMap() // +KtThing
    xs.map(KtThing::ktSpin) // +KtThing +ktSpin
    listOf(1).map(::ktHandler) // +ktHandler
    val text = "KtThing ${thing.ktLimit}" // +ktLimit
    return all[text] as? KtThing // +KtThing
}
""",
}
_MARK = re.compile(r"([+?])(\w+)")
LANGUAGES = sorted({path.partition("/")[0] for path in FILES})


def marked(folder: str) -> dict[str, dict[tuple[str, int], bool]]:
    """By name, the lines that must be listed, and whether by default."""
    found: dict[str, dict[tuple[str, int], bool]] = {}
    for path, text in FILES.items():
        for number, line in enumerate(text.splitlines(), 1):
            _, sign, comment = line.rpartition("# " if path.endswith((".py", ".rb")) else "// ")
            for certain, name in _MARK.findall(comment) if sign and path.startswith(f"{folder}/") else ():
                found.setdefault(name, {})[path, number] = certain == "+"
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Path:
    """All files; indexed by the first test, with the home of this module."""
    root = tmp_path_factory.mktemp("uses")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def opened(project: Path) -> Project:
    """The indexed project."""
    found = Project.open(project)
    found.index()
    return found


@pytest.mark.parametrize("folder", LANGUAGES)
def test_every_use_is_listed_at_its_line_and_nothing_else(opened: Project, folder: str) -> None:
    wrong = []
    for name, wanted in marked(folder).items():
        everything = opened.related(name, "references", min_confidence=0.0, seconds=math.inf)
        listed = {(use.file, use.line) for use in everything.uses}
        by_default = {
            (use.file, use.line) for use in opened.related(name, "references", seconds=math.inf).uses
        } & wanted.keys()
        wrong += [f"{name} not listed: {file}:{line}" for file, line in sorted(wanted.keys() - listed)]
        wrong += [f"{name} listed: {file}:{line}" for file, line in sorted(listed - wanted.keys())]
        certain = {place for place, is_certain in wanted.items() if is_certain}
        wrong += [f"{name} not certain: {file}:{line}" for file, line in sorted(certain - by_default)]
        wrong += [f"{name} certain: {file}:{line}" for file, line in sorted(by_default - certain)]
    assert not wrong, "\n".join(wrong)


def test_a_name_in_a_long_import_is_at_its_own_line_and_listed_once(opened: Project) -> None:
    found = [use for use in opened.related("py_wrap", "references").uses if use.kind == "import"]  # type: ignore[union-attr]
    assert [(use.file, use.line) for use in found] == [("py/use.py", 4)]


def test_callers_call_or_hand_on_and_say_which(opened: Project) -> None:
    found = {(use.scope, use.kind) for use in opened.related("py_spin", "callers").uses}  # type: ignore[union-attr]
    assert found == {("all_of", "value")}
    # Calls in the arguments of a macro are calls.
    calls = opened.related("rs_handler", "callers").uses
    assert [(use.file, use.line, use.kind) for use in calls] == [("rust/use.rs", 6, "call")]  # type: ignore[union-attr]


def test_what_is_left_out_is_counted_and_said(
    opened: Project, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(opened.root)
    found = opened.related("py_handler", "references")
    everything = opened.related("py_handler", "references", min_confidence=0.0)
    places = {(use.file, use.line) for use in everything.uses}
    assert found.left_out.below_confidence == len(places - {(use.file, use.line) for use in found.uses}) == 3
    assert everything.left_out.below_confidence == 0
    assert {use.why for use in everything.uses if use.confidence < 0.4} == {"local name", "same name"}
    said = sage("refs", "py_handler")
    assert "... and 3 less certain; --min-confidence 0 shows all" in said.err
    assert (
        '"left_out": {"below_confidence": 3, "definitions": 0, "files": 0}' in sage("refs", "py_handler", "--json").out
    )
    assert sage("refs", "py_handler", "--min-confidence", "0").err == ""


def test_without_time_the_files_that_were_not_read_are_counted(
    opened: Project, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = opened.related("py_handler", "references", seconds=0.0)
    assert (hasty.is_complete, hasty.left_out.files, hasty.left_out.definitions) == (False, 2, 1)
    monkeypatch.chdir(opened.root)
    said = sage("refs", "py_handler", "--seconds", "0.000001").err
    assert "the time was over before 1 definition and 2 files with the name were looked at" in said


def test_a_file_that_changed_since_is_told_by_its_stored_references_alone(project: Path, opened: Project) -> None:
    before = (project / "go/use.go").read_text()
    (project / "go/use.go").write_text("\n\n\n" + before)
    try:
        found = opened.related("GoSpin", "references", min_confidence=0.0, refresh=False).uses
        assert all(isinstance(use, Usage) and use.file != "go/use.go" for use in found)
    finally:
        (project / "go/use.go").write_text(before)
