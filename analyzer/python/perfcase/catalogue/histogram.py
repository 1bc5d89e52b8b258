"""A histogram added up by some of its columns: what ``perfcase view NAME --by`` and the page's histograms ask."""

from __future__ import annotations

from collections.abc import Sequence

from perfcase.catalogue.kit import expand
from perfcase.catalogue.plot import Histogram, plan
from perfcase.catalogue.schema import quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError

RANK = "rank"
_ROWS = "rows_of_the_view"


def keys_of(view: View | None, by: str) -> tuple[Histogram, tuple[str, ...]]:
    """Return a view's histogram, and the columns that ``by`` names: ``comm, operation``, or ``-`` for none.

    Raises:
        PerfcaseError: the view is no histogram, or has no such column that is neither a bucket nor a count.
    """
    how = plan(view) if view else None
    if not isinstance(how, Histogram):
        names = [name for name, each in load_views().items() if isinstance(plan(each), Histogram)]
        raise PerfcaseError("usage", f"--by {by}: only a histogram is added up", f"such as {', '.join(sorted(names))}")
    names = [] if by.strip() == "-" else [name.strip() for name in by.split(",")]
    unknown = [name for name in names if name not in how.keys]
    if unknown:
        raise PerfcaseError(
            "usage", f"--by {by}: no such column: {', '.join(unknown)}", f"it has {', '.join(how.keys)}"
        )
    return how, tuple(dict.fromkeys(names))


def added_up(how: Histogram, keys: Sequence[str], rows: str) -> str:
    """Return the SELECT that adds up a histogram by ``keys``, and over all of ``rows``, a SELECT of the view's rows.

    Its rows are buckets. ``rank`` is 0 for all together, 1 for the group with the largest count, and so on. ``total_count`` is the
    group's count, ``<what>_ratio`` the bucket's share of it. ``below_p50_<unit>`` is the end of the bucket below which half of the
    group is, ``below_p99_<unit>`` the same of 99 %, ``below_max_<unit>`` the end of its last bucket.
    """
    named = [quote(name) for name in keys]
    low, high, count = (quote(name) for name in (how.low, how.high, how.count))
    is_all = f"grouping({', '.join(named)}) > 0" if named else "true"
    sets = f"({', '.join([*named, 'low', 'high'])}){', (low, high)' if named else ''}"
    group = ", ".join(["is_all", *named])
    unit = how.low.partition("bucket_min")[2]
    below = {"p50": 50, "p99": 99, "max": 100}
    ends = ", ".join(f"@below({percent}, high, reached, total) AS {name}" for name, percent in below.items())
    shown = [RANK, *named, f"low AS {low}", f"high AS {high}", f"n AS {count}"]
    shown += [f"n / total AS {quote(how.count.removesuffix('_count') + '_ratio')}", "total AS total_count"]
    shown += [f"{name} AS {quote(f'below_{name}{unit}')}" for name in below]
    sql = (
        f"WITH bucket AS (SELECT {''.join(f'{name}, ' for name in named)}{is_all} AS is_all, {low} AS low, {high} AS high,"
        f" @total({count}) AS n FROM ({_ROWS}) GROUP BY GROUPING SETS ({sets})),"
        f" grown AS (SELECT *, sum(n) OVER (PARTITION BY {group} ORDER BY low) AS reached,"
        f" sum(n) OVER (PARTITION BY {group}) AS total FROM bucket),"
        f" ranked AS (SELECT *, dense_rank() OVER (ORDER BY is_all DESC, {', '.join(['total DESC', *named])}) - 1 AS {RANK}"
        f" FROM grown), ending AS (SELECT {RANK}, {ends} FROM ranked GROUP BY {RANK})"
        f" SELECT {', '.join(shown)} FROM ranked JOIN ending USING ({RANK}) ORDER BY {RANK}, low"
    )
    # What a user wrote is put in last: an @ in it is not a part of the kit.
    return expand(sql, "a histogram added up").replace(_ROWS, rows)
