"""The view finding over findings that are given: the severity that a cost allows, the order, and what follows from what."""

from __future__ import annotations

import duckdb
import pytest

from perfcase.catalogue.rules import fired_columns, load_rules, sorted_findings

Fired = tuple[str, str, str, float | None, list[str] | None]


def found(fired: list[Fired], follows: dict[str, str] | None = None) -> list[tuple]:
    """The finding, severity, subject and cause of each row of the view."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE finding_rule (finding VARCHAR, title VARCHAR, means VARCHAR, next VARCHAR, evidence VARCHAR, follows_from VARCHAR)"
        )
        for rule in {row[0] for row in fired}:
            connection.execute(
                "INSERT INTO finding_rule VALUES ($1, '', '', '', '', $2)", [rule, (follows or {}).get(rule)]
            )
        connection.execute(f"CREATE TABLE fired ({fired_columns()})")
        connection.execute("CREATE TABLE workload_time AS SELECT 1 AS run_ns, 100000 AS total_ns")
        for finding, severity, subject, score, about in fired:
            connection.execute(
                "INSERT INTO fired VALUES ($1, $2, $3, '', $4, NULL, NULL, $5)",
                [finding, severity, subject, score and round(score * 100000), about],
            )
        rows = connection.execute(sorted_findings("fired")).fetchall()
    return [(row[0], row[1], row[2], row[6]) for row in rows]


@pytest.mark.parametrize(
    ("severity", "score", "is_now"),
    [
        ("critical", 0.01, "critical"),
        ("critical", 0.00999, "warning"),
        ("critical", 0.00099, "note"),
        ("critical", None, "critical"),
        ("warning", 0.001, "warning"),
        ("warning", 0.0, "note"),
        ("warning", None, "warning"),
        ("note", 1.0, "note"),
    ],
)
def test_a_severity_is_as_high_as_its_cost_allows(severity: str, score: float | None, is_now: str) -> None:
    assert found([("a", severity, "x", score, None)]) == [("a", is_now, "x", None)]


def test_what_cost_most_is_first_and_what_is_not_known_last_of_its_severity() -> None:
    rows: list[Fired] = [
        ("a", "warning", "unknown", None, None),
        ("b", "warning", "little", 0.1, None),
        ("c", "critical", "felt", 0.05, None),
        ("d", "warning", "much", 0.9, None),
        ("e", "critical", "untouched", 0.0, None),
    ]
    assert [row[2] for row in found(rows)] == ["felt", "much", "little", "unknown", "untouched"]


def test_a_consequence_stands_behind_its_cause_where_the_worst_of_both_would() -> None:
    rows: list[Fired] = [
        ("answers", "critical", "shop", 0.3, ["disk sda"]),
        ("answers", "critical", "bank", 0.2, ["disk sdc"]),
        ("slow", "warning", "sda", 0.4, ["disk sda"]),
        ("slow", "warning", "sdb", 0.5, ["disk sdb"]),
        ("cache", "note", "the cache", 0.1, ["disk sda"]),
        ("other", "critical", "else", 0.35, None),
    ]
    follows = {"answers": "slow, other", "slow": "cache"}
    assert found(rows, follows) == [
        ("cache", "note", "the cache", None),
        ("answers", "critical", "shop", "cache"),
        ("slow", "warning", "sda", "cache"),
        ("other", "critical", "else", None),
        ("answers", "critical", "bank", None),
        ("slow", "warning", "sdb", None),
    ]


def test_a_consequence_has_at_most_six_causes_before_it() -> None:
    rules = load_rules()
    for rule in rules.values():
        for cause in rule.follows_from:
            assert rules[cause].about, f"{rule.name} follows from {cause}, which does not say what it is about"
            seconds = set(rules[cause].follows_from)
            thirds = {third for second in seconds for third in rules[second].follows_from}
            fourths = {fourth for third in thirds for fourth in rules[third].follows_from}
            fifths = {fifth for fourth in fourths for fifth in rules[fourth].follows_from}
            sixths = {sixth for fifth in fifths for sixth in rules[fifth].follows_from}
            deepest = {seventh for sixth in sixths for seventh in rules[sixth].follows_from}
            assert not deepest, f"{rule.name} → {cause} → … → {deepest}: the view looks six rules back"


def test_what_failed_counts_where_it_is_more_than_the_time() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE fired ({fired_columns()})")
        connection.execute("CREATE TABLE workload_time AS SELECT 500 AS run_ns, 1000 AS total_ns")
        connection.execute(
            "CREATE TABLE finding_rule AS SELECT 'a' AS finding, '' AS title, '' AS means, '' AS next, '' AS evidence, NULL::VARCHAR AS follows_from"
        )
        connection.execute(
            "INSERT INTO fired SELECT 'a', 'note', s, '', c, o, r, NULL FROM (VALUES ('both', 100, NULL, 0.2), ('time', 300, NULL, 0.2), ('failed', NULL, NULL, 0.1), ('ran', NULL, 0.9, NULL),"
            " ('all', 5000, NULL, NULL), ('none', NULL, NULL, NULL)) AS v (s, c, o, r)"
        )
        rows = connection.execute(f"SELECT subject, cost_ns, score FROM ({sorted_findings('fired')})").fetchall()
    assert rows == [
        ("all", 5000, 1.0),
        ("ran", 450, 0.45),
        ("time", 300, 0.3),
        ("both", 100, 0.2),
        ("failed", None, 0.1),
        ("none", None, None),
    ]
