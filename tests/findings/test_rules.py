"""Every rule of schema/findings against rows worked out by hand: see README.md beside this file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfcase.catalogue.needs import Needs, Values, value_needs
from perfcase.catalogue.rules import load_rules
from perfcase.catalogue.schema import literal, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from tests.support import viewtest

HERE = Path(__file__).parent


def only_where_it_can_fire(rule: View, needs: Needs) -> View:
    """A rule is not asked where its filters leave nothing: here it is silent there."""

    def there(need: str | Values) -> str:
        if isinstance(need, str):
            return f"EXISTS (FROM {quote(need)})"
        listed = ", ".join(sorted(map(literal, need.values)))
        return f"EXISTS (FROM {quote(need.table)} WHERE {quote(need.column)} IN ({listed}))"

    alternatives = [" AND ".join(map(there, sorted(one, key=str))) or "true" for one in needs]
    return replace(
        rule, sql=f"SELECT * FROM (\n{rule.sql}\n) WHERE {' OR '.join(f'({each})' for each in sorted(alternatives))}"
    )


PLAIN = {name: rule.view() for name, rule in load_rules().items()}
NEEDS = value_needs(load_views() | PLAIN)
RULES = {name: only_where_it_can_fire(rule, NEEDS[name]) for name, rule in PLAIN.items()}
VIEWS = load_views() | RULES
START_NS = 500_000_000


def all_cases() -> list:
    found = []
    for path in sorted(HERE.glob("*.test")):
        found += [pytest.param(path, case, id=f"{path.stem}: {case.name}") for case in viewtest.parse(path)]
    return found


@pytest.mark.parametrize(("path", "case"), all_cases())
def test_rule(path: Path, case: viewtest.Case) -> None:
    failures = viewtest.check(case, VIEWS)
    if failures:
        pytest.fail(f"{path.name}, case '{case.name}'\n" + "\n".join(failures), pytrace=False)


@pytest.mark.parametrize("rule", sorted(name for name, rule in RULES.items() if "recorded_span" in rule.sources))
def test_the_recorders_start_is_no_part_of_a_share(rule: str) -> None:
    """The file's first case, which just fires, half a second later: tracing began when it did, the capture before."""
    case = viewtest.parse(HERE / f"{rule}.test")[0]
    with viewtest.filled(case, views=VIEWS) as connection:
        for entry in case.inputs:
            for column in (c for c in entry.columns if c.endswith("ts_ns")):
                connection.execute(f"UPDATE {entry.table} SET {column} = {column} + {START_NS}")
        connection.execute(f"UPDATE capture SET duration_ns = duration_ns + {START_NS}")
        connection.execute("DELETE FROM source")
        connection.execute(
            "INSERT INTO source (source_id, since_ts_ns, is_timeline, is_syscall_source) VALUES (0, $1, true, true)",
            [START_NS],
        )
        (query,) = case.queries
        rows = [[viewtest.render(cell) for cell in row] for row in connection.execute(query.sql).fetchall()]
    assert rows == query.rows != []


@pytest.mark.parametrize("rule", sorted(name for name, rule in RULES.items() if "recorded_span" in rule.sources))
def test_nothing_is_a_share_of_an_unknown_time(rule: str) -> None:
    """The file's first case, which just fires, in a recording whose length nothing tells: least() and greatest() take the
    NULL for no bound."""
    case = viewtest.parse(HERE / f"{rule}.test")[0]
    with viewtest.filled(case, views=VIEWS) as connection:
        connection.execute("DELETE FROM source")
        connection.execute("UPDATE capture SET duration_ns = 0")
        (query,) = case.queries
        assert connection.execute(query.sql).fetchall() == []
