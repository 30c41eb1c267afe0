"""Symbol strings are taken apart as SCIP's grammar says, and put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sage_code.scip.symbol_names import METHOD, NAMESPACE, TERM, TYPE, Descriptor, descriptor, is_local, package, parse


def test_symbols_of_tools() -> None:
    steps = parse("scip-typescript npm a  b 1.0 src/`x.ts`/Foo#`<constructor>`().(arg)")
    assert steps == [
        ("src", "namespace"), ("x.ts", "namespace"), ("Foo", "type"), ("<constructor>", "method"), ("arg", "parameter"),
    ]  # fmt: skip
    assert parse("s . . . a/B#[T]") == [("a", "namespace"), ("B", "type"), ("T", "type_parameter")]
    assert parse("s . . . f(+1).") == [("f", "method")]


def test_what_is_malformed_has_no_steps() -> None:
    for symbol in (
        "",
        "local 1",
        "a b",
        "s . . . `open",
        "s . . . a",
        "s . . . a(",
        "s . . . (x",
        "s . . . " + "a" * 5_000,
    ):
        assert parse(symbol) == []
    assert is_local("local 7")


@given(st.lists(st.tuples(st.text(min_size=1, max_size=12), st.sampled_from((TYPE, METHOD, TERM, NAMESPACE)))))
def test_descriptors_come_back(steps: list[tuple[str, str]]) -> None:
    symbol = package("sage", "", "my project", "") + "".join(descriptor(name, kind) for name, kind in steps)
    assert parse(symbol) == [Descriptor(*step) for step in steps]


@given(st.text(max_size=60))
def test_any_text_is_parsed(symbol: str) -> None:
    parse(symbol)
    parse("s . . . " + symbol)
