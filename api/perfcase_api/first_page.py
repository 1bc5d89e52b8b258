"""What a capture's first page asks, as api/web/src/pages/overview.tsx does, and the charts of its time line (line/line.tsx). The import answers
it, so that both are there at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress

from perfcase.case import store
from perfcase.case.opening import Opened
from perfcase.catalogue.charts import Chart, charts
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, parameters
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.operations import findings, view
from perfcase_api.question import FORMAT, ROWS

Question = view.Request | findings.Request

_PAGES = ("timeline", "lines")
"""Whose charts: those of the first page come first, and get the room."""
_INTERVAL = "interval_ns"
_POINTS = 400
_CHART_ROWS = 100_000
_SEVERE = "level IN ('emerg', 'alert', 'crit', 'err', 'warn') AND is_in_capture"
_MESSAGES_MAX = 200
_BYTES_MAX = 2 << 20
"""Text of all answers together."""


def questions(duration_ns: int | None) -> list[Question]:
    """Return the questions, in an order that stays the same. ``duration_ns``: of the capture; without it there is no time line."""
    asked: list[Question] = [findings.Request(limit=ROWS, fmt=FORMAT)]
    asked += [view.Request(name=name, limit=ROWS, fmt=FORMAT) for name in ("capture", "data_quality")]
    asked.append(view.Request(name="finding_coverage", where="NOT is_judged", limit=ROWS, fmt=FORMAT))
    if not duration_ns or duration_ns <= 0:
        return asked
    asked.append(view.Request(name="view_coverage", where="kind = 'view'", limit=ROWS, fmt=FORMAT))
    asked.append(view.Request(name="kernel_log", where=_SEVERE, limit=_MESSAGES_MAX, fmt=FORMAT))
    for of, chart in _charts():
        finely = (f"{_INTERVAL}={step(duration_ns)}",) if _INTERVAL in parameters(load_views(), of.name) else ()
        asked.append(view.Request(name=of.name, where=chart.where, settings=finely, limit=_CHART_ROWS, fmt="columns"))
    # Two charts of a view are one question.
    return list(dict.fromkeys(asked))


def step(duration_ns: int) -> int:
    """Return a round interval in ns that gives about 400 of them."""
    scale = 10**6
    while True:
        for part in (1, 2, 5):
            if part * scale * _POINTS >= duration_ns:
                return part * scale
        scale *= 10


def answers(
    case: store.Case,
    opened: Opened,
    duration_ns: int | None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[str | None]:
    """Return the text of the answer to each question; None where there is none, or one that is long. ``opened`` has the views worked out."""
    found: list[str | None] = []
    room = _BYTES_MAX
    asked = questions(duration_ns)
    for number, request in enumerate(asked):
        progress(number, len(asked))
        text = None
        with suppress(PerfcaseError, duckdb.Error):
            if isinstance(request, view.Request) and request.settings:
                # With another interval, what is worked out is of no use.
                with Opened(case) as other:
                    text = _answer(request, other)
            else:
                text = _answer(request, opened)
        if text is not None and len(text) > room:
            text = None
        room -= len(text or "")
        found.append(text)
    return found


def _answer(request: Question, opened: Opened) -> str:
    written = io.StringIO()
    with redirect_stdout(written), redirect_stderr(io.StringIO()):
        (findings if isinstance(request, findings.Request) else view).run(request, opened).write()
    return written.getvalue()


def _charts() -> Iterator[tuple[View, Chart]]:
    for page in _PAGES:
        for of in load_views().values():
            for chart in charts(of):
                if chart.page == page:
                    yield of, chart
