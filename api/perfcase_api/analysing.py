"""Run one operation on imported folders, in its own process, and write the result to standard output."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from perfcase.case.failures import failure, fault
from perfcase.case.opening import open_capture
from perfcase.operations.request import decode
from perfcase.stacks.source_text import SourceText
from perfcase.text import safe

OPERATIONS = (
    "annotate", "diff", "diff_flamegraph", "export", "findings", "flamegraph", "history", "info", "reading", "report", "sql", "summary", "view",
)  # fmt: skip
"""The operations of routes. They are loaded before the first request."""
COUNTED = ("sql", "view")
"""Operations of one query. How many bytes of the tables' files it read is the last line on standard error."""
READ = "read "
"""How that line begins."""


def answer(order: dict[str, Any]) -> int:
    """Write the result and return the exit code.

    ``order``: ``{"operation", "request", "captures", "stores", "only"}``; captures are the folders of the request, stores are those of a
    history or a baseline, ``"source"`` are folders with source files. An error is one line on standard error.
    """
    folders = [*order["captures"], *order["stores"]]
    try:
        _answer(order)
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise
    except Exception as error:
        shown = failure(error, folders) or fault(error)
        sys.stderr.write(f"perfcase: {safe(str(shown))}\n")
        return shown.exit_code
    return 0


def _answer(order: dict[str, Any]) -> None:
    operation = import_module(f"perfcase.operations.{order['operation']}")
    request = decode(operation.Request, order["request"])
    stores = {"stores": list(map(Path, order["stores"]))} if order["stores"] else {}
    with ExitStack() as stack:
        is_counted = order["operation"] in COUNTED
        cases = [
            stack.enter_context(open_capture(folder, only=order["only"], is_counted=is_counted))
            for folder in order["captures"]
        ]
        source = {"source": SourceText(list(map(Path, order["source"])))} if order.get("source") else {}
        result = operation.run(request, *cases, **stores, **source)
        result.write()
        if is_counted and result.bytes_read is not None:
            sys.stderr.write(f"{READ}{result.bytes_read}\n")
