"""The OpenAPI description of the routes: that of FastAPI, with an example for each request body and response.

The examples are responses for the sample captures. A test compares each with the schema of its route and with the server.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

JSON = "application/json"


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return by ``METHOD path``: ``request`` and ``response``."""
    return json.loads(files("perfcase_api").joinpath("examples.json").read_text(encoding="utf-8"))


def install(app: FastAPI) -> None:
    """Make the application answer ``/openapi.json`` with examples."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            if app.root_path:
                made["servers"] = [{"url": app.root_path}]
            for path, methods in made["paths"].items():
                for method, operation in methods.items():
                    _add(operation, examples().get(f"{method.upper()} {path}", {}))
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] - FastAPI's own way


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    if "request" in example:
        for content in operation["requestBody"]["content"].values():
            content["example"] = example["request"]
    if "response" in example:
        answer = next(answer for status, answer in operation["responses"].items() if status[0] in "23")
        content = answer.setdefault("content", {JSON: {}})
        next(iter(content.values()))["example"] = example["response"]
