"""What a capture says about itself: from its manifest, or from the tables of its import."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfcase import text
from perfcase.case.store import import_core
from perfcase.lazy import duckdb

Fact = tuple[str, str]
"""A label and a value for people."""


def inspect(file: Path) -> dict[str, Any]:
    """Return kind, manifest (None for a bare file), members and problems of a capture, without importing it."""
    return json.loads(import_core().describe(str(file)))


def redaction(manifest: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what a manifest says of a redaction. Anyone can write that: it is no proof."""
    found = (manifest or {}).get("redacted")
    return found if isinstance(found, dict) else None


def facts_of_manifest(manifest: dict[str, Any]) -> list[Fact]:
    """Return the manifest's facts, those that are known."""
    host, recorder = manifest.get("host") or {}, manifest.get("recorder") or {}
    anchors = (manifest.get("clock") or {}).get("anchors") or []
    span = anchors[-1]["monotonic_ns"] - anchors[0]["monotonic_ns"] if len(anchors) > 1 else None
    return _facts(
        {
            "format": f"{manifest.get('format')} {manifest.get('format_version')}",
            "host": host.get("hostname"),
            "recorded at": _wall(anchors[0].get("realtime_ns") if anchors else None),
            "duration": span and text.duration(span),
            "kernel": _joined(host.get("kernel_release"), host.get("machine")),
            "os": host.get("os"),
            "cpu": _cpu(host.get("cpu_count"), host.get("cpu_model")),
            "memory": host.get("memory_bytes") and text.size(host["memory_bytes"]),
            "clock": (manifest.get("clock") or {}).get("name"),
            "recorder": recorder.get("version"),
            "command": " ".join(recorder.get("command") or []) or None,
            "interrupted by": recorder.get("interrupted_by"),
            "ticket": manifest.get("ticket"),
            "note": manifest.get("note"),
            "labels": ", ".join(manifest.get("labels") or []) or None,
        }
    )


def facts_of_case(connection: duckdb.DuckDBPyConnection) -> list[Fact]:
    """Return the same facts from the table ``capture``."""
    cursor = connection.execute("SELECT * FROM capture")
    names = [column[0] for column in cursor.description or ()]
    row = cursor.fetchone()
    capture = dict(zip(names, row, strict=True)) if row else {}
    version = capture.get("format_version")
    return _facts(
        {
            "capture": capture.get("name"),
            "format": f"perfcase {version}" if version else "a bare recording",
            "host": capture.get("hostname"),
            "recorded at": _wall(capture.get("start_realtime_ns")),
            "duration": capture.get("duration_ns") is not None and text.duration(capture["duration_ns"]),
            "kernel": _joined(capture.get("kernel_release"), capture.get("machine")),
            "os": capture.get("os"),
            "cpu": _cpu(capture.get("cpu_count"), capture.get("cpu_model")),
            "memory": capture.get("memory_bytes") and text.size(capture["memory_bytes"]),
            "clock": capture.get("clock"),
            "recorder": capture.get("recorder_version"),
            "command": capture.get("command"),
            "interrupted by": capture.get("interrupted_by"),
            "ticket": capture.get("ticket"),
            "note": capture.get("note"),
            "labels": ", ".join((capture.get("labels") or "").split(",")) or None,
        }
    )


def sources_of_manifest(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sources as the recorder saw them."""
    return [
        {
            "name": source.get("name"),
            "kind": source.get("kind"),
            "status": source.get("status"),
            "tool": _joined(source.get("tool"), source.get("tool_version")),
            "lost_count": source.get("lost_events"),
            "reason": source.get("reason"),
            "remedy": source.get("remedy"),
        }
        for source in manifest.get("sources") or []
    ]


def sources_of_case(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the sources as the import saw them."""
    rows = connection.execute(
        "SELECT name, kind, status, concat_ws(' ', tool, tool_version), lost_count, reason, remedy"
        " FROM source ORDER BY source_id"
    ).fetchall()
    names = ("name", "kind", "status", "tool", "lost_count", "reason", "remedy")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _facts(found: dict[str, Any]) -> list[Fact]:
    return [(name, str(value)) for name, value in found.items() if value]


def _wall(realtime_ns: int | None) -> str | None:
    if not realtime_ns:
        return None
    try:
        return datetime.fromtimestamp(realtime_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return None


def _cpu(number: int | None, model: str | None) -> str | None:
    return " × ".join(str(part) for part in (number, model) if part) or None


def _joined(*parts: str | None) -> str | None:
    return " ".join(part for part in parts if part) or None
