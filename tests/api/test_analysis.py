"""What the server answers is, byte for byte, what the command line prints of the same capture."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import httpx
import pytest
from nanoarrow import ArrayStream

from perfcase.case.query import bytes_read
from perfcase.case.query import connect as query_of
from tests.api.conftest import SAMPLES, Running, upload
from tests.support.cli import run_here, succeed

COUNTERS = SAMPLES / "b-false-sharing" / "published"


def printed(server: Running, *arguments: str) -> bytes:
    """What the command line prints, run in the folder of the captures."""
    code, out, said = run_here(arguments, cwd=server.store / "captures")
    assert code == 0, said
    return out


def test_an_answer_says_what_was_read_for_it(server: Running, admin: httpx.Client, tcp: str) -> None:
    """As ``--reads`` says it of the same question; a kept answer takes nothing, and a long one begins before its end is known."""
    route, query = f"/v1/captures/{tcp}/views/syscall", {"where": "ret > 4711", "format": "csv"}
    with query_of(server.store / "captures" / tcp / "case", is_counted=True) as connection:
        connection.execute("SELECT * FROM (SELECT * FROM syscall WHERE (ret > 4711\n)) LIMIT 1000").fetchall()
        read = bytes_read(connection)
    assert read
    answer = admin.get(route, params=query)
    assert answer.headers["Perfcase-Bytes-Read"] == str(read)
    again = admin.get(route, params=query)
    assert (again.content, again.headers["Perfcase-Bytes-Read"]) == (answer.content, "0")
    same = admin.get(route, params=query, headers={"If-None-Match": answer.headers["etag"]})
    assert (same.status_code, same.headers["Perfcase-Bytes-Read"]) == (304, "0")
    asked = admin.post(
        "/v1/sql", json={"capture_id": tcp, "sql": "SELECT count(DISTINCT ret + 4711) AS n FROM syscall"}
    )
    assert 0 < int(asked.headers["Perfcase-Bytes-Read"]) < read
    long = admin.post("/v1/sql", json={"capture_id": tcp, "sql": "SELECT repeat('x', 1000) AS x FROM range(9000)"})
    assert len(long.content) > 9_000_000
    assert "Perfcase-Bytes-Read" not in long.headers
    for other in ("findings", "views/finding"):
        assert "Perfcase-Bytes-Read" not in admin.get(f"/v1/captures/{tcp}/{other}", params={"limit": 7}).headers


@pytest.mark.parametrize(
    ("route", "query", "command"),
    [
        ("views/thread_time", {"format": "csv"}, ["view", "thread_time", "{}", "--limit=1000", "--format=csv"]),
        ("views/thread_time", {}, ["view", "thread_time", "{}", "--limit=1000", "--format=json"]),
        ("views/tcp_stalls", {"where": "comm = 'order-client'", "order": "gap_ns DESC", "limit": "3"},
         ["view", "tcp_stalls", "{}", "--where=comm = 'order-client'", "--order=gap_ns DESC", "--limit=3", "--format=json"]),
        ("views/page_cache", {"set": "interval_ns=500000000"},
         ["view", "page_cache", "{}", "--limit=1000", "--set=interval_ns=500000000", "--format=json"]),
        ("views/thread_time", {"process": "order-client", "cpu": ["0", "1"], "window": "0s..1h"},
         ["view", "thread_time", "{}", "--only=window=0s..1h", "--only=process=order-client", "--only=cpu=0", "--only=cpu=1",
          "--limit=1000", "--format=json"]),
        ("views/thread", {"order": "utid", "offset": "3", "limit": "2"},
         ["view", "thread", "{}", "--order=utid", "--offset=3", "--limit=2", "--format=json"]),
        ("views/thread", {"format": "parquet"}, ["view", "thread", "{}", "--limit=1000", "--format=parquet"]),
        ("findings", {}, ["findings", "{}", "--format=json"]),
        ("report", {}, ["report", "{}"]),
        ("report", {"process": "order-client"}, ["report", "{}", "--only=process=order-client"]),
        ("summary", {"to": "html"}, ["summary", "{}", "--output=-", "--to=html"]),
        ("summary", {"thread": "order-client"},
         ["summary", "{}", "--only=thread=order-client", "--output=-", "--to=md"]),
        ("flamegraph", {"off_cpu": "true"}, ["flamegraph", "{}", "--output=-", "--off-cpu"]),
        ("flamegraph", {"off_cpu": "true", "wakers": "true", "format": "json"},
         ["flamegraph", "{}", "--output=-", "--off-cpu", "--wakers", "--format=json"]),
        ("export", {"to": "folded"}, ["export", "{}", "--to=folded"]),
        ("export", {"to": "speedscope"}, ["export", "{}", "--to=speedscope"]),
        ("export", {"to": "perfetto"}, ["export", "{}", "--to=perfetto"]),
        ("export", {"to": "csv", "view": ["thread", "tcp_stalls"], "process": "order-client"},
         ["export", "{}", "--only=process=order-client", "--to=csv", "--view=thread", "--view=tcp_stalls", "--output=-"]),
        ("views/run_queue_latency", {"by": "comm", "where": "wait_count > 0"},
         ["view", "run_queue_latency", "{}", "--where=wait_count > 0", "--by=comm", "--limit=1000", "--format=json"]),
        ("export", {"to": "parquet", "view": "socket"}, ["export", "{}", "--to=parquet", "--view=socket", "--output=-"]),
        ("findings", {"rules": "true", "limit": "5"}, ["findings", "{}", "--rules", "--limit=5", "--format=json"]),
        ("info", {}, ["info", "{}", "--json"]),
    ],
)  # fmt: skip
def test_every_route(
    server: Running, admin: httpx.Client, tcp: str, route: str, query: dict, command: list[str]
) -> None:
    answer = admin.get(f"/v1/captures/{tcp}/{route}", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.content == printed(server, *(word.replace("{}", f"{tcp}/case") for word in command))
    assert len(answer.content) > 50
    again = admin.get(f"/v1/captures/{tcp}/{route}", params=query)
    assert again.content == answer.content
    same = admin.get(f"/v1/captures/{tcp}/{route}", params=query, headers={"If-None-Match": answer.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")


def test_long_answers_are_compressed_for_who_can_read_that(server: Running, tcp: str) -> None:
    """Not those that are small, or compressed as they are."""
    place = f"/v1/captures/{tcp}"
    for route, is_compressed in [
        (f"{place}/views/syscall_log?format=csv", True), (f"{place}/flamegraph?off_cpu=true", True), (f"{place}/report", True),
        (f"{place}/views/syscall_log?format=arrow", True), ("/v1/health", False),
        (f"{place}/views/thread?format=parquet", False), (f"{place}/export?to=parquet", False), (f"{place}/original", False),
    ]:  # fmt: skip
        with server.client() as client:
            with client.stream("GET", route, headers={"Accept-Encoding": "gzip"}) as packed:
                sent = b"".join(packed.iter_raw())
            with client.stream("GET", route, headers={"Accept-Encoding": "identity"}) as plain:
                whole = b"".join(plain.iter_raw())
        assert (packed.status_code, plain.status_code) == (200, 200), packed
        assert "content-encoding" not in plain.headers
        assert packed.headers.get("content-encoding") == ("gzip" if is_compressed else None), route
        if is_compressed:
            assert gzip.decompress(sent) == whole
            assert len(sent) < len(whole) / 2, (route, len(sent), len(whole))
            assert "Accept-Encoding" in packed.headers["vary"]
            assert packed.headers["etag"] == plain.headers["etag"]


def test_all_tables_come_as_one_archive(admin: httpx.Client, tcp: str, tmp_path: Path) -> None:
    """Those of the command line, in a tar that is made while it is sent."""
    answer = admin.get(f"/v1/captures/{tcp}/export", params={"to": "parquet"})
    assert answer.headers["content-type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path, filter="data")
    made = sorted(path.stem for path in (tmp_path / "tables").iterdir())
    listed = admin.get("/v1/schema").json()
    assert set(made) >= {table["name"] for table in listed["tables"]}
    views = {path.stem for path in (tmp_path / "views").iterdir()}
    assert views == {view["name"] for view in listed["views"]} - {"call_path", "callees", "callers"}
    with duckdb.connect() as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM read_parquet(?)", [str(tmp_path / "tables/thread.parquet")]
        ).fetchone()
    assert count == len(admin.get(f"/v1/captures/{tcp}/views/thread").json())


def rounded(text: str) -> str:
    """Sums of floating point numbers end in other digits when threads add them in another order."""
    return re.sub(r"-?\d+\.\d+(e[-+]?\d+)?", lambda number: f"{float(number[0]):.6g}", text)


def test_two_captures(server: Running, admin: httpx.Client, tcp: str) -> None:
    pipe = upload(admin, SAMPLES / "d-nagle" / "pipe.perfcase")
    # All views: of two captures of counters alone, that of recordings takes five times as long.
    slow, fast = (upload(admin, COUNTERS / f"{name}.csv") for name in ("slow", "fast"))
    differs = admin.get("/v1/diff", params={"a": slow, "b": fast, "limit": 5})
    shown = printed(server, "diff", f"{slow}/case", f"{fast}/case", "--limit=5", "--format=json")
    assert rounded(differs.text) == rounded(shown.decode())
    assert differs.json()
    pictures = {"a": pipe, "b": tcp, "format": "json"}
    flames = admin.get("/v1/diff/flamegraph", params=pictures).content
    drawn = ("diff", f"{pipe}/case", f"{tcp}/case", "--flamegraph=-", "--format=json")
    assert flames == printed(server, *drawn)
    waits = admin.get("/v1/diff/flamegraph", params={**pictures, "off_cpu": True, "wakers": True}).content
    assert waits == printed(server, *drawn, "--off-cpu", "--wakers") != flames
    client = {"thread": "order-client", "view": "syscall_summary", "limit": 3}
    one = admin.get("/v1/diff", params={"a": pipe, "b": tcp, **client}).text
    only = ("--only=thread=order-client", "--view=syscall_summary", "--limit=3", "--format=json")
    assert rounded(one) == rounded(printed(server, "diff", f"{pipe}/case", f"{tcp}/case", *only).decode())
    asked = {"a": pipe, "b": tcp, "callers": "schedule", "off_cpu": True, "limit": 3}
    shown = printed(
        server, "diff", f"{pipe}/case", f"{tcp}/case", "--callers=schedule", "--off-cpu", "--limit=3", "--format=json"
    )
    assert admin.get("/v1/diff", params=asked).content == shown
    history = admin.get("/v1/history", params={"view": "thread_time", "measure": "switch_count"})
    assert {row["capture"].split("/")[0] for row in history.json()} >= {pipe, tcp}
    # As they are on the server, not as they were recorded.
    assert admin.patch(f"/v1/captures/{pipe}", json={"ticket": "NEW-7", "labels": ["b", "a"]}).status_code == 200
    kept = {row["capture"].split("/")[0]: row for row in admin.get("/v1/history").json()}
    assert (kept[pipe]["ticket"], kept[pipe]["labels"]) == ("NEW-7", "a, b")
    only = admin.get("/v1/history", params={"view": "thread_time", "measure": "switch_count", "only": "label=b"}).json()
    assert [row["capture"] for row in only] == [f"{pipe}/case"]
    assert admin.patch(f"/v1/captures/{pipe}", json={"ticket": "OPS-1", "labels": []}).status_code == 200
    windows = admin.get(
        "/v1/diff", params={"a": tcp, "a_window": "0s..1s", "b_window": "1s..2s", "view": "thread_time"}
    )
    assert windows.status_code == 200, windows.text
    assert windows.json()


def test_nothing_says_where_the_store_is(server: Running, admin: httpx.Client, tcp: str) -> None:
    for route in ("report", "findings", "flamegraph", "views/nothing"):
        assert os.fsencode(server.store) not in admin.get(f"/v1/captures/{tcp}/{route}").content


@pytest.mark.parametrize(
    ("route", "status", "kind"),
    [
        ("views/nothing", 404, "not_found"),
        ("views/thread?where=nothing", 400, "sql"),
        ("views/thread?where=1%3D1)%3B COPY thread TO '/tmp/x", 400, "sql"),
        ("views/thread?set=interval_ns", 400, "usage"),
        ("views/--help", 404, "not_found"),
        ("views/thread?limit=0", 400, "usage"),
        ("views/thread?limit=100000000", 400, "usage"),
        ("views/thread?format=table", 400, "usage"),
        ("flamegraph?event=nothing", 404, "not_found"),
        ("flamegraph?process=nothing", 404, "not_found"),
        ("views/thread?window=soon", 400, "usage"),
        ("export?to=csv&event=cpu-clock", 400, "usage"),
        ("export?to=csv&view=nothing", 404, "not_found"),
        ("export?to=folded&view=thread", 400, "usage"),
        ("export?to=xlsx", 400, "usage"),
        ("nothing", 404, "not_found"),
    ],
)
def test_errors_have_one_shape(admin: httpx.Client, tcp: str, route: str, status: int, kind: str) -> None:
    answer = admin.get(f"/v1/captures/{tcp}/{route}")
    assert (answer.status_code, answer.json()["error"]["kind"]) == (status, kind), answer.text
    assert answer.json()["error"].keys() == {"kind", "message", "hint"}


def test_sql_of_a_ticket(admin: httpx.Client) -> None:
    ids = [
        upload(admin, SAMPLES / "e-page-cache" / name, ticket="OPS-2") for name in ("fits.perfcase", "larger.perfcase")
    ]
    question = {"sql": "SELECT count(*)::BIGINT AS n, max(capture_id) AS own FROM thread, capture", "ticket": "OPS-2"}
    rows = admin.post("/v1/sql", json=question).json()
    assert {row["capture_id"] for row in rows} == set(ids)
    assert all(row["own"] == row["capture_id"] and row["n"] > 1 for row in rows)
    arrow = admin.post("/v1/sql", json={**question, "format": "arrow"})
    table = ArrayStream.from_readable(io.BytesIO(arrow.content)).read_all()
    assert table.schema.field(0).name == "capture_id"
    assert len(table) == 2
    csv = admin.post("/v1/sql", json={**question, "format": "csv"}).text.splitlines()
    assert csv[0] == "capture_id,n,own"
    both = admin.post("/v1/sql", json={**question, "capture_id": ids[0]})
    assert both.status_code == 400


def test_what_several_ask_at_once_is_worked_out_once(server: Running, admin: httpx.Client, tcp: str) -> None:
    """A random number tells two workings-out apart. A question that fails is asked by each, and nobody waits for it twice."""
    slow = {
        "capture_id": tcp,
        "sql": "SELECT random() AS one, count(*) AS two FROM range(50000000) WHERE range % 3 = 1",
    }
    wrong = {"capture_id": tcp, "sql": "SELECT error('no' || count(*)) FROM range(20000000) WHERE range % 3 = 1"}
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: admin.post("/v1/sql", json=slow), range(4))]
        refused = [*pool.map(lambda _: admin.post("/v1/sql", json=wrong), range(4))]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.text for answer in answers}) == 1
    assert [(answer.status_code, "no6666667" in answer.text) for answer in refused] == [(400, True)] * 4


def test_who_hangs_up_is_not_waited_for(admin: httpx.Client, tcp: str) -> None:
    """The server learns of it a moment later than the next one asks the same, who then has it worked out."""
    slow = {"capture_id": tcp, "sql": "SELECT count(*) AS one FROM range(300000000) WHERE range % 3 = 1"}
    with pytest.raises(httpx.ReadTimeout):
        admin.post("/v1/sql", json=slow, timeout=0.3)
    assert admin.post("/v1/sql", json=slow, timeout=20).json()[0]["one"] == 100_000_000


def test_against_what_is_usual(server: Running, admin: httpx.Client, tcp: str) -> None:
    names = ("d-nagle/pipe", "e-page-cache/fits", "e-page-cache/larger")
    usual = [upload(admin, SAMPLES / f"{name}.perfcase", ticket="USUAL") for name in names]
    also = [f"--also={capture_id}/case" for capture_id in sorted(usual)]
    view = "--view=load_average"
    shown = printed(server, "diff", f"{tcp}/case", "--baseline=:", *also, view, "--limit=20", "--format=json")
    query = {"a": tcp, "baseline": "", "ticket": "USUAL", "view": "load_average"}
    answer = admin.get("/v1/diff", params=query)
    assert (answer.status_code, rounded(answer.text)) == (200, rounded(shown.decode())), answer.text
    assert answer.json()
    few = admin.get("/v1/diff", params={**query, "ticket": "OPS-1"})
    assert (few.status_code, few.json()["error"]["message"]) == (400, ":: 0 captures to compare with (3 are needed)")


def test_the_schema_names_every_view(admin: httpx.Client) -> None:
    told = admin.get("/v1/schema").json()
    listed = json.loads(succeed("views", "--json"))
    assert [view["name"] for view in told["views"]] == [view["name"] for view in listed]
    assert all(column["description"] for view in told["views"] for column in view["columns"])
    one = admin.get("/v1/schema/thread_time").json()
    assert one.pop("sql").lstrip().startswith(("SELECT", "WITH"))
    assert one == next(view for view in told["views"] if view["name"] == "thread_time")
    assert admin.get("/v1/schema/thread").json() == next(table for table in told["tables"] if table["name"] == "thread")
    assert admin.get("/v1/schema/nothing").status_code == 404


def test_sql_of_a_part_of_a_capture(admin: httpx.Client, tcp: str) -> None:
    question = {"sql": "SELECT DISTINCT comm FROM thread_time ORDER BY 1", "capture_id": tcp}
    for part, comms in (
        ({}, ["nagle", "order-client", "order-server", "perfcase-helper"]),
        ({"thread": ["*-server"]}, ["order-server"]),
        ({"process": ["order-client"], "window": "0s..3s"}, ["order-client"]),
    ):
        found = admin.post("/v1/sql", json={**question, **part}).json()
        assert [row["comm"] for row in found] == comms, part
    refused = admin.post("/v1/sql", json={**question, "window": "soon"})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (400, "usage")


@pytest.mark.parametrize("buckets", [1, 7, 50, 1200])
def test_lanes_of_causes_add_up_to_the_waits(admin: httpx.Client, tcp: str, buckets: int) -> None:
    """However coarse the picture is, no time is lost; at most two rows of a thread in a bucket."""
    start, end = 1_950_000_000, 4_321_000_000
    settings = [f"start_ns={start}", f"end_ns={end}", f"buckets={buckets}"]
    lanes = admin.get(f"/v1/captures/{tcp}/views/blame_lane", params={"set": settings, "limit": 100_000}).json()
    sql = (
        f"SELECT utid, sum(least(ts_ns + duration_ns, {end}) - greatest(ts_ns, {start}))::BIGINT AS wait_ns, count(*) AS n FROM blame"
        f" WHERE ts_ns < {end} AND ts_ns + duration_ns > {start} GROUP BY utid ORDER BY utid"
    )
    waits = admin.post("/v1/sql", json={"capture_id": tcp, "sql": sql}).json()
    assert waits
    for wait in waits:
        own = [row for row in lanes if row["utid"] == wait["utid"]]
        assert len(own) <= 2 * buckets
        assert (sum(row["wait_ns"] for row in own), sum(row["part_count"] for row in own)) == (
            wait["wait_ns"],
            wait["n"],
        )
        assert all(0 < row["due_ns"] <= row["kind_ns"] <= row["wait_ns"] <= row["duration_ns"] for row in own)
        assert all(a["ts_ns"] <= b["ts_ns"] for a, b in itertools.pairwise(own))
    assert {row["utid"] for row in lanes} == {wait["utid"] for wait in waits}


def test_the_schema_names_the_parameters_of_views(admin: httpx.Client) -> None:
    views = {view["name"]: view for view in admin.get("/v1/schema").json()["views"]}
    assert views["page_cache"]["parameters"] == ["interval_ns"]
    assert views["thread_time"]["parameters"] == []


def test_the_schema_says_how_a_view_is_drawn(admin: httpx.Client) -> None:
    views = {view["name"]: view for view in admin.get("/v1/schema").json()["views"]}
    plot, charts = views["memory"]["plot"], views["memory"]["charts"]
    assert (plot["kind"], plot["time"], plot["length"]) == ("intervals", "ts_ns", None)
    assert [(chart["page"], chart["title"]) for chart in charts] == [("timeline", "Memory")]
    assert charts[0]["values"][0] == {"column": "used_bytes", "label": "used", "unit": "bytes"}
    assert views["block_size"]["plot"]["kind"] == "histogram"
    assert (views["thread_time"]["plot"], views["thread_time"]["charts"]) == (None, [])
