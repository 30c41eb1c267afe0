"""The schemas of the tools: what an answer looks like, from `compiled_schema/`, and what a client is sent of it.

A tool answers with the document that the command line prints, so that there is one description of both. A listing is
paid for by every session that reads it: what is sent says names, types, choices and what must be there. The rest, what
each field means and the limits of its values, is in `compiled_schema/`, and every answer keeps to that as well.
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
_SENT_ENVELOPE = {"truncated": {"type": "boolean"}, "next": {"type": "string"}, "opening": {"type": "object"}}
# Of an answer, what only says more about values that come from us; of a call, what the server checks by itself.
_NOT_SENT_OF_ANSWERS = frozenset(
    {"$schema", "title", "description", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern"}
    | {"minItems", "maxItems", "uniqueItems", "format", "additionalProperties", "propertyNames", "examples", "default"}
)
_NOT_SENT_OF_CALLS = frozenset({"title", "maxLength", "minimum", "maximum", "additionalProperties"})
# What the server's instructions say of all tools at once.
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
    """What a client is sent of `answer_schema`: it accepts every answer that the whole one accepts."""
    sent: dict[str, Any] = _without(answer_schema(name, leave_out), _NOT_SENT_OF_ANSWERS)
    return {**sent, "properties": {**sent["properties"], **_SENT_ENVELOPE}}


def sent_call_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """What a client is sent of the schema of a tool's arguments; the server itself checks all of it, and says so."""
    sent = _without(schema, _NOT_SENT_OF_CALLS)
    properties = {name: _plain_argument(value) for name, value in sent["properties"].items()}
    for name in _SAID_ONCE & properties.keys():
        properties[name] = {"type": properties[name]["type"]}
    return {**sent, "properties": properties, "additionalProperties": False}


def _plain_argument(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument by its type alone: that null is as good as none, and a default that is empty, go without saying."""
    schema = _joined(schema)
    if isinstance(schema.get("items"), dict):
        schema["items"] = _joined(schema["items"])
    if not schema.get("default", True):
        del schema["default"]
    return schema


def _joined(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(choices) == 1:
        return {**choices[0], **rest}
    if choices and all(list(choice) == ["type"] for choice in choices):
        return {"type": [choice["type"] for choice in choices], **rest}
    return dict(schema)


def _without(part: Any, names: frozenset[str]) -> Any:
    """A schema without some of its words; what its properties are called is none of them."""
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
