"""The SQL kit: each part on rows worked by hand, how it is expanded, and that views use it."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from perfcase.catalogue.kit import Part, expand, load_kit
from perfcase.errors import PerfcaseError

ROOT = Path(__file__).parents[2]
SQL = sorted([*(ROOT / "schema" / "views").rglob("*.sql"), *(ROOT / "schema" / "findings").glob("*.sql")])
ADDED_UP = ROOT / "analyzer" / "python" / "perfcase" / "catalogue" / "histogram.py"
LARGEST = 9223372036854775807

NO_SOURCE = "proc_command AS (SELECT 1 WHERE false), source AS (SELECT true AS is_timeline, 'trace_dat' AS kind)"
OF_PERF = NO_SOURCE.replace("trace_dat", "perf_data")


def value(expression: str) -> object:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {expand(expression, 'test')}").fetchone()[0]


def test_the_first_outgoing_port_is_the_same_in_sql_and_in_the_importer() -> None:
    ports = (ROOT / "analyzer" / "crates" / "perfcase-import" / "src" / "ports.rs").read_text()
    (port,) = re.findall(r"const FIRST_OUTGOING_PORT: u16 = ([\d_]+);", ports)
    for path in ("schema/kit/other_end.sql", "schema/findings/calls_time_out.sql", "tests/oracles/sql/socket_turn.sql"):
        found = re.findall(
            r"AS INTEGER\) (?:<|>=) (\d{5})|_port < (\d{5})|, 65535\) >= (\d{5})", (ROOT / path).read_text()
        )
        assert {int("".join(of)) for of in found} == {int(port)}, path


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        # 1.5 µs, which printf rounds to even, and what DECIMAL cannot hold.
        ("@seconds(1234567891)", "1.234568"), ("@seconds(1500)", "0.000002"), ("@seconds(-2000)", "-0.000002"), ("@seconds(0)", "0.000000"),
        (f"@seconds({LARGEST})", "9223372036.854776"), ("@seconds(NULL)", None),
        ("@network_place(NULL, 'a', 1)", "of this host"), ("@network_place(7, NULL, NULL)", "in the network namespace 7"),
        ("@network_place(7, 'shop', 9)", "in the network namespace of shop (9)"),
        ("@plain_address('[::ffff:10.0.0.1]:80')", "10.0.0.1:80"), ("@plain_address('[::1]:80')", "[::1]:80"), ("@plain_address('10.0.0.1:80')", "10.0.0.1:80"),
        ("@plain_address('/run/[::ffff:1]:2')", "/run/[::ffff:1]:2"), ("@plain_address(NULL)", None),
        ("@other_end('10.0.0.1:80', '10.0.0.2:32768')", "10.0.0.2:*"), ("@other_end('[::1]:80', '[::1]:40000')", "[::1]:*"),
        ("@other_end('10.0.0.2:40000', '10.0.0.1:80')", "10.0.0.1:80"), ("@other_end('10.0.0.1:80', '10.0.0.2:32767')", "10.0.0.2:32767"),
        ("@other_end('10.0.0.1:40000', '10.0.0.2:40001')", "10.0.0.2:40001"), ("@other_end('/run/db:5', '/run/a:40000')", "/run/a:*"),
        ("@other_end(NULL, '10.0.0.1:40000')", "10.0.0.1:40000"), ("@other_end('10.0.0.1:80', NULL)", None),
        ("@by_interrupt('hardirq', 7)", True), ("@by_interrupt('softirq', 7)", False), ("@by_interrupt('softirq', 0)", True),
        ("@by_interrupt('task', 0)", False), ("@by_interrupt(NULL, 0)", False), ("@by_interrupt('softirq', NULL)", False),
        ("@collector('GC Thread#0')", True), ("@collector('G1 Conc#1')", True), ("@collector('.NET BGC')", True),
        ("@collector('G1 fan')", False), ("@collector('my GC Thread')", False), ("@collector(NULL)", None),
        ("@ratio(1, 4)", 0.25), ("@ratio(1 + 2, 0)", None), ("@ratio(NULL, 2)", None), ("@ratio(3, 1 + 1)", 1.5),
        # 4 in 1 s and 2 in 2 s, beside 1 s in which nobody knows.
        ("@rate(n, d) FROM (VALUES (4, 1000000000), (2, 2000000000), (NULL, 1000000000)) AS t (n, d)", 2.0), ("@rate(n, d) FROM (VALUES (4, 0)) AS t (n, d)", None),
        ("@mean(v, w) FROM (VALUES (1, 3), (5, 1), (NULL, 9)) AS t (v, w)", 2.0), ("@mean(v, w) FROM (VALUES (NULL, 1)) AS t (v, w)", None),
        (f"@mean(v, w) FROM (VALUES ({LARGEST}, {LARGEST})) AS t (v, w)", float(LARGEST)),
        ("@per_second(5, 500000000)", 10.0), ("@per_second(5, 0)", None), ("@per_second(NULL, 1)", None),
        # Forward, not at all, back after a reset, wrapped at 32 bits, at 64 bits never, from the lower half never.
        ("@counter_step(7, 5, 4294967296)", 2), ("@counter_step(5, 5, 4294967296)", 0), ("@counter_step(4, 5, 4294967296)", None),
        ("@counter_step(3, 4294967290, 4294967296)", 9), ("@counter_step(3, 4294967290, NULL)", None),
        ("@counter_step(3, 2147483647, 4294967296)", None), ("@counter_step(2147483648, 4294967290, 4294967296)", None),
        ("@counter_step(3, 4294967296, 4294967296)", None), ("@counter_step(3, NULL, 4294967296)", None),
        # What a hostile file says of a counter is a step that nobody knows, not an error.
        (f"@counter_step({LARGEST}, -5, 4294967296)", None), (f"@counter_step({LARGEST}, -5, NULL)", None),
        (f"@counter_step(-{LARGEST}, 4294967290, 4294967296)", None), (f"@cpu_time_step({LARGEST}, -5)", None),
        ("@cpu_time_step(7, 5)", 2), ("@cpu_time_step(4, 5)", 0), ("@cpu_time_step(4, NULL)", None),
        ("@bucket_min(0)", 0), ("@bucket_max(0)", 2), ("@bucket_min(1)", 0), ("@bucket_min(2)", 2), ("@bucket_max(3)", 4),
        ("@bucket_min(4)", 4), ("@bucket_min(1125899906842623)", 562949953421312), (f"@bucket_max({LARGEST})", LARGEST),
        ("@state_word('D')", "disk_sleep"), ("@state_word('x')", None),
        ("@severity(1 > 0, false)", "critical"), ("@severity(false, true)", "warning"), ("@severity(NULL, false)", "note"),
        ("@due('a', 'alarm', 'b', 'anon_inode:[eventpoll]', 'epoll_wait')", "an alarm of b: a timer sent a signal (in epoll_wait)"),
        ("@due('a', 'disk', 'b', 'sda', 'read')", "sda, by b (in read)"), ("@due('a', 'no_work', 'b', NULL, 'read')", "b, which had nothing to do (in read)"),
        ("@due('a', 'timeout', 'b', '10.0.0.9:80', 'poll')", "10.0.0.9:80, for which b waited in vain (in poll)"), ("@due('a', 'timeout', 'a', '10.0.0.9:80', NULL)", "10.0.0.9:80, in vain"),
        ("@due('a', 'timeout', 'b', NULL, 'poll')", "nothing that came, in vain, by b (in poll)"), ("@due('a', 'timeout', 'b', NULL, 'futex')", "a timed wait that nobody ended, by b (in futex)"),
        (f"x FROM (WITH {NO_SOURCE} SELECT @stranger(NULL) AS x)", False), (f"x FROM (WITH {OF_PERF} SELECT @stranger(NULL) AS x)", True),
        (f"x FROM (WITH {OF_PERF} SELECT @stranger(7) AS x)", False),
        ("@thread_of('worker', 'shop', 7)", "the thread worker of shop (7)"), ("@thread_of('shop', 'shop', 7)", "shop (7)"), ("@thread_of(NULL, 'shop', 7)", "shop (7)"),
        ("@thread_of('worker', NULL, 7)", "the thread worker of ? (7)"), ("@thread_of('worker', 'shop', NULL)", None),
        ("@size(0)", "0 B"), ("@size(1023)", "1023 B"), ("@size(1024)", "1.0 KiB"), ("@size(100000)", "97.7 KiB"), ("@size(1048576)", "1.0 MiB"), ("@size(5368709120)", "5.0 GiB"),
        ("@size(1099511627776)", "1.0 TiB"), ("@size(NULL)", None), ("@size(-9223372036854775808)", "-9223372036854775808 B"), (f"@size({LARGEST})", "8388608.0 TiB"),
        ("@step_ts(0, 10, 4)", 4), ("@step_ts(2, 10, 4)", 20),
        ("@step_interval(0, 10, 4, 95)", 6), ("@step_interval(2, 10, 4, 95)", 10), ("@step_interval(9, 10, 4, 95)", 5),
        ("list(step) FROM (SELECT @cut(5, 31, 10) AS step)", [0, 1, 2, 3]),
        ("list(step) FROM (SELECT @cut(5, 30, 10) AS step)", [0, 1, 2]),
        ("len(list(step)) FROM (SELECT @cut(0, 9000000000000, 1) AS step)", 100001),
        ("@total(n) FROM (VALUES (1), (2)) AS t (n)", 3), ("@total(n) FROM (VALUES (1::HUGEINT << 100)) AS t (n)", None),
        ("@total_where(n, n > 1) FROM (VALUES (1), (2)) AS t (n)", 2),
        ("@total_where(n, n > 9) FROM (VALUES (1), (2)) AS t (n)", None),
        ("@total_period(n) FROM (VALUES (1::UBIGINT << 63)) AS t (n)", 1 << 63), ("@total_period(n) FROM (VALUES (1::HUGEINT << 64)) AS t (n)", None),
        ("@total_period_or_zero(n, n > 9) FROM (VALUES (1)) AS t (n)", 0),
        ("@total_or_zero(n, n > 9) FROM (VALUES (1), (2)) AS t (n)", 0),
        # Up to 2 are 5, up to 4 are 99, up to 8 all 100: a bucket that reaches the part exactly is its end.
        *((f"@below({percent}, e, r, 100) FROM (VALUES (2, 5), (4, 99), (8, 100)) AS t (e, r)", end)
          for percent, end in ((0, 2), (5, 2), (6, 4), (50, 4), (99, 4), (100, 8))),
        ("@below(50, e, r, 1) FROM (VALUES (2, NULL)) AS t (e, r)", None),
        ("@product(3, 4096)", 12288), (f"@product({LARGEST}, 2)", None), (f"@product(-{LARGEST}, {LARGEST})", None), ("@product(NULL, 2)", None),
        ("@whole(2.5::DOUBLE)", 2), ("@whole(1e300)", LARGEST - 1023), ("@whole(-'infinity'::DOUBLE)", 1023 - LARGEST), ("@whole(NULL)", None),
        ("@call_argument('f', NULL, 3::UBIGINT, NULL, 'x86_64', 'socket')", "3<socket>"), ("@call_argument('f', NULL, 4294967196::UBIGINT, NULL, 'x86_64', NULL)", "AT_FDCWD"),
        ("@call_argument('p', NULL, 0::UBIGINT, NULL, 'x86_64', NULL)", "NULL"), ("@call_argument('x', NULL, 255::UBIGINT, NULL, 'x86_64', NULL)", "0xff"),
        ("@call_argument('l', NULL, 18446744073709551615::UBIGINT, NULL, 'x86_64', NULL)", "-1"), ("@call_argument('o', NULL, 420::UBIGINT, NULL, 'x86_64', NULL)", "0644"),
        ("@call_argument('-', NULL, 1::UBIGINT, NULL, 'x86_64', NULL)", None), ("@call_argument('d', NULL, 4294967295::UBIGINT, NULL, 'i386', NULL)", "-1"),
        ("@call_argument('d', 'set', 16::UBIGINT, 'A|B', 'x86_64', NULL)", "A|B"), ("@call_argument('d', 'set', 16::UBIGINT, NULL, 'x86_64', NULL)", "0x10"),
    ],
)  # fmt: skip
def test_a_part_gives(expression: str, wanted: object) -> None:
    assert value(expression) == wanted


def test_every_part_is_tested_and_used() -> None:
    used = set(re.findall(r"@([a-z_]+)\(", "\n".join(path.read_text() for path in [*SQL, ADDED_UP])))
    tested = set(re.findall(r"@([a-z_]+)\(", Path(__file__).read_text()))
    assert used == load_kit().keys()
    elsewhere = {
        "steps": "tests/views/scheduler, since it needs the view recorded_span",
        "buckets": "tests/views/scheduler, since it needs the table capture",
        "address": "tests/views/network",
    }
    assert load_kit().keys() - tested == elsewhere.keys()


def test_arguments_are_operands() -> None:
    kit = {"twice": Part("twice", "", ("x",), "2 * $x"), "both": Part("both", "", ("a", "b"), "@twice($a) - $b")}
    assert expand("@twice(a + b)", "x", kit) == "(2 * (a + b))"
    assert expand("f(@both(g(1, 2), ')')) AS y", "x", kit) == "f(((2 * g(1, 2)) - ')')) AS y"
    assert expand("SELECT 'an @ and @fired' AS x", "x", kit) == "SELECT 'an @ and @fired' AS x"


@pytest.mark.parametrize("wrong", ["@none(1)", "@ratio(1)", "@ratio(1, 2, 3)", "@ratio(1, (2)"])
def test_what_is_not_in_the_form_is_an_error(wrong: str) -> None:
    with pytest.raises(PerfcaseError, match="x"):
        expand(wrong, "x")


def test_a_circle_is_an_error() -> None:
    with pytest.raises(PerfcaseError, match="circle"):
        expand("@a(1)", "x", {"a": Part("a", "", ("x",), "@a($x)")})


def test_sums_are_the_kits() -> None:
    """A sum that is cast by hand may forget to survive a number that is too large."""
    assert [path.name for path in SQL if re.search(r"CAST\((coalesce\()?sum\(", path.read_text())] == []
