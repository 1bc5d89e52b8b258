"""A server of captures (``perfcase serve``) from Python, with nothing but the standard library and DuckDB.

Requests and results are those of ``perfcase.open`` and ``perfcase.history``: rows are DuckDB relations, pages are text. The same
lines work on a capture here and on one there.
"""

from __future__ import annotations

import json
import os
import time
import urllib.parse
import warnings
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPResponse
from os import PathLike
from pathlib import Path
from typing import Any

from perfcase.case.inspection import inspect, redaction
from perfcase.case.store import import_core
from perfcase.catalogue.privacy import unredacted
from perfcase.errors import EXIT_CODES, NotRedacted, PerfcaseError
from perfcase.lazy import duckdb
from perfcase.server_client import web
from perfcase.terminal.render import replacing

Progress = Callable[[str, int, int | None], None]
"""Called with the phase, how much is done and of how much: bytes while it is sent, records while it is imported."""

_PART = 4 << 20
_CHUNK = 1 << 20
_TRIES = 8
_WAIT_MAX_S = 30.0
_PAGE = 1000
_KINDS = {"unauthorized": "not_permitted", "conflict": "usage", "too_large": "usage", "not_allowed": "usage"}
"""What the command line calls errors of kinds that only the server has; any other is one of the environment."""

_IN_QUERIES = {"fmt": "format", "settings": "set"}
"""Names in routes of the fields of requests (perfcase.operations) that differ."""


class Client:
    """A server and a user's token. Default token: PERFCASE_TOKEN."""

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 600.0) -> None:
        self.url = web.checked(url, "http://HOST:8640 or https://HOST")
        given = os.environ.get("PERFCASE_TOKEN", "") if token is None else token
        self._headers = {"Authorization": f"Bearer {given}"} if given else {}
        self._timeout_s = timeout_s

    def upload(
        self,
        file: str | PathLike[str],
        *,
        ticket: str = "",
        labels: Sequence[str] = (),
        accept_damaged: bool = False,
        wait: bool = True,
        progress: Progress | None = None,
        resume: str | None = None,
        warn: bool = True,
    ) -> dict[str, Any]:
        """Send a capture, in parts that go on where they stopped, and wait for its import. Return the capture.

        A capture that is there already is not imported again. An import that failed is an error that says why. What could not
        be sent at all says under which number it goes on later: ``resume``. One that is not redacted is a warning, NotRedacted, unless ``warn``
        is False; a server that takes only redacted captures refuses it before a byte of it is sent.
        """
        path = Path(file)
        is_redacted, said = _redaction(path)
        if said and warn:
            warnings.warn(said, NotRedacted, stacklevel=2)
        reply = progress or (lambda _phase, _done, _of: None)
        size = path.stat().st_size
        new = {
            "name": path.name,
            "size_bytes": size,
            "ticket": ticket,
            "labels": list(labels),
            "accept_damaged": accept_damaged,
            "is_redacted": is_redacted,
        }
        place = f"/v1/uploads/{_quoted(resume)}" if resume else "/v1/uploads"
        upload = self.json("GET", place) if resume else self.json("POST", place, body=new)
        if upload["size_bytes"] != size:
            raise PerfcaseError("usage", f"{path}: is not the file of upload {resume}", "send it again, without resume")
        failures = began_again = 0
        with path.open("rb") as source:
            while not upload.get("capture_id"):
                number, offset = upload["upload_id"], upload["offset_bytes"]
                reply("sending", offset, size)
                source.seek(offset)
                part = source.read(_PART)
                # Nothing is left to send where the server had all of it and could not keep it: it tries once more.
                if not part and offset < size:
                    raise PerfcaseError("input", f"{path}: became shorter while it was sent", "send it again")
                try:
                    sent = self.open(
                        "PATCH", f"/v1/uploads/{number}", data=part, headers={"Upload-Offset": str(offset)}
                    )
                    upload, failures = _read_json(sent), 0
                except PerfcaseError as error:
                    failures += 1
                    if error.kind != "environment":
                        raise
                    if failures + began_again >= _TRIES:
                        raise PerfcaseError(error.kind, error.message, f"go on with resume={number!r}") from error
                    time.sleep(min(_WAIT_MAX_S, 0.2 * 2**failures))
                    upload = self._reached(upload, path, new)
                    began_again += upload["upload_id"] != number
        reply("sending", size, size)
        return self.wait(upload["capture_id"], progress) if wait else self.capture(upload["capture_id"])

    def _reached(self, upload: dict[str, Any], path: Path, new: dict[str, Any]) -> dict[str, Any]:
        """Ask the server how far an upload is. If it does not answer, return the last known offset; if it has lost the upload, begin again."""
        try:
            return self.json("GET", f"/v1/uploads/{upload['upload_id']}")
        except PerfcaseError as error:
            if error.kind != "not_found":
                return upload
        # It is a capture by now, and the word of that was lost; or its disk failed, and it took nothing.
        capture_id = import_core().hash_file(str(path))
        try:
            self.capture(capture_id)
            return {**upload, "capture_id": capture_id}
        except PerfcaseError as error:
            return self.json("POST", "/v1/uploads", body=new) if error.kind == "not_found" else upload

    def wait(self, capture_id: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the capture, when its import is done."""
        with self.open("GET", f"/v1/captures/{capture_id}/progress") as events:
            for line in events:
                if line.startswith(b"data: ") and progress:
                    state = json.loads(line[6:])
                    progress(state.get("phase", state["state"]), state.get("records", 0), None)
        capture = self.capture(capture_id)
        if capture["state"] == "failed":
            raise PerfcaseError("input", f"{capture['name']}: {capture['reason']}", "the upload is kept")
        return capture

    def captures(self, **conditions: object) -> Iterator[dict[str, Any]]:
        """Yield the captures in scope, the latest first: all, or by ticket, host, label, finding, text, after_ns, before_ns."""
        offset = 0
        while True:
            page = self.json("GET", "/v1/captures", query={**conditions, "limit": _PAGE, "offset": offset})
            yield from page["captures"]
            offset += len(page["captures"])
            if not page["captures"] or offset >= page["total"]:
                return

    def capture(self, capture_id: str) -> dict[str, Any]:
        """Return one capture, as the catalogue knows it."""
        return self.json("GET", f"/v1/captures/{_quoted(capture_id)}")

    def sql(
        self,
        sql: str,
        *,
        capture_id: str | None = None,
        ticket: str | None = None,
        limit: int = 10_000,
        settings: Sequence[str] = (),
    ) -> duckdb.DuckDBPyRelation:
        """Return rows of one SELECT on a capture or on all of a ticket; the first column is capture_id.

        ``settings``: values of its parameters: ``"comm=java"`` for $comm.
        """
        asked = {"sql": sql, "capture_id": capture_id, "ticket": ticket, "limit": limit, "format": "arrow"}
        asked["set"] = list(settings)
        return self._relation(self.open("POST", "/v1/sql", body=asked))

    def view(self, capture_id: str, name: str, **query: object) -> duckdb.DuckDBPyRelation:
        """Return rows of a view or table; where, order, by, limit, offset, settings, window, process, thread, cpu, cgroup."""
        return self._table(f"/v1/captures/{_quoted(capture_id)}/views/{_quoted(name)}", query)

    def findings(self, capture_id: str, **query: object) -> duckdb.DuckDBPyRelation:
        """Return what is wrong, most severe first."""
        return self._table(f"/v1/captures/{_quoted(capture_id)}/findings", query)

    def diff(self, a: str, b: str | None = None, **query: object) -> duckdb.DuckDBPyRelation:
        """Return what differs between two captures, or with a_window and b_window between two parts of one."""
        return self._table("/v1/diff", {"a": a, "b": b, **query})

    def history(self, **query: object) -> duckdb.DuckDBPyRelation:
        """Return one figure over all captures in scope, or of a ``ticket``; without a view, the captures."""
        return self._table("/v1/history", query)

    def flamegraph(self, capture_id: str, **query: object) -> str:
        """Return a flame graph as SVG, or with ``fmt="json"`` its tree; event, off_cpu, wakers, where, window, process and the like."""
        return self._text(capture_id, "flamegraph", query)

    def report(self, capture_id: str, **query: object) -> str:
        """Return the first five minutes of an investigation, as text; for a part: window, process, thread, cpu, cgroup."""
        return self._text(capture_id, "report", query)

    def summary(self, capture_id: str, to: str = "md", **query: object) -> str:
        """Return one page for the ticket, as md (Markdown) or html."""
        return self._text(capture_id, "summary", {"to": to, **query})

    def info(self, capture_id: str) -> dict[str, Any]:
        """Describe the capture: host, kernel, command, sources, what each lost, what is missing and how to record it."""
        return self.json("GET", f"/v1/captures/{_quoted(capture_id)}/info")

    def download(self, capture_id: str, file: str | PathLike[str]) -> Path:
        """Return the file as it was uploaded, written to ``file`` when all of it has come."""
        with (
            self.open("GET", f"/v1/captures/{_quoted(capture_id)}/original") as answer,
            replacing(Path(file)) as partial,
            partial.open("wb") as out,
        ):
            for chunk in _chunks(answer):
                out.write(chunk)
        return Path(file)

    def delete(self, capture_id: str) -> None:
        """Delete a capture: the original, its import, its notes."""
        self.open("DELETE", f"/v1/captures/{_quoted(capture_id)}").close()

    def get(self, route: str, **query: object) -> bytes:
        """Return what any other route answers: ``get(f"/v1/captures/{id}/flamegraph", process="java")``."""
        with self.open("GET", route, query=query) as answer:
            return b"".join(_chunks(answer))

    def json(self, method: str, route: str, **request: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a route's answer."""
        return _read_json(self.open(method, route, **request))

    def open(
        self,
        method: str,
        route: str,
        *,
        query: dict[str, Any] | None = None,
        body: object = None,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> HTTPResponse:
        """Send one request. Raise a PerfcaseError if the answer is an error."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        url = f"{self.url}{route}" + (f"?{urllib.parse.urlencode(words, doseq=True)}" if words else "")
        sent = dict(self._headers, **headers or {})
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        elif data is not None:
            sent["Content-Type"] = "application/octet-stream"
        return web.send(method, url, data, sent, self._timeout_s, self._refused)

    def _table(self, route: str, query: dict[str, Any]) -> duckdb.DuckDBPyRelation:
        return self._relation(self.open("GET", route, query={**_named(query), "format": "arrow"}))

    def _text(self, capture_id: str, name: str, query: dict[str, Any]) -> str:
        return self.get(f"/v1/captures/{_quoted(capture_id)}/{name}", **_named(query)).decode("utf-8", "replace")

    def _refused(self, status: int, reason: str, body: bytes) -> PerfcaseError:
        """Return an error of the server's as ours."""
        try:
            reply = json.loads(body)["error"]
            kind, message, hint = str(reply["kind"]), str(reply["message"]), reply.get("hint")
        except (ValueError, TypeError, KeyError):
            kind, message, hint = "environment", f"{self.url}: HTTP {status} {reason}", "is it perfcase serve?"
        known = kind if kind in EXIT_CODES else _KINDS.get(kind, "environment")
        return PerfcaseError(known, message, None if hint is None else str(hint))

    def _relation(self, answer: HTTPResponse) -> duckdb.DuckDBPyRelation:
        from nanoarrow import ArrayStream

        connection = duckdb.connect()
        try:
            with answer, ArrayStream.from_readable(answer) as stream:
                connection.register("stream", stream)
                connection.execute("CREATE TABLE answer AS FROM stream")
                connection.unregister("stream")
        except (duckdb.Error, RuntimeError, *web.CUT) as error:
            raise PerfcaseError("environment", f"{self.url}: the answer was cut: {error}", "ask again") from error
        return connection.table("answer")


def _redaction(file: Path) -> tuple[bool | None, str | None]:
    """Return whether a capture is redacted, None where nobody can tell, and what to say before it is sent."""
    try:
        manifest = inspect(file)["manifest"]
    except PerfcaseError:
        # The server says what is wrong with it.
        return None, None
    if redaction(manifest):
        return True, None
    return False, unredacted(file.name)


def _named(query: dict[str, Any]) -> dict[str, Any]:
    """Fields of requests by the names that routes have for them."""
    return {_IN_QUERIES.get(name, name): value for name, value in query.items()}


def _read_json(answer: HTTPResponse) -> Any:  # noqa: ANN401 - JSON
    with answer:
        try:
            return json.loads(answer.read())
        except (ValueError, *web.CUT) as error:
            raise PerfcaseError("environment", f"the answer is not JSON: {error}", "is it perfcase serve?") from error


def _chunks(answer: HTTPResponse) -> Iterator[bytes]:
    """Yield the whole answer. An answer that is cut off is an error."""
    try:
        while chunk := answer.read(_CHUNK):
            yield chunk
    except web.CUT as error:
        raise PerfcaseError("environment", f"the answer was cut: {error}", "ask again") from error
    if answer.length:
        raise PerfcaseError("environment", f"the answer was cut: {answer.length} bytes are missing", "ask again")


def _quoted(word: str) -> str:
    return urllib.parse.quote(word, safe="")
