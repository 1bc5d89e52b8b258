"""Hostile statements: each is refused, or gives rows of its capture; no file of the store is changed, nothing is read beyond."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import SAMPLES, Running, upload

REFUSED = """
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM read_json('/etc/passwd')
SELECT * FROM '/etc/passwd'
SELECT * FROM '/proc/self/environ'
SELECT * FROM read_text('/proc/self/environ')
SELECT * FROM read_text('/proc/self/cmdline')
SELECT * FROM read_text('../../../catalogue.sqlite3')
SELECT * FROM read_blob('{store}/catalogue.sqlite3')
SELECT * FROM read_blob('{case}/../original')
SELECT * FROM read_text('{case}/import.json')
SELECT * FROM read_blob('{case}/tables/../../original')
SELECT * FROM read_parquet('{other}/case/tables/thread.parquet')
SELECT * FROM glob('/**')
SELECT * FROM glob('{store}/*')
SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')
SELECT * FROM 'https://example.org/x.csv'
SELECT * FROM read_csv('s3://bucket/x.csv')
SELECT * FROM sqlite_scan('{store}/catalogue.sqlite3', 'token')
COPY thread TO '/tmp/x.csv'
COPY thread TO '{case}/tables/thread.parquet'
COPY (SELECT 1) TO '{case}/tables/new.parquet' (FORMAT parquet)
COPY thread FROM '/etc/passwd'
EXPORT DATABASE '/tmp/x'
IMPORT DATABASE '/tmp/x'
ATTACH '{store}/catalogue.sqlite3' AS c
ATTACH '{case}/tables/new.duckdb' AS c
ATTACH ':memory:' AS c
DETACH case
USE memory
INSTALL httpfs
LOAD httpfs
FORCE INSTALL sqlite
SET memory_limit = '1TB'
SET threads = 1000
SET enable_external_access = true
SET lock_configuration = false
SET allowed_directories = ['/']
SET temp_directory = '/tmp'
RESET ALL
PRAGMA database_list
PRAGMA enable_profiling
PRAGMA threads = 1000
CALL pragma_database_size()
CREATE TABLE x AS SELECT 1
CREATE TEMP TABLE x AS SELECT 1
CREATE OR REPLACE VIEW thread_time AS SELECT 1
CREATE MACRO f(x) AS x
CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')
CREATE SCHEMA x
DROP VIEW thread_time
ALTER VIEW thread_time RENAME TO x
INSERT INTO thread VALUES (1)
UPDATE thread SET comm = 'x'
DELETE FROM thread
TRUNCATE thread
BEGIN
COMMIT
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
EXPLAIN ANALYZE COPY thread TO '/tmp/x.csv'
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT 1
SELECT 1; SELECT 2
SELECT 1; COPY thread TO '/tmp/x.csv'
PREPARE p AS SELECT 1
EXECUTE p
SET VARIABLE case_dir = '/etc'
SELECT getenv('PATH')
SELECT * FROM query('COPY thread TO ''/tmp/x.csv''')
SELECT * FROM query_table('/etc/passwd')
SELECT nothing FROM thread
SELECT
(
SELECT 1) TO '/tmp/x' --
SELECT 1)) AS q; COPY thread TO '/tmp/x.csv'; SELECT * FROM (SELECT (1
""".strip().splitlines()

HARMLESS = """
SELECT current_setting('allowed_directories')
SELECT * FROM duckdb_settings() WHERE name LIKE '%secret%'
SELECT * FROM duckdb_secrets()
SELECT * FROM pragma_database_list()
SELECT getvariable('case_dir')
SELECT version()
SELECT current_user
SELECT * FROM duckdb_extensions() WHERE loaded
""".strip().splitlines()

EXHAUSTING = """
SELECT count(*) FROM range(100000000000) AS a, range(1000) AS b
SELECT list(range) FROM range(100000000000)
SELECT repeat('x', 2000000000) || repeat('y', 2000000000)
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r
SELECT max(levenshtein(repeat('ab', 200000), repeat('ba', 200000)))
SELECT count(DISTINCT range || 'x') FROM range(10000000000)
""".strip().splitlines()


@pytest.fixture(scope="module")
def places(server: Running, admin: httpx.Client, tcp: str) -> dict[str, str]:
    captures = server.store / "captures"
    other = upload(admin, SAMPLES / "d-nagle" / "pipe.perfcase")
    return {"store": str(server.store), "case": str(captures / tcp / "case"), "other": str(captures / other)}


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file of the captures, by what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def asked(client: httpx.Client, capture_id: str, sql: str) -> httpx.Response:
    return client.post("/v1/sql", json={"sql": sql, "capture_id": capture_id})


def test_there_are_enough() -> None:
    assert len(set(REFUSED + HARMLESS + EXHAUSTING)) >= 60


def test_none_does_harm(server: Running, admin: httpx.Client, tcp: str, places: dict[str, str]) -> None:
    """All of them, and then the store is what it was."""
    folder = server.store / "captures"
    before = fingerprint(folder)
    taken = {}
    for sql in REFUSED:
        answer = asked(admin, tcp, sql.format(**places) if "{" in sql else sql)
        if answer.status_code not in (400, 404):
            taken[sql] = (answer.status_code, answer.text[:200])
    assert taken == {}
    assert fingerprint(folder) == before
    assert not Path("/tmp/x.csv").exists()


@pytest.mark.parametrize("sql", HARMLESS)
def test_what_is_allowed_tells_nothing(server: Running, admin: httpx.Client, tcp: str, sql: str) -> None:
    text = asked(admin, tcp, sql).text
    assert "catalogue.sqlite3" not in text
    assert server.token not in text
    assert "root:x:0" not in text


@pytest.mark.parametrize("sql", EXHAUSTING)
def test_none_takes_the_machine(short: Running, sql: str) -> None:
    """It ends in time with an error of its own, and the next question is answered."""
    with short.client() as client:
        capture_id = client.get("/v1/captures").json()["captures"][0]["capture_id"]
        begun = time.monotonic()
        answer = asked(client, capture_id, sql)
        assert answer.status_code in (400, 503, 504), answer.text[:200]
        assert time.monotonic() - begun < 20
        assert asked(client, capture_id, "SELECT 1 AS one").json()[0]["one"] == 1


def test_who_hangs_up_frees_the_machine(admin: httpx.Client, tcp: str, server: Running) -> None:
    """The server would let these questions run for minutes, and this user have no other meanwhile."""
    with server.client() as hasty:
        for _ in range(4):
            with pytest.raises(httpx.ReadTimeout):
                hasty.post("/v1/sql", json={"sql": EXHAUSTING[0], "capture_id": tcp}, timeout=0.5)
    begun = time.monotonic()
    assert asked(admin, tcp, "SELECT 1 AS one").status_code == 200
    assert time.monotonic() - begun < 30


def test_one_user_does_not_slow_another(short: Running) -> None:
    """While one waits for questions without end, the other's are answered."""
    with short.client() as one:
        capture_id = one.get("/v1/captures").json()["captures"][0]["capture_id"]
        secret = one.post("/v1/tokens", json={"name": "other", "role": "viewer"}).json()["secret"]
        # More than there are processes for analyses.
        count = max(2, os.cpu_count() or 2) + 1
        with ThreadPoolExecutor(count) as pool, short.client(secret) as other:
            slow = [pool.submit(asked, one, capture_id, EXHAUSTING[0]) for _ in range(count)]
            time.sleep(0.3)
            for _ in range(3):
                assert asked(other, capture_id, "SELECT 1 AS one").status_code == 200
            assert not all(future.done() for future in slow)
            assert {future.result().status_code for future in slow} == {504}


@pytest.mark.parametrize("deep", ["(" * 3000, "(WITH q AS (" * 40])
def test_text_that_takes_long_to_parse(admin: httpx.Client, tcp: str, deep: str) -> None:
    """It took 22 s and 1.5 GB, or as long as an analysis may."""
    begin = time.monotonic()
    body = {"capture_id": tcp, "sql": f"SELECT {deep}"}
    answers = [
        admin.post("/v1/sql", json=body),
        admin.get(f"/v1/captures/{tcp}/views/thread", params={"where": deep}),
        admin.get("/v1/history", params={"view": "thread_time", "measure": "on_cpu_ns", "agg": "sum", "where": deep}),
    ]
    assert [answer.status_code for answer in answers[:2]] == [400, 400]
    for answer in answers:
        assert "allowed" in answer.text, answer.text
    assert time.monotonic() - begin < 15
