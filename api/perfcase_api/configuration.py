"""The file of ``perfcase serve --config``: TOML with one table, ``[oidc]``."""

from __future__ import annotations

import os
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from perfcase.errors import PerfcaseError
from perfcase_api.settings import Oidc, Rule
from perfcase_api.who import Role

SECRET = "PERFCASE_OIDC_SECRET"
"""The environment variable with the client's secret, where the file does not name a file of it."""
_EXAMPLE = "docs/manual/server.md has an example"


def read(path: Path) -> Oidc | None:
    """Return what the file says of signing in."""
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PerfcaseError("input", f"{path}: cannot be read: {error}", _EXAMPLE) from error
    unknown = sorted(parsed.keys() - {"oidc"})
    if unknown:
        raise _wrong(path, f"there is no table {unknown[0]}")
    return _oidc(path, parsed["oidc"]) if "oidc" in parsed else None


def _oidc(path: Path, parsed: Any) -> Oidc:  # noqa: ANN401 - TOML
    if not isinstance(parsed, dict):
        raise _wrong(path, "oidc is no table")
    given = dict(parsed)
    secret_file = given.pop("client_secret_file", None)
    rules = given.pop("rule", [])
    if not isinstance(rules, list) or not rules:
        raise _wrong(path, "no [[oidc.rule]]: nobody could sign in")
    secret = os.environ.get(SECRET, "")
    if secret_file is not None:
        try:
            secret = path.parent.joinpath(str(secret_file)).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise PerfcaseError("input", f"{secret_file}: cannot be read: {error}", f"or set {SECRET}") from error
    made = _made(
        path, "oidc", Oidc, {**given, "client_secret": secret, "rules": tuple(_rule(path, each) for each in rules)}
    )
    for name, url in (("issuer", made.issuer), ("url", made.url)):
        if not is_safe(url):
            raise _wrong(path, f"oidc.{name}: {url} is not an https address (http is for 127.0.0.1 and localhost)")
    return made


def is_safe(url: str) -> bool:
    """Return whether the address is https or this machine, so that nobody can read or change the traffic."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))


def _rule(path: Path, parsed: Any) -> Rule:  # noqa: ANN401 - TOML
    rule = _made(path, "oidc.rule", Rule, parsed if isinstance(parsed, dict) else {})
    if rule.role not in get_args(Role):
        raise _wrong(path, f"oidc.rule: there is no role {rule.role}: viewer, uploader, admin")
    return rule


def _made(path: Path, table: str, kind: type, parsed: dict[str, Any]) -> Any:  # noqa: ANN401 - one of two
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(parsed.keys() - known.keys())
    missing = [name for name, field in known.items() if field.default is MISSING and name not in parsed]
    wrong = [name for name, value in parsed.items() if name != "rules" and not isinstance(value, str)]
    for names, what in ((unknown, "is unknown"), (missing, "is missing"), (wrong, "is no text")):
        if names:
            raise _wrong(path, f"{table}.{names[0]} {what}")
    return kind(**parsed)


def _wrong(path: Path, what: str) -> PerfcaseError:
    return PerfcaseError("input", f"{path}: {what}", _EXAMPLE)
