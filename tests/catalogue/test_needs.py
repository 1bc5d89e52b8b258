"""Which tables a view needs, from its SELECT."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.catalogue.formula import formulas
from perfcase.catalogue.needs import Values, value_needs, view_needs
from perfcase.catalogue.schema import Column
from perfcase.catalogue.view import View


def view(sql: str, *columns: str, name: str = "v") -> View:
    return View(name, "g", "d", "g", (), (), tuple(Column(column, "d") for column in columns), sql, Path(name))


@pytest.mark.parametrize(
    ("sql", "needs"),
    [
        ("SELECT * FROM a", ["a"]),
        ("SELECT * FROM a JOIN b USING (x)", ["a b"]),
        ("SELECT * FROM a CROSS JOIN b", ["a b"]),
        ("SELECT * FROM a, b", ["a b"]),
        ("SELECT * FROM a LEFT JOIN b USING (x)", ["a"]),
        ("SELECT * FROM a RIGHT JOIN b USING (x)", ["b"]),
        ("SELECT * FROM a FULL JOIN b USING (x)", ["a", "b"]),
        ("SELECT * FROM a ASOF JOIN b USING (x)", ["a b"]),
        ("SELECT * FROM a ASOF LEFT JOIN b USING (x)", ["a"]),
        ("SELECT * FROM a SEMI JOIN b USING (x)", ["a b"]),
        ("SELECT * FROM a ANTI JOIN b USING (x)", ["a"]),
        ("SELECT x FROM a UNION ALL SELECT x FROM b", ["a", "b"]),
        ("SELECT x FROM a INTERSECT SELECT x FROM b", ["a b"]),
        ("SELECT x FROM a EXCEPT SELECT x FROM b", ["a"]),
        ("SELECT x FROM a UNION ALL SELECT x FROM a JOIN b USING (x)", ["a"]),
        ("SELECT * FROM a WHERE x IN (SELECT x FROM b) AND y > 1", ["a b"]),
        ("SELECT * FROM a WHERE x IN (SELECT x FROM b) OR y > 1", ["a"]),
        ("SELECT * FROM a WHERE x NOT IN (SELECT x FROM b)", ["a"]),
        ("SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x)", ["a b"]),
        ("SELECT *, (SELECT max(x) FROM b) FROM a", ["a"]),
        ("WITH c AS (SELECT * FROM a), d AS (SELECT * FROM c) SELECT * FROM d LEFT JOIN b USING (x)", ["a"]),
        ("SELECT max(x) FROM a", [""]),
        ("SELECT max(x) OVER () FROM a", ["a"]),
        ("SELECT x, max(y) FROM a GROUP BY x", ["a"]),
        ("SELECT x, max(y) FROM a GROUP BY ALL", ["a"]),
        ("SELECT x, max(y) FROM a GROUP BY GROUPING SETS ((x), ())", [""]),
        ("SELECT * FROM a LEFT JOIN (SELECT max(x) FROM b) ON true", ["a"]),
        ("SELECT * FROM (VALUES (1)) AS one JOIN a ON true", ["a"]),
        ("SELECT * FROM a UNPIVOT (x FOR y IN (b, c))", ["a"]),
        ("SELECT x, unnest(l) FROM a", ["a"]),
    ],
)  # fmt: skip
def test_needs(sql: str, needs: list[str]) -> None:
    found = view_needs({"v": view(sql)})["v"]
    assert found == frozenset(frozenset(one.split()) for one in needs)


@pytest.mark.parametrize(
    ("sql", "needs"),
    [
        ("SELECT * FROM syscall WHERE name = 'read'", ["syscall syscall.name=read"]),
        ("SELECT * FROM syscall WHERE name IN ('read', 'write') AND ret > 0", ["syscall syscall.name=read,write"]),
        ("SELECT * FROM syscall AS s WHERE s.name = 'a' AND s.errno_name = 'b'", ["syscall syscall.name=a syscall.errno_name=b"]),
        ("SELECT * FROM syscall WHERE name = 'a' OR errno_name = 'b' AND ret > 0", ["syscall syscall.name=a", "syscall syscall.errno_name=b"]),
        ("SELECT * FROM syscall WHERE name = 'a' OR ret > 0", ["syscall"]),
        ("SELECT * FROM syscall WHERE name <> 'a'", ["syscall"]),
        ("SELECT * FROM syscall WHERE name NOT IN ('a')", ["syscall"]),
        ("SELECT * FROM syscall WHERE NOT (name = 'a')", ["syscall"]),
        ("SELECT * FROM syscall WHERE (name = 'a') IS NOT TRUE", ["syscall"]),
        ("SELECT * FROM syscall WHERE name IN ('a', NULL)", ["syscall"]),
        ("SELECT * FROM syscall WHERE name = fd::VARCHAR", ["syscall"]),
        ("SELECT * FROM syscall WHERE ret = 1", ["syscall"]),
        ("SELECT *, name = 'a' AS is_a FROM syscall", ["syscall"]),
        ("SELECT count(*) FILTER (name = 'a') AS n FROM syscall GROUP BY utid", ["syscall"]),
        ("SELECT utid FROM syscall GROUP BY utid HAVING min(name) = 'a'", ["syscall"]),
        ("SELECT * FROM syscall QUALIFY lag(name) OVER (ORDER BY ts_ns) = 'a'", ["syscall"]),
        # Where there are two tables, only a name with its table says whose column it is.
        ("SELECT * FROM syscall AS s JOIN descriptor AS d USING (utid) WHERE name = 'a' AND d.kind = 'b'", ["syscall descriptor descriptor.kind=b"]),
        ("SELECT * FROM syscall AS s JOIN descriptor AS d ON d.fd = s.fd AND d.kind = 'b'", ["syscall descriptor descriptor.kind=b"]),
        ("SELECT * FROM syscall AS s LEFT JOIN descriptor AS d ON d.fd = s.fd AND d.kind = 'b'", ["syscall"]),
        ("SELECT * FROM syscall AS s LEFT JOIN descriptor AS d USING (fd) WHERE d.kind = 'b'", ["syscall descriptor.kind=b"]),
        ("SELECT * FROM syscall AS s ASOF JOIN blame AS b ON b.utid = s.utid AND b.ts_ns <= s.ts_ns AND b.cause = 'disk'", ["syscall blame blame.cause=disk"]),
        # A step is no table, whatever its name.
        ("WITH syscall AS (SELECT 'a' AS name) SELECT * FROM syscall WHERE name = 'b'", [""]),
        ("WITH c AS (SELECT * FROM syscall WHERE name = 'a') SELECT * FROM c", ["syscall syscall.name=a"]),
        ("SELECT * FROM (SELECT * FROM syscall WHERE name = 'a') AS s WHERE s.name = 'b'", ["syscall syscall.name=a"]),
        # The table outside is not the one whose column this is.
        ("SELECT * FROM syscall AS s WHERE EXISTS (SELECT 1 FROM descriptor AS d WHERE s.name = 'a' AND d.kind = 'b')", ["syscall descriptor descriptor.kind=b"]),
        ("SELECT * FROM syscall WHERE name = 'a' UNION ALL SELECT * FROM syscall WHERE name = 'b'", ["syscall syscall.name=a", "syscall syscall.name=b"]),
        ("SELECT count(*) AS n FROM syscall WHERE name = 'a'", [""]),
        ("SELECT * FROM syscall WHERE name = 'a' LIMIT 1", ["syscall syscall.name=a"]),
    ],
)  # fmt: skip
def test_needed_values(sql: str, needs: list[str]) -> None:
    def read(word: str) -> str | Values:
        table, _, rest = word.partition(".")
        column, _, values = rest.partition("=")
        return Values(table, column, frozenset(values.split(","))) if rest else word

    found = value_needs({"v": view(sql)})["v"]
    assert found == frozenset(frozenset(map(read, one.split())) for one in needs)


def test_a_column_that_a_view_hands_on_is_that_of_its_table() -> None:
    views = {
        "u": view(
            "SELECT s.name AS called, s.ret, upper(s.name) AS name FROM syscall AS s", "called", "ret", "name", name="u"
        ),
        "v": view("SELECT * FROM u WHERE called = 'a' AND name = 'B'"),
    }
    assert value_needs(views)["v"] == {frozenset({"syscall", Values("syscall", "name", frozenset(["a"]))})}


def test_a_view_needs_what_the_views_need_that_it_is_made_from() -> None:
    views = {
        "u": view("SELECT x FROM a UNION ALL SELECT x FROM b", name="u"),
        "v": view("SELECT * FROM u JOIN c USING (x)"),
    }
    assert view_needs(views)["v"] == {frozenset({"a", "c"}), frozenset({"b", "c"})}


@pytest.mark.parametrize(
    ("sql", "formula"),
    [
        ("SELECT a + b AS x FROM t", "a + b"),
        ("SELECT t.x FROM table_of_t AS t", "table_of_t.x"),
        ("SELECT x FROM t", "t.x"),
        ("WITH c AS (SELECT sum(y) AS z FROM t GROUP BY k) SELECT d.z AS x FROM c AS d", "sum(y)"),
        ("SELECT s.x FROM (SELECT count(*) AS x FROM t GROUP BY k) AS s", "count(*)"),
        ("WITH c AS (SELECT a * b AS x FROM t) SELECT * FROM c", "a * b"),
        ("SELECT r.x FROM t AS l LEFT JOIN u AS r USING (k)", "u.x"),
        ("SELECT a / nullif(b, 0) AS x FROM t", "a / nullif(b, 0)"),
        ("SELECT a AS x FROM t UNION ALL SELECT b FROM u", "t.a or u.b"),
        ("SELECT a AS x FROM t UNION ALL SELECT a FROM t", "t.a"),
        ("WITH c AS (SELECT 1 AS x FROM t UNION ALL SELECT y + 1 FROM u UNION ALL SELECT * FROM (SELECT 3 AS x)) SELECT * FROM c",
         "1 or y + 1 or 3"),
        ("SELECT a AS x FROM t EXCEPT SELECT b FROM u", "t.a"),
        (" UNION ALL ".join(f"SELECT {n:0100} + a AS x FROM t" for n in range(1, 6)), "5 expressions, in the parts of a UNION"),
        ("WITH c AS (SELECT x + 1 AS x FROM t), d AS (SELECT x FROM c) SELECT x FROM d", "x + 1"),
    ],
)  # fmt: skip
def test_formula(sql: str, formula: str) -> None:
    assert formulas(view(sql, "x")) == {"x": formula}
