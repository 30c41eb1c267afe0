"""Templates lay a checkpoint out, lose nothing of it, and reach nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sage_code.errors import MemoryDamaged, SageError, UsageError
from sage_code.memory.files import templates
from sage_code.memory.files.checkpoint import Checkpoint, Contribution, Source, Tension
from sage_code.memory.files.checkpoint_text import from_markdown, to_markdown
from sage_code.memory.files.templates import Template

FULL = Checkpoint(
    id="x",
    ts="2026-01-16T12:00:00Z",
    core_question="Which\nqueue?",
    thesis="Kafka.\n\n# really\n",
    confidence=0.6,
    key_evidence=("fact\nmore", ""),
    reasoning_trace="\nlong",
    open_questions=("?",),
    sources=(Source("a*b", "doc", "says — _so_", "supports"),),
    tensions=(Tension(("a", "b"), "speed"),),
    unique_contributions=(Contribution("test", "ran"),),
    files_changed=frozenset({"b.py", "a.py"}),
    fields={"options": "Kafka\n# or Rabbit", "unknown": "kept"},
)


@pytest.mark.parametrize("name", templates.BUILT_IN)
def test_built_in_templates_are_valid_and_lose_nothing(name: str) -> None:
    template = templates.validate(name)
    assert template.built_in
    assert template.description
    checkpoint = Checkpoint(**{**_values(FULL), "template": name})
    text = to_markdown(checkpoint, templates.render(template, checkpoint))
    assert from_markdown(text, "here", "x") == checkpoint


def test_a_layout_that_can_be_read_back_is_written_once() -> None:
    simple = Checkpoint("x", "", "Q", "T", key_evidence=("E",))
    for name in templates.BUILT_IN[1:]:
        text = to_markdown(simple, templates.render(templates.load(name), simple))
        assert "fields:" not in text, name


def test_the_default_template_gives_the_body_without_a_template() -> None:
    body = templates.render(templates.load("default"), FULL)
    assert from_markdown(body, "here", "x").sources == FULL.sources
    assert to_markdown(FULL, body).replace("\n\n", "\n") == to_markdown(FULL).replace("\n\n", "\n")


def test_user_templates(sage_home: Path) -> None:
    folder = sage_home / "templates"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "name: mine\ndescription: For X\nrequired_fields: [core_question, thesis]\noptional_fields: [custom_field]\n"
        "format: |\n  # {{ core_question }}\n\n  ## Thesis\n  {{ thesis }}\n  {% if custom_field %}\n"
        "  ## Custom Section\n  {{ custom_field }}\n  {% endif %}\n"
    )
    (folder / "bad name!.yaml").write_text("format: x")
    assert templates.names() == [*templates.BUILT_IN, "mine"]
    template = templates.validate("mine")
    body = templates.render(template, Checkpoint("x", "", "Q", "T", fields={"custom_field": "C"}))
    assert body == "\n# Q\n\n## Thesis\nT\n## Custom Section\nC\n"
    assert "Custom" not in templates.render(template, Checkpoint("x", "", "Q", "T"))
    with pytest.raises(UsageError, match="needs thesis"):
        templates.render(template, Checkpoint("x", "", "Q", ""))
    with pytest.raises(UsageError, match="there is no template nosuch"):
        templates.load("../../nosuch")
    for text, complaint in (
        ("format: x\nevil: 1", "unknown keys"),
        ("name: x", "no `format`"),
        ("a: &a [*a]", "anchor"),
    ):
        (folder / "bad.yaml").write_text(text)
        with pytest.raises(MemoryDamaged, match=complaint):
            templates.load("bad")


LOOP, END = "{% for i in range(1000) %}", "{% endfor %}"


@pytest.mark.parametrize(
    "layout",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ thesis.__class__ }}",
        "{{ thesis.format(x=1) }}",
        "{{ '{:1000000000}'['format'](1) }}",
        "{{ loop.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ lipsum.__globals__ }}",
        "{{ joiner }}{{ namespace() }}",
        "{{ thesis | attr('__class__') }}",
        "{{ ['__class__'] | map(attribute='x') | list }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% for i in range(10000000) %}x{% endfor %}",
        f"{LOOP * 3}x{END * 3}",
        f"{LOOP * 3}{END * 3}",
        "{{ 'x' * 1000000000 }}",
        "{{ 2 ** 100000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 1 << 10000000000 }}",
        "{{ 'x' | center(100000000) }}",
        "{{ thesis | format('x') }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set x = 'aaaaaaaa' %}" + "{% set x = x ~ x %}" * 50 + "{{ x }}",
        "{% set x = 'aaaaaaaa' %}" + "{% set x = x + x %}" * 50 + "{{ x }}",
        "{% set x = 'aaaaaaaa' %}" + "{% set x = x | list | join(x) %}" * 50 + "{{ x }}",
        "{% set x = 'a' %}" + "{% set x = [x, x] %}" * 50 + "{{ x }}",
        "{% set x = 'a' %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 50 + "{{ x }}",
        "{{ 1.5 | round(1000000000, 'ceil') }}",
        "{{ undefined_function() }}",
        "{% broken",
    ],
    ids=lambda layout: layout[:24] + str(len(layout)),
)
def test_a_hostile_template_is_refused_or_stopped(layout: str) -> None:
    started = time.monotonic()
    with pytest.raises(SageError) as refused:
        print(templates.render(Template("evil", "", (), (), layout, False), FULL))
    assert "evil" in refused.value.message or "template" in refused.value.message
    assert time.monotonic() - started < 30


def test_template_syntax_in_a_field_is_not_executed() -> None:
    sly = Checkpoint("x", "", "{{ 7 * 7 }}", "{% for i in range(9) %}x{% endfor %}", fields={"options": "{{ 1 }}"})
    body = templates.render(templates.load("decision"), sly)
    assert "{{ 7 * 7 }}" in body
    assert "{% for i in range(9) %}x{% endfor %}" in body
    assert "{{ 1 }}" in body


def _values(checkpoint: Checkpoint) -> dict[str, object]:
    return {name: getattr(checkpoint, name) for name in Checkpoint.__dataclass_fields__}
