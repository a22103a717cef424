"""The JSON Schema of a report, from its dataclasses: ``python -m dev.schema`` writes docs/report.schema.json.

``--check`` fails where the page is older than the dataclasses.
"""

import dataclasses
import json
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from samebits.cli._across import Across
from samebits.report import Report

PAGE = Path(__file__).parents[1] / "docs" / "report.schema.json"
# What JSON has no numbers for is written as text.
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}, float: _NUMBER,
    types.NoneType: {"type": "null"},
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The schema of Report.to_dict(); each dataclass is a definition."""
    definitions: dict[str, Any] = {}
    _object(Report, definitions)
    own = definitions.pop("Report")
    own["properties"]["across"] = _object(Across, definitions)  # of samebits audit --across; not required
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A report of samebits.audit", **own,
        "$defs": definitions,
    }  # fmt: skip


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, str]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}
        hints = get_type_hints(kind)
        fields = [f.name for f in dataclasses.fields(kind)]
        definitions[kind.__name__] = {
            "type": "object",
            "description": (kind.__doc__ or "").strip().splitlines()[0],
            "properties": {name: _of(hints[name], definitions) for name in fields},
            "required": fields,
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        return _object(hint, definitions)  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(a, definitions) for a in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if origin is tuple and arguments[-1] is ...:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_of(a, definitions) for a in arguments], "items": False}
    raise TypeError(f"no schema for {hint}")


def main(arguments: list[str]) -> int:
    text = json.dumps(schema(), indent=1) + "\n"
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    current = PAGE.read_text(encoding="utf-8") == text
    print(
        "docs/report.schema.json is " + ("current" if current else "older than the dataclasses: python -m dev.schema")
    )
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
