"""The figure of each of many captures: kept, or of rows that are kept, or worked out and kept."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from perfcase.case import database, query, store
from perfcase.case.kept import Kept, kept_of_all
from perfcase.case.span import recorded_in
from perfcase.case.wholeness import Tables
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.errors import PerfcaseError
from perfcase.fleet import figures, metric, rows
from perfcase.fleet.captures import Capture, Progress
from perfcase.fleet.metric import Reading
from perfcase.lazy import duckdb

_MANY = 50
"""Captures for which one database is made."""

_Connect = Callable[[], "duckdb.DuckDBPyConnection"]


def read_all(
    wanted: metric.Metric,
    captures: Mapping[str, Capture],
    progress: Progress,
    given: Mapping[str, Reading] | None = None,
) -> dict[str, Reading]:
    """Return the figure of each capture, by the captures' names; a figure of the usual rows is kept beside the import. ``given``: those
    that somebody keeps elsewhere.

    Raises:
        PerfcaseError: it fails in all of them, so the question is wrong. A failure in some is reported, and does not stop the others.
    """
    found = {name: reading for name, reading in (given or {}).items() if name in captures}
    errors = []
    missing = [capture for capture in captures.values() if capture.name not in found]
    kept = kept_in({capture.folder: capture.tables for capture in missing})
    known = {place: known for place, each in kept.items() if (known := _recalled(each, wanted))}
    known |= rows.read_many(wanted, {place: each for place, each in kept.items() if place not in known})
    found |= {capture.name: known[capture.folder] for capture in missing if capture.folder in known}
    missing = [capture for capture in missing if capture.folder not in known]
    durations = {capture.folder: capture.duration_ns for capture in missing}
    with asked(wanted, [capture.folder for capture in missing], lambda folder, _: durations[folder]) as work:
        for number, (capture, reading) in enumerate(zip(missing, work, strict=True)):
            progress(capture.name, number, len(missing))
            try:
                found[capture.name] = reading.result()
            except PerfcaseError as error:
                errors.append(error)
                found[capture.name] = Reading(0, None, None, str(error))
                continue
            if wanted.is_usual and capture.folder in kept:
                figures.keep(kept[capture.folder], {wanted.view: figures.to_keep({wanted: found[capture.name]})})
    if errors and len(errors) == len(found):
        raise errors[0]
    return found


@contextmanager
def asked(
    wanted: metric.Metric,
    folders: Sequence[Path],
    duration_ns_of: Callable[[Path, duckdb.DuckDBPyConnection], int | None],
) -> Iterator[Sequence[Future[Reading]]]:
    """Provide the figure of each imported folder, in their order, while all CPUs work them out. Who leaves the block waits for those that are
    at work, and not for the rest."""
    with ExitStack() as stack:
        with duckdb.cursor() as connection:
            threads = query.thread_count(connection)
        shared = _shared(folders, wanted, stack, threads)

        def read(folder: Path, connection: duckdb.DuckDBPyConnection) -> Reading:
            return metric.read(connection, wanted, duration_ns_of(folder, connection))

        def ask(folder: Path) -> Reading:
            if folder in shared:
                # A file that DuckDB trips over may have spoilt the database for all: then it is asked on its own.
                with suppress(PerfcaseError, duckdb.Error), shared[folder]() as connection:
                    return read(folder, connection)
            with query.sql_errors(), query.connect(folder, threads) as connection:
                return read(folder, connection)

        pool = stack.enter_context(ThreadPoolExecutor(threads))
        # Who gives up does not wait for the rest.
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield [pool.submit(ask, folder) for folder in folders]


def kept_in(folders: Mapping[Path, Tables | None]) -> dict[Path, Kept]:
    """Return what each of the imported folders keeps, whose tables may have been looked at already."""
    found = {}
    for folder, tables in folders.items():
        with suppress(OSError):
            found[folder] = kept_of_all(folder.resolve(), tables)
    return found


def _recalled(kept: Kept, wanted: metric.Metric) -> Reading | None:
    return figures.read_kept(figures.recall(kept, wanted.view), wanted) if wanted.is_usual else None


def others_of(wanted: metric.Metric, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return which columns that the schema does not describe a figure may be of, in an import that says ``info`` of itself. Events of which
    the figure says nothing are as good as none."""
    closure = with_dependencies(load_views(), [wanted.view, *recorded_in(wanted.view)])
    read = {name for view in closure.values() for name in view.sources}
    named = {wanted.view, *closure, *read, *re.findall(r"\w+", wanted.where or "")}
    return {name: each for name, each in info["other_columns"].items() if {name, f"event_{name}"} & named}


def _shared(folders: Sequence[Path], wanted: metric.Metric, stack: ExitStack, sharers: int) -> dict[Path, _Connect]:
    """Return how to connect to one database for all captures that have the same columns for the figure, if there is one."""
    groups: defaultdict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        with suppress(PerfcaseError, KeyError, AttributeError):
            others = others_of(wanted, store.read_info(folder))
            groups[json.dumps(others, sort_keys=True)].append(folder)
    found: dict[Path, _Connect] = {}
    for others, alike in groups.items():
        template = None
        with suppress(PerfcaseError, duckdb.Error, TypeError, ValueError):
            # To make one takes as long as to open some dozens.
            make = database.template if len(alike) >= _MANY else database.template_at_hand
            template = make(json.loads(others)) if len(alike) > 1 else None
        if template:
            places = {folder: folder.resolve() for folder in alike}
            connect = stack.enter_context(query.one_database(template, [*places.values()], sharers))
            found |= {folder: partial(connect, place) for folder, place in places.items()}
    return found
