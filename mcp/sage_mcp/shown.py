"""What plugins change about the answers of a tool; loaded only if one does.

A change keeps to the schema of the tool, since a client refuses any other answer.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from sage_code.events.formatting import changed_document, changed_json, changed_text, is_heard
from sage_mcp.schemas import answer_schema


def formatting(tool: str, schema: str, leave_out: tuple[str, ...]) -> Formatting | None:
    """What plugins change about the answers of a tool, if one does."""
    return Formatting(tool, schema, leave_out) if is_heard() else None


class Formatting:
    """Shows an answer to the plugins before it is masked, and after."""

    def __init__(self, tool: str, schema: str, leave_out: tuple[str, ...]) -> None:
        self._tool, self._schema = tool, (schema, leave_out)

    def before(self, text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Text and data of an answer, as plugins want them; what they bring is masked like everything else.

        They get both as one document. A few tools have a `text` among their data, and the text that is shown has it in
        it: there plugins change both at once.
        """
        own = data.get("text")
        if isinstance(own, str):
            shown = changed_document(self._tool, data, self._check)
            return text.replace(own, shown["text"]) if own else text, shown
        shown = dict(changed_document(self._tool, {**data, "text": text}, self._check_with_text))
        return shown.pop("text"), shown

    def beside(self, text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The same for what comes with an answer: the opening of a session, the notes after a compaction."""
        shown = dict(changed_document(self._tool, {**data, "text": text}))
        return shown.pop("text"), shown

    def after(self, text: str) -> str:
        """A block of text, as plugins want it."""
        return changed_text(self._tool, text)

    def after_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data, as plugins want it."""
        before = orjson.dumps(data).decode()
        after = changed_json(self._tool, before, self._check)
        return data if after is before else orjson.loads(after)

    def _check_with_text(self, document: dict[str, Any]) -> None:
        self._check({name: value for name, value in document.items() if name != "text"})

    def _check(self, data: dict[str, Any]) -> None:
        """Raise ValueError unless the data of an answer keep to the schema of the tool."""
        problem = next(_validator(*self._schema).iter_errors(data), None)
        if problem is not None:
            raise ValueError(f"it breaks the schema of {self._tool}: {problem.message[:300]}")


@functools.cache
def _validator(schema: str, leave_out: tuple[str, ...]) -> Any:
    # Lazy: the SDK brings it, and only a change is checked.
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    return Draft202012Validator(answer_schema(schema, leave_out))
