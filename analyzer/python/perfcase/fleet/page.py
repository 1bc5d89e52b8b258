"""The answer for people: what was compared, a line a capture, the curves, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from perfcase.fleet.bands import BAND_MIN, VALUES_MIN, Split
from perfcase.fleet.captures import Capture, SkippedCapture
from perfcase.fleet.metric import Metric
from perfcase.fleet.scan import COLUMNS, Scan
from perfcase.fleet.timeline import Answer
from perfcase.lazy import duckdb, rich
from perfcase.terminal import render
from perfcase.terminal.drawing import SPARK_MAX, spark
from perfcase.text import plural, safe, shorten

_NAMES_MAX = 20
"""Hosts of a band, or captures with the same problem, that are named."""
_LABEL_MAX = 30


class Page:
    """What ``perfcase history`` prints."""

    def __init__(self, console: rich.console.Console, answer: Answer, wanted: Metric | None) -> None:
        self._console = console
        self._answer = answer
        self._wanted = wanted

    def write(
        self,
        connection: duckdb.DuckDBPyConnection,
        left_out: Sequence[SkippedCapture],
        *,
        limit: int | None,
        plot: bool,
        bands: bool,
    ) -> None:
        """Print the whole answer."""
        if self._wanted:
            self._line(self._wanted.describe(), "bold")
        usual = self._answer.baseline
        if usual:
            self._line(
                f"baseline: median {_figure(usual.median)}, MAD {_figure(usual.mad)}, of {plural(usual.count, 'capture')}"
            )
        if bands:
            for line in self._bands(self._answer.split):
                self._line(line)
        self._table(connection, limit)
        if plot and self._wanted:
            self._curves()
        self._problems(left_out)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(rich.text.Text(safe(text), style=style), soft_wrap=True)

    def _table(self, connection: duckdb.DuckDBPyConnection, limit: int | None) -> None:
        hidden = ("baseline_median", "baseline_mad", "problem")
        empty = [
            name for name in ("ticket", "note", "labels") if not any(getattr(c, name) for c in self._answer.captures)
        ]
        names = [name for name in self._answer.columns() if name not in hidden and name not in empty]
        most = render.TABLE_ROWS_MAX if limit is None else limit or len(self._answer.captures)
        most = min(most, len(self._answer.captures))
        rows = connection.execute(f"SELECT {', '.join(names)} FROM history LIMIT {most}").fetchall()
        self._console.print(render.table_of(names, rows), crop=False)
        count = plural(len(self._answer.captures), "capture")
        self._line(count if most == len(self._answer.captures) else f"the first {most:,} of {count}", "dim")

    def _curves(self) -> None:
        """Print one sparkline per group. All have the same scale, so that they are comparable."""
        groups = {
            "all" if self._answer.order == "time" else key or "-": [self._answer.value(capture) for capture in group]
            for key, group in self._answer.groups().items()
        }
        most = max((value for values in groups.values() for value in values if value is not None), default=0.0)
        width = max(len(shorten(safe(key), _LABEL_MAX)) for key in groups)
        room = max(min(self._console.width - width - 40, SPARK_MAX), 10)
        for key, values in groups.items():
            known = [value for value in values if value is not None]
            if known:
                ends = f"{_figure(min(known))} to {_figure(max(known))}"
                line = rich.text.Text(f"{shorten(safe(key), _LABEL_MAX):<{width}}  {ends:<24}  ")
                self._console.print(line.append(spark(values, most, room), style="cyan"), soft_wrap=True)

    def _bands(self, split: Split | None) -> list[str]:
        count = sum(self._answer.value(capture) is not None for capture in self._answer.captures)
        if split is None:
            if count < VALUES_MIN:
                return [f"bands: cannot be judged with {plural(count, 'figure')}; {VALUES_MIN} are needed"]
            return [f"no bands: no gap with {BAND_MIN} or more figures on either side"]
        gap = f"the gap is {split.separation:.3g} times the spread within, {split.needed:.2g} are needed"
        if not split.is_banded:
            return [f"no bands: the best split is at {_figure(split.below)} to {_figure(split.above)}; {gap}"]
        times = f", {split.times:.3g} times as much" if split.times else ""
        sentence = (
            f"two bands: {split.low_count} of {count} low (median {_figure(split.low_median)}),"
            f" {split.high_count} high (median {_figure(split.high_median)}{times}); {gap}"
        )
        return [sentence, *(f"  {line}" for line in self._hosts())]

    def _hosts(self) -> list[str]:
        """Return which host is in which band, by its last capture."""
        now: dict[str, tuple[str, str]] = {}
        bands = self._answer.bands()
        for capture in sorted(self._answer.captures, key=lambda capture: capture.time_key):
            if capture.name in bands:
                now[_host(capture)] = bands[capture.name]
        lines = []
        for band in ("low", "high"):
            names = [f"{host} (since {first})" for host, (its, first) in sorted(now.items()) if its == band]
            more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
            lines.append(f"{band}: {', '.join(names[:_NAMES_MAX]) or 'no host any more'}{more}")
        return lines

    def _problems(self, left_out: Sequence[SkippedCapture]) -> None:
        problems = [
            SkippedCapture(capture.name, reading.problem)
            for capture in self._answer.captures
            if (reading := self._answer.readings.get(capture.name)) and reading.problem
        ]
        _print_left_out(self._console, [*problems, *left_out])


def print_scan(
    console: rich.console.Console,
    connection: duckdb.DuckDBPyConnection,
    found: Scan,
    left_out: Sequence[SkippedCapture],
    limit: int | None,
) -> None:
    """Print the figures that form two bands, the furthest apart first."""
    most = render.TABLE_ROWS_MAX if limit is None else limit or len(found.banded)
    listed = "array_to_string(low_hosts, ' ') AS low_hosts, array_to_string(high_hosts, ' ') AS high_hosts"
    names = [name for name in COLUMNS if name not in ("needed", "low_hosts", "high_hosts")]
    if found.banded:
        rows = connection.execute(f"SELECT {', '.join(names)}, {listed} FROM banded LIMIT {most}").fetchall()
        console.print(render.table_of([*names, "low_hosts", "high_hosts"], rows), crop=False)
    sentence = f"{plural(len(found.banded), 'figure')} of {found.judged:,} in two bands; --view NAME --measure COLUMN says since when"
    console.print(rich.text.Text(sentence, style="dim"), soft_wrap=True)
    _print_left_out(console, [*(SkippedCapture(capture.name, reason) for capture, reason in found.problems), *left_out])


def _print_left_out(console: rich.console.Console, left_out: Sequence[SkippedCapture]) -> None:
    """Print one line per reason."""
    reasons: dict[str, list[str]] = {}
    for entry in left_out:
        reasons.setdefault(entry.reason, []).append(entry.name)
    for reason, names in reasons.items():
        more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
        sentence = f"not in the answer: {', '.join(names[:_NAMES_MAX])}{more}: {reason}"
        console.print(rich.text.Text(safe(sentence), style="yellow"), soft_wrap=True)


def _host(capture: Capture) -> str:
    return capture.host or capture.name


def _figure(value: float) -> str:
    return format(value, ".6g")
