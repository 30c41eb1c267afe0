"""The schemas of the tools: whole ones from `compiled_schema/`, and the shorter ones that a client gets.

A tool answers with the document that the command line prints, so one schema describes both. Every session pays for the
listing of the tools, so a client gets only names, types, choices and what is required. The meaning of each field and
the limits of its values are in `compiled_schema/`, and every answer keeps to them too.
"""

from __future__ import annotations

import json
import os
from typing import Any

from sage_code.paths import assets_dir

# Fields that every answer has besides its own.
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
    "continuity": {
        "type": "string",
        "description": "After a compaction, once: the notes that Sage took of this session before it.",
    },
}
_SENT_ENVELOPE = {
    "truncated": {"type": "boolean"},
    "next": {"type": "string"},
    "opening": {"type": "object"},
    "continuity": {"type": "string"},
}
# Left out of the schema of an answer, whose values Sage makes; and of a call, which the server checks itself.
_NOT_SENT_OF_ANSWERS = frozenset(
    {"$schema", "title", "description", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern"}
    | {"minItems", "maxItems", "uniqueItems", "format", "additionalProperties", "propertyNames", "examples", "default"}
)
# Fields that answers have only when something is wrong, and then their text has them too.
_RARE = frozenset({"note"})
_NOT_SENT_OF_CALLS = frozenset({"title", "maxLength", "minimum", "maximum", "additionalProperties"})
# Arguments that the server's instructions describe once for all tools.
_SAID_ONCE = frozenset({"project", "offset", "max_tokens"})


def answer_schema(name: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The whole schema of an answer whose document `compiled_schema/NAME.json` describes."""
    schema = _whole(f"{name}.json")
    properties = {key: value for key, value in schema["properties"].items() if key not in leave_out}
    required = [key for key in schema["required"] if key in properties and key not in _ENVELOPE]
    return {
        **{key: value for key, value in schema.items() if key not in ("$schema", "title")},
        "properties": {**properties, **_ENVELOPE},
        "required": [*required, "truncated", "next"],
    }


def sent_answer_schema(name: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The part of `answer_schema` that a client gets; it accepts every answer that the whole schema accepts."""
    sent: dict[str, Any] = _without(answer_schema(name, leave_out), _NOT_SENT_OF_ANSWERS)
    properties = {
        key: value for key, value in sent["properties"].items() if key not in _RARE or key in sent["required"]
    }
    return {**sent, "properties": {**properties, **_SENT_ENVELOPE}}


def sent_call_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The part of the schema of a tool's arguments that a client gets; the server checks calls against all of it."""
    sent = _without(schema, _NOT_SENT_OF_CALLS)
    properties = {name: _plain_argument(value) for name, value in sent["properties"].items()}
    for name in _SAID_ONCE & properties.keys():
        properties[name] = {"type": properties[name]["type"]}
    return {**sent, "properties": properties, "additionalProperties": False}


def _plain_argument(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument without what is obvious: that null means no argument, and a default that is empty."""
    schema = _joined(schema)
    if isinstance(schema.get("items"), dict):
        schema["items"] = _joined(schema["items"])
    if not schema.get("default", True):
        del schema["default"]
    return schema


def _joined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose `anyOf` is one list of types, where it can be."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(choices) == 1:
        return {**choices[0], **rest}
    if choices and all(list(choice) == ["type"] for choice in choices):
        return {"type": [choice["type"] for choice in choices], **rest}
    return dict(schema)


def _without(part: Any, names: frozenset[str]) -> Any:
    """A schema without the keywords `names`; properties may have these names all the same."""
    if isinstance(part, list):
        return [_without(value, names) for value in part]
    if not isinstance(part, dict):
        return part
    return {
        key: {name: _without(value, names) for name, value in schema.items()}
        if key == "properties"
        else _without(schema, names)
        for key, schema in part.items()
        if key not in names or (key == "additionalProperties" and schema not in (True, False))
    }


def _whole(name: str) -> Any:
    """A schema with the schemas that it refers to included."""
    with open(os.path.join(assets_dir("compiled_schema"), name), encoding="utf-8") as file:
        return _inlined(json.load(file))


def _inlined(part: Any) -> Any:
    if isinstance(part, dict):
        if "$ref" in part:
            other = _whole(part["$ref"])
            return {key: value for key, value in other.items() if key not in ("$schema", "title")}
        return {key: _inlined(value) for key, value in part.items()}
    return [_inlined(value) for value in part] if isinstance(part, list) else part
