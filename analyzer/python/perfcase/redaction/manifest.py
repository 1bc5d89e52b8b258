"""The manifest with pseudonyms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from perfcase.catalogue.schema import schema_dir
from perfcase.redaction.values import Values

Substitute = Callable[[bytes], bytes]


def redacted(found: dict[str, Any], values: Values, substitute: Substitute | None) -> tuple[dict[str, Any], int]:
    """Return the manifest with pseudonyms, and how many properties were left out: nobody knows what they hold.

    Without a ``substitute`` its values become known, no more.
    """
    schema = json.loads((schema_dir() / "manifest.schema.json").read_text(encoding="utf-8"))
    made, left_out = _known(
        {name: value for name, value in found.items() if name != "members"}, schema, schema["$defs"]
    )
    shown: dict[str, str] = {}
    if not substitute:
        _each_text(made, values, None)

    def whole(kind: str, value: Any) -> Any:  # noqa: ANN401 - a value of JSON
        if not value or not isinstance(value, str):
            return value
        shown[value] = _text(values.whole(kind, _bytes(value)))
        return shown[value]

    made["ticket"], made["note"] = whole("note", made.get("ticket")), whole("note", made.get("note"))
    made["labels"] = [whole("note", each) for each in made.get("labels") or ()]
    recorder, host = made.get("recorder") or {}, made.get("host") or {}
    target = recorder.get("target") or {}
    if command := target.get("command"):
        parts = [command[0], *(_text(values.argument(_bytes(each))) for each in command[1:])]
        shown |= {before: after for before, after in zip(command[1:], parts[1:], strict=True) if before != after}
        target["command"] = parts
    if group := target.get("cgroup"):
        target["cgroup"] = shown[group] = _text(values.group(_bytes(group)))
    if name := host.get("hostname"):
        host["hostname"] = whole("host_name", name)
        if release := host.get("kernel_release"):
            # As uname prints it: trace.dat has that text.
            values.uname(_bytes(name), _bytes(host["hostname"]), _bytes(release))
    if own := recorder.get("command"):
        # The recorder's own options stay: what it was asked for is not the customer's.
        recorder["command"] = [shown.get(each, each) for each in own]
    for source in made.get("sources") or ():
        source["command"] = [shown.get(each, each) for each in source.get("command") or ()]
    if not substitute:
        return made, left_out
    made = _each_text(made, values, substitute)
    if own:
        # As a table has it.
        values.told(_bytes(" ".join(own)), _bytes(" ".join(made["recorder"]["command"])))
    return made, left_out


def of_host(hostname: str | None, kernel_release: str | None) -> dict[str, Any]:
    """Return the manifest of an archive that was a file of perf or trace-cmd: nobody knows more of how it was recorded."""
    version = (schema_dir() / "VERSION").read_text(encoding="utf-8").strip()
    known = {"hostname": hostname, "kernel_release": kernel_release}
    return {
        "format": "perfcase",
        "format_version": version,
        "host": {name: each for name, each in known.items() if each},
    }


def arguments(found: dict[str, Any]) -> list[str]:
    """Return what is no option of the recorder in the manifest's commands: the words of the recorded command."""
    return list(((found.get("recorder") or {}).get("target") or {}).get("command") or [])[1:]


def _known(value: Any, schema: dict[str, Any], kinds: dict[str, Any]) -> tuple[Any, int]:  # noqa: ANN401 - values of JSON
    """Return a value without the properties that the schema does not know, and how many those are."""
    schema = kinds[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if isinstance(value, dict) and "properties" in schema:
        each = {
            name: _known(part, schema["properties"][name], kinds)
            for name, part in value.items()
            if name in schema["properties"]
        }
        return {name: part for name, (part, _) in each.items()}, len(value) - len(each) + sum(
            count for _, count in each.values()
        )
    if isinstance(value, list) and "items" in schema:
        parts = [_known(part, schema["items"], kinds) for part in value]
        return [part for part, _ in parts], sum(count for _, count in parts)
    return value, 0


def _each_text(value: Any, values: Values, substitute: Substitute | None) -> Any:  # noqa: ANN401 - values of JSON
    if isinstance(value, str):
        if substitute:
            return _text(values.pseudonyms.moved_hex(substitute(_bytes(value))))
        values.addresses(_bytes(value))
        values.path(_bytes(value))
    if isinstance(value, list):
        return [_each_text(each, values, substitute) for each in value]
    if isinstance(value, dict):
        return {name: _each_text(each, values, substitute) for name, each in value.items()}
    return value


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
