"""A checkpoint's file says what the checkpoint says, to the last character, and reads well in any viewer."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.errors import MemoryDamaged
from sage_code.memory.files.checkpoint import Checkpoint, Contribution, Source, Tension
from sage_code.memory.files.checkpoint_text import from_markdown, to_markdown
from sage_code.memory.files.code_ref import CodeRef

NASTY = [
    "# heading", "## Thesis", "##", "#", "\\# escaped", "\\", "\\\\", "---", "- item", "  indented", "", " ", "\t",
    "**bold** (x): y — _z_", "a — _b_", "key: value", "...", "%YAML", "{{ x }}", "\u2028", "\x85", "\r", "é\U0001f600",
    "## Sources\n- **a** (b): c", "\n\n# x\n\n", "**a** vs **b**: c", "\x00\x1b[31m", "\ufeff", "null", "*", "_", "()",
]  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(NASTY) | st.text(max_size=6), max_size=6).map("\n".join),
    st.lists(st.sampled_from(NASTY), max_size=4).map("".join),
)
LIST = st.lists(TEXT, max_size=3).map(tuple)
PATHS = st.frozensets(st.from_regex(r"[a-zä]{1,4}(/[a-z ]{0,3}[a-z])?\.py", fullmatch=True), max_size=3)
REFS = st.builds(
    CodeRef,
    file=st.sampled_from(["a.py", "src/b.go"]),
    lines=st.none() | st.tuples(st.integers(1, 50), st.integers(50, 90)),
    snippet=st.none() | st.sampled_from(["def f():\n    pass", "x: 1\n# y\n---"]),
    relevance=st.sampled_from(["supports", "context"]),
    symbol=st.sampled_from(["", "A.run"]),
    content_hash=st.sampled_from(["", "abc"]),
)
CHECKPOINTS = st.builds(
    Checkpoint,
    id=st.just("2026-01-16T12-00-00_x"),
    ts=st.just("2026-01-16T12:00:00Z"),
    core_question=TEXT,
    thesis=TEXT,
    confidence=st.floats(0, 1),
    trigger=st.sampled_from(["manual", "synthesis"]),
    key_evidence=LIST,
    reasoning_trace=TEXT,
    open_questions=LIST,
    sources=st.lists(st.builds(Source, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    tensions=st.lists(
        st.builds(Tension, st.lists(TEXT, min_size=1, max_size=3).map(tuple), TEXT, TEXT), max_size=2
    ).map(tuple),
    unique_contributions=st.lists(st.builds(Contribution, TEXT, TEXT), max_size=2).map(tuple),
    action_goal=TEXT,
    action_type=st.sampled_from(["", "decision"]),
    skill=TEXT,
    project=TEXT,
    parent=st.sampled_from(["", "2026-01-15T00-00-00_y"]),
    message_count=st.integers(0, 1000),
    token_estimate=st.integers(0, 10**7),
    files_explored=PATHS,
    files_changed=PATHS,
    code_refs=st.lists(REFS, max_size=2).map(tuple),
    fields=st.dictionaries(st.sampled_from(["options", "risk"]), TEXT.filter(bool), max_size=2),
    notes=st.lists(st.tuples(st.sampled_from(["My notes", "Später"]), TEXT.filter(str.strip)), max_size=2).map(tuple),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHECKPOINTS)
def test_a_written_memory_is_read_back_unchanged(checkpoint: Checkpoint) -> None:
    text = to_markdown(checkpoint)
    assert from_markdown(text.encode().decode(), "here", checkpoint.id) == checkpoint


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHECKPOINTS, TEXT)
def test_no_layout_loses_a_field(checkpoint: Checkpoint, body: str) -> None:
    checkpoint = replace(checkpoint, notes=(), template="own")
    text = to_markdown(checkpoint, body=body)
    read = from_markdown(text, "here", checkpoint.id)
    for name in Checkpoint.__dataclass_fields__:
        if getattr(checkpoint, name):
            assert getattr(read, name) == getattr(checkpoint, name)


def test_the_file_reads_as_people_expect() -> None:
    checkpoint = Checkpoint(
        id="2026-01-16T12-00-00_jwt",
        ts="2026-01-16T12:00:00Z",
        core_question="How do we sign tokens?",
        thesis="With rotating keys.\n\n# not a heading",
        confidence=0.85,
        trigger="synthesis",
        key_evidence=("The library rotates",),
        sources=(Source("rfc7519", "spec", "Defines it", "supports"),),
        tensions=(Tension(("rfc7519", "blog"), "on expiry", "the RFC wins"),),
        unique_contributions=(Contribution("experiment", "ran it"),),
    )
    assert to_markdown(checkpoint) == (
        "---\nid: 2026-01-16T12-00-00_jwt\ntype: checkpoint\nts: '2026-01-16T12:00:00Z'\ntrigger: synthesis\n"
        "confidence: 0.85\n---\n\n# How do we sign tokens?\n\n## Thesis\nWith rotating keys.\n\n\\# not a heading\n\n"
        "## Key Evidence\n- The library rotates\n\n## Sources\n- **rfc7519** (spec): Defines it — _supports_\n\n"
        "## Tensions\n- **rfc7519** vs **blog**: on expiry — _the RFC wins_\n\n"
        "## Unique Contributions\n- **experiment**: ran it\n"
    )


def test_a_file_written_by_hand_is_understood() -> None:
    text = (
        "---\r\nconfidence: 0.5\r\n---\r\n\r\n# Why?\r\n\r\n## thesis\r\n\r\nBecause.\r\n\r\n## Open Questions\r\n\r\n"
        "* one\r\n\r\n  goes on\r\n* two\r\nthree\r\n\r\n## Notes\r\n\r\nmine\r\n"
    )
    read = from_markdown(text, "here", "x")
    assert (read.core_question, read.thesis, read.confidence) == ("Why?", "Because.", 0.5)
    assert read.open_questions == ("one\n\ngoes on", "two", "three")
    assert read.notes == (("Notes", "mine"),)
    assert from_markdown(to_markdown(read), "here", "x") == read


def test_a_file_without_frontmatter_is_read() -> None:
    assert from_markdown("# Q\n\n## Thesis\nT", "here", "x") == Checkpoint("x", "", "Q", "T")


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ("a: &x [1]\nb: [*x, *x]", "anchor or an alias"),
        ("a: !!python/object/apply:os.system ['id']", "tag"),
        ("%YAML 1.1\n--- \na: 1", "second document|directive|not valid"),
        ("a: " + "[" * 4000, "nested too deeply"),
        ("confidence: high", "could not convert"),
        ("message_count: 1e3", "invalid literal"),
        ("type: knowledge", "is no checkpoint"),
        ("- a\n- b", "key: value"),
        ("code_refs: [{file: ../../etc/passwd}]", "no path inside the project"),
        ("code_refs: [{file: a.py, lines: [9, 1]}]", "lines"),
        ("fields: 3", "must hold"),
        ("a: '" + "x" * 600_000 + "'", "512 KB"),
        ("a: [b", "not valid YAML"),
        ("a: \x01", "forbids|not valid"),
    ],
    ids=lambda value: value[:24],
)
def test_hostile_frontmatter_is_refused(head: str, complaint: str) -> None:
    with pytest.raises(MemoryDamaged, match=complaint):
        from_markdown(f"---\n{head}\n---\n# Q\n", "here.md", "x")


def test_a_bomb_of_aliases_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(MemoryDamaged):
        from_markdown("---\n" + "\n".join(lines) + "\n---\n", "here.md", "x")


@pytest.mark.parametrize("heading", ["Thesis", "Sources", "Tensions", "Unique Contributions", "Key Evidence"])
@pytest.mark.parametrize(
    "piece",
    ["**a** vs ", "** (", "**a** (b", " — _a", "\\", "- **", "\n- **a**", "\n  **a** vs **b** ", "# ", "\n\n", "**: "],
    ids=repr,
)
def test_time_follows_size(heading: str, piece: str) -> None:
    text = f"# Q\n\n## {heading}\n- **" + piece * (200_000 // len(piece))
    started = time.process_time()
    from_markdown(text, "here", "x")
    assert time.process_time() - started < 4


def test_confidence_stays_between_0_and_1() -> None:
    assert from_markdown("---\nconfidence: 9\n---\n# Q\n", "x", "x").confidence == 1.0
    assert from_markdown("---\nconfidence: nan\n---\n# Q\n", "x", "x").confidence in (0.0, 1.0)
