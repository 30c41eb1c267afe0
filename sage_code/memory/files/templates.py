"""Lays out a checkpoint by a template in Jinja's sandbox: four built-in templates, and the user's own.

A user's template is a file in `~/.sage/templates/`. A project has none, because a template is a program. A template
sees only the checkpoint's fields, cannot reach into objects, and is stopped when it writes too much or takes too long.
The filters `title`, `prose` and `items` write a field so that it can be read back from the file.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import FrameType
from typing import TYPE_CHECKING, Any

from sage_code.errors import MemoryDamaged, SageError, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.checkpoint import Checkpoint, Contribution, Source, Tension
from sage_code.memory.files.checkpoint_text import write_contribution, write_source, write_tension
from sage_code.memory.files.homes import MemoryHome, safe_id
from sage_code.memory.files.sections import write_list, write_prose, write_title
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate
    from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = "templates"
_BUILT_IN_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layouts")
BUILT_IN = ("default", "research", "decision", "code-review")
MAX_OUTPUT_CHARS = 200_000
MAX_SECONDS = 1.0  # of processor time
_WAIT_SECONDS = 60.0
_MAX_TEMPLATE_CHARS = 50_000
_MAX_RANGE = 1_000
_MAX_NUMBER = 10**9  # bounds the work of one operation
_KEYS = frozenset({"name", "description", "required_fields", "optional_fields", "format"})


@dataclass(frozen=True, slots=True)
class Template:
    """A layout and the fields that it uses."""

    name: str
    description: str
    required_fields: tuple[str, ...]
    optional_fields: tuple[str, ...]
    format: str
    built_in: bool


class _TooMuchError(Exception):
    """The template took too long or wrote too much."""


def names() -> list[str]:
    """Every template, the built-in ones first; a user's template may replace a built-in one."""
    try:
        own = sorted(name[:-5] for name in os.listdir(_home().path(FOLDER)) if name.endswith(".yaml"))
    except OSError:
        own = []
    return [*BUILT_IN, *(name for name in own if name not in BUILT_IN and safe_id(name) == name)]


def load(name: str) -> Template:
    """The template of this name; MemoryDamaged if its file is not a valid template."""
    return _loaded(name)[0]


def source(name: str) -> str:
    """The text of a template's file, which must be valid."""
    return _loaded(name)[1]


def _loaded(name: str) -> tuple[Template, str]:
    """The template of this name and the text of its file."""
    safe = safe_id(name)
    try:
        text = _home().read(FOLDER, f"{safe}.yaml")
        return _parse(text, safe, _home().path(FOLDER, f"{safe}.yaml"), built_in=False), text
    except FileNotFoundError:
        pass
    if safe not in BUILT_IN:
        raise UsageError(f"there is no template {safe}", f"there are {', '.join(names())}")
    with open(os.path.join(_BUILT_IN_FOLDER, f"{safe}.yaml"), encoding="utf-8") as file:
        text = file.read()
    return _parse(text, safe, file.name, built_in=True), text


def render(template: Template, checkpoint: Checkpoint) -> str:
    """The body that the template makes of a checkpoint; UsageError if a required field is missing."""
    values = _values(template, checkpoint)
    missing = [name for name in template.required_fields if not values.get(name)]
    if missing:
        raise UsageError(f"the template {template.name} needs {', '.join(missing)}", "give them, or use another one")
    return "\n" + _bounded(template, values).strip("\n") + "\n"


def validate(name: str) -> Template:
    """Load a template and try it on a made-up checkpoint; an error says what is wrong with it."""
    template = load(name)
    others = {*template.required_fields, *template.optional_fields} - {each.name for each in fields(Checkpoint)}
    sample = Checkpoint(
        "sample", "2026-01-01T00:00:00Z", "A question?", "A thesis.", 0.5, key_evidence=("A fact",),
        reasoning_trace="Because.", open_questions=("What else?",), sources=(Source("a", "b", "c", "supports"),),
        tensions=(Tension(("a", "b"), "c", "d"),), unique_contributions=(Contribution("a", "b"),),
        action_goal="A goal", action_type="decision", skill="a-skill", project="a-project", parent="before",
        message_count=1, token_estimate=1, files_explored=frozenset({"a.py"}), files_changed=frozenset({"b.py"}),
        fields=dict.fromkeys(sorted(others), "A text."),
    )  # fmt: skip
    render(template, sample)
    return template


def _home() -> MemoryHome:
    return MemoryHome("user", sage_home(), "")


def _parse(text: str, name: str, where: str, *, built_in: bool) -> Template:
    """The template in a YAML text; MemoryDamaged if it is not valid."""
    data = frontmatter.load(text, where)
    unknown = data.keys() - _KEYS
    layout = data.get("format")
    if unknown or not isinstance(layout, str) or not layout.strip():
        what = f"has unknown keys: {', '.join(sorted(unknown))[:80]}" if unknown else "has no `format`"
        raise MemoryDamaged(f"{where} {what}", f"a template has {', '.join(sorted(_KEYS))}")
    if len(layout) > _MAX_TEMPLATE_CHARS:
        raise MemoryDamaged(f"{where} is longer than {_MAX_TEMPLATE_CHARS:,} characters", "shorten it")
    wanted = {}
    for key in ("required_fields", "optional_fields"):
        listed = data.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(one, str) and one.isidentifier() for one in listed):
            raise MemoryDamaged(f"{where}: {key} must be a list of names", "correct it by hand")
        wanted[key] = tuple(listed)
    return Template(name, str(data.get("description", "")), format=layout, built_in=built_in, **wanted)


def _values(template: Template, checkpoint: Checkpoint) -> dict[str, Any]:
    """What the template can see: texts, numbers and lists of texts, no objects."""
    values: dict[str, Any] = {name: checkpoint.fields.get(name, "") for name in template.optional_fields}
    values |= checkpoint.fields
    writers: Mapping[type, Callable[[Any], str]] = {
        Source: write_source,
        Tension: write_tension,
        Contribution: write_contribution,
    }
    for each in fields(checkpoint):
        value = getattr(checkpoint, each.name)
        if isinstance(value, tuple | frozenset):
            ordered: Iterable[Any] = sorted(value) if isinstance(value, frozenset) else value
            value = [writers[type(item)](item) if type(item) in writers else str(item) for item in ordered]
        if isinstance(value, str | int | float | list) and each.name not in ("fields", "notes", "code_refs"):
            values[each.name] = value
    return values


def _bounded(template: Template, values: Mapping[str, Any]) -> str:
    """Run the template in its own thread, which checks its processor time at every line."""
    outcome: list[str | BaseException] = []
    try:
        environment = _environment()
        _refuse_unsafe_nodes(environment, template.format)
        compiled = environment.from_string(template.format)
    except Exception as error:
        raise _refusal(template, error) from error

    def watch(_frame: FrameType, event: str, _argument: object) -> Any:
        # Processor time, not wall-clock time: a good template must not fail on a busy machine.
        if event in ("call", "line") and time.thread_time() > MAX_SECONDS:
            raise _TooMuchError(f"takes longer than {MAX_SECONDS:.0f} s")
        return watch

    def run() -> None:
        sys.settrace(watch)
        try:
            outcome.append(_write(compiled, values))
        except BaseException as error:  # raised again in the caller's thread
            outcome.append(error)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_WAIT_SECONDS)
    if not outcome:
        raise MemoryDamaged(f"the template {template.name} does not end", "correct it: `sage templates validate`")
    result = outcome[0]
    if isinstance(result, str):
        return result
    if isinstance(result, Exception):
        raise _refusal(template, result) from result
    raise result


def _refusal(template: Template, error: Exception) -> SageError:
    if isinstance(error, SageError):
        return error
    line = getattr(error, "lineno", None)
    problem = f"is wrong in line {line}" if line else "cannot be used"
    what = str(error)[:200] or type(error).__name__
    return MemoryDamaged(f"the template {template.name} {problem}: {what}", "correct it: `sage templates validate`")


def _write(compiled: JinjaTemplate, values: Mapping[str, Any]) -> str:
    parts: list[str] = []
    size = 0
    for part in compiled.generate(dict(values)):
        size += len(part)
        if size > MAX_OUTPUT_CHARS:
            raise _TooMuchError(f"writes more than {MAX_OUTPUT_CHARS:,} characters")
        parts.append(part)
    return "".join(parts)


def _refuse_unsafe_nodes(environment: ImmutableSandboxedEnvironment, text: str) -> None:
    """UsageError for syntax that can double a text at every step or include another file."""
    from jinja2 import nodes

    refused = (
        nodes.Concat, nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block, nodes.Macro,
        nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock, nodes.List, nodes.Dict,
    )  # fmt: skip
    tree = environment.parse(text)
    found = [*tree.find_all(refused)]
    # Attributes of values are refused: `text.format` alone can fill the memory.
    found += [node for node in tree.find_all(nodes.Getattr) if getattr(node.node, "name", "") != "loop"]
    found += [node for node in tree.find_all(nodes.Getitem) if not isinstance(getattr(node.arg, "value", None), int)]
    for node in found:
        what = f"{type(node).__name__.lower()} (line {node.lineno})"
        raise UsageError(f"a template may not use {what}", "use fields, filters, if and for")


def _environment() -> ImmutableSandboxedEnvironment:
    """A Jinja environment with bounded operators, a short list of filters and no globals but `range`."""
    from jinja2 import StrictUndefined  # lazy: 100 ms that most saves do not need
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """Jinja's sandbox without the operators that make large values from small ones (`*`, `%`, `**`)."""

        intercepted_binops = frozenset({"*", "**", "%", "/", "//", "+", "-"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            numbers = all(isinstance(one, int | float) and abs(one) < _MAX_NUMBER for one in (left, right))
            texts = operator == "+" and isinstance(left, str) and isinstance(right, str)
            if operator == "**" or not (numbers or (texts and len(left) + len(right) <= MAX_OUTPUT_CHARS)):
                raise UsageError(f"a template may not use {operator} here", "write the text as it is")
            return super().call_binop(context, operator, left, right)

    environment = Sandbox(
        trim_blocks=True, lstrip_blocks=True, autoescape=False, keep_trailing_newline=True, undefined=StrictUndefined
    )
    kept = ("default", "d", "upper", "lower", "capitalize", "trim", "length", "count", "int", "first", "last", "sort")
    environment.filters = {name: environment.filters[name] for name in (*kept, "unique", "list", "string", "reverse")}
    environment.filters |= {
        "title": lambda text: write_title(str(text)),
        "prose": _prose,
        "items": _items,
        "join": _join,
        "truncate": _truncate,
    }
    environment.filters["round"] = lambda number: round(float(number))
    environment.globals = {"range": _range}
    return environment


def _prose(text: object) -> str:
    return write_prose("\n".join(map(str, text)) if isinstance(text, list) else str(text))


def _items(values: object) -> str:
    return write_list(map(str, values)) if isinstance(values, list | tuple) else write_list([str(values)])


def _join(values: object, between: str = ", ") -> str:
    texts = list(map(str, values)) if isinstance(values, list | tuple) else [str(values)]
    if sum(map(len, texts)) + len(texts) * len(str(between)) > MAX_OUTPUT_CHARS:
        raise _TooMuchError(f"writes more than {MAX_OUTPUT_CHARS:,} characters")
    return str(between).join(texts)


def _truncate(text: object, length: int = 255) -> str:
    shown = str(text)
    return shown if len(shown) <= length else re.sub(r"\s+\S*$", "", shown[: max(int(length), 0)]) + " …"


def _range(*given: int) -> range:
    numbers = range(*given)
    if len(numbers) > _MAX_RANGE:
        raise UsageError(f"a template may count to {_MAX_RANGE:,} at most", "use fewer")
    return numbers
