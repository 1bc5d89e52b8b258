"""Metrics of the server for Prometheus, and the access log."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfcase_api.state import address
from perfcase_api.storage import free_bytes

if TYPE_CHECKING:
    from perfcase_api.state import Server

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300)
_STATES = ("uploaded", "importing", "ready", "failed")


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "perfcase_http_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "perfcase_http_request_seconds", "From a request's head to its answer's last byte.", buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self.sent_bytes = Counter("perfcase_http_sent_bytes", "Bytes of answers' bodies.", registry=self._registry)
        ProcessCollector(registry=self._registry)

    def watch(self, here: Server) -> None:
        """Add what the server's parts know."""
        self._registry.register(_Store(here))

    def text(self) -> bytes:
        """Return all figures, in Prometheus' text format."""
        return generate_latest(self._registry)


class _Store(Collector):
    """Figures that are looked up when they are asked for."""

    def __init__(self, here: Server) -> None:
        self._here = here

    def collect(self) -> Iterator[Metric]:
        """Yield the figures now."""
        catalogue = self._here.catalogue
        found = {
            row[0]: row[1:] for row in catalogue.rows("SELECT state, count(*), sum(size_bytes) FROM capture GROUP BY 1")
        }
        captures = GaugeMetricFamily("perfcase_captures", "Captures in the store.", labels=("state",))
        sizes = GaugeMetricFamily("perfcase_captures_bytes", "Bytes of the captures' originals.", labels=("state",))
        for state in _STATES:
            count, size = found.get(state, (0, 0))
            captures.add_metric([state], count)
            sizes.add_metric([state], size)
        yield captures
        yield sizes
        ((uploads,),) = catalogue.rows("SELECT count(*) FROM upload")
        yield GaugeMetricFamily("perfcase_uploads_unfinished", "Uploads that have begun.", uploads)
        running, waiting = self._here.jobs.load()
        yield GaugeMetricFamily("perfcase_analyses_running", "Processes of analyses.", running)
        yield CounterMetricFamily("perfcase_analyses", "Analyses that have had a process.", self._here.jobs.begun)
        yield GaugeMetricFamily(
            "perfcase_analyses_waiting", "Questions that wait for one, or for who reads their answer.", waiting
        )
        room = free_bytes(self._here.settings.store)
        yield GaugeMetricFamily("perfcase_store_free_bytes", "Room on the store's disk.", room)


class MetricsMiddleware:
    """Counts each request, and writes it down where an access log was asked for."""

    def __init__(self, app: ASGIApp, figures: Metrics, log: logging.Logger | None) -> None:
        self._app, self._figures, self._log = app, figures, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, sent = time.monotonic(), 500, 0

        async def counted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            took = time.monotonic() - began
            # Not the path: it has names of captures, and a client can invent any number of them.
            route = getattr(scope.get("route"), "path", "-")
            self._figures.requests.labels(_known(scope["method"]), route, str(status)).inc()
            self._figures.seconds.observe(took)
            self._figures.sent_bytes.inc(sent)
            if self._log is not None:
                self._log.info(_line(Request(scope), status, sent, took))


def access_log(path: Path) -> logging.Logger:
    """Write to a file; when it is moved away, to a new one of that name. ``-``: standard error."""
    log = logging.getLogger("perfcase.access")
    log.handlers = [logging.StreamHandler() if str(path) == "-" else WatchedFileHandler(path, encoding="utf-8")]
    log.setLevel(logging.INFO)
    log.propagate = False
    return log


def _line(request: Request, status: int, sent: int, took: float) -> str:
    """Return a request as JSON. Without what follows the question mark: that may hold what somebody searches for."""
    who = getattr(request.state, "who", None)
    return json.dumps(
        {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "address": address(request),
            "who": who.name if who else None,
            "method": request.method,
            "path": request.scope["path"],
            "status": status,
            "sent_bytes": sent,
            "seconds": round(took, 6),
        }
    )


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT") else "-"
