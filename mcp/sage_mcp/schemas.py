"""The output schemas of the tools: those of `compiled_schema/`, whole in themselves, with what every answer has.

A tool answers with the document that the command line prints, so that there is one description of both.
"""

from __future__ import annotations

import json
import os
from typing import Any

from sage_code.paths import assets_dir

# What every answer says besides its own.
_ENVELOPE: dict[str, Any] = {
    "truncated": {"type": "boolean", "description": "Whether there is more than the budget had room for."},
    "next": {"type": "string", "description": "How to get the rest; empty when all is here."},
    "opening": {
        "type": "object",
        "description": "On the first answer of a session: what to know about the project before working in it.",
        "properties": {
            "sections": {
                "type": "array",
                "description": "What is to be known, by where it comes from.",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "description": "What it is."},
                        "text": {"type": "string", "description": "Lines of text, from the project."},
                    },
                    "required": ["title", "text"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["sections"],
        "additionalProperties": False,
    },
}


def output_schema(name: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of an answer whose document `compiled_schema/NAME.json` describes."""
    schema = _whole(f"{name}.json")
    properties = {key: value for key, value in schema["properties"].items() if key not in leave_out}
    required = [key for key in schema["required"] if key in properties and key not in _ENVELOPE]
    return {
        **{key: value for key, value in schema.items() if key not in ("$schema", "title")},
        "properties": {**properties, **_ENVELOPE},
        "required": [*required, "truncated", "next"],
    }


def _whole(name: str) -> Any:
    """A schema with those that it refers to in their places."""
    with open(os.path.join(assets_dir("compiled_schema"), name), encoding="utf-8") as file:
        return _inlined(json.load(file))


def _inlined(part: Any) -> Any:
    if isinstance(part, dict):
        if "$ref" in part:
            other = _whole(part["$ref"])
            return {key: value for key, value in other.items() if key not in ("$schema", "title")}
        return {key: _inlined(value) for key, value in part.items()}
    return [_inlined(value) for value in part] if isinstance(part, list) else part
