"""The recorder's threads lead no list, however busy they were: they come after all others."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from perfcase.catalogue.views import load_views
from tests.recorder.support import command, environment
from tests.support.cli import perfcase

KEYS = {"utid": "utid", "upid": "upid", "comm": "comm"}
"""What tells whose a row is, the surest first."""
OF_SEVERAL = {"tcp_latency", "use_method", "contended_cache_line"}
"""Views whose rows are of no thread or process, but name one."""


def ranked() -> dict[str, str]:
    """The views whose order is that of a figure, the greatest first, and the column that says whose a row is."""
    found = {}
    views = load_views()
    for name, view in views.items():
        columns = [column.name for column in view.columns]
        key = next((key for key in KEYS if key in columns), None)
        order = view.sql.rpartition("ORDER BY ")[2]
        if key and name not in OF_SEVERAL and ("recorder_thread" in order or re.match(r"[^,]* DESC\b", order)):
            found[name] = key
    return found


# Both do the same; the one that counts as the recorder does ten times as much of it.
WORK = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pair[2];
static long rounds;
static void *other(void *unused)
{
	char byte;
	while (read(pair[1], &byte, 1) == 1) {
		pthread_mutex_lock(&lock);
		for (volatile int i = 0; i < 200000; i++) ;
		usleep(500);
		pthread_mutex_unlock(&lock);
		if (write(pair[1], &byte, 1) != 1) break;
	}
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	char byte = 0, *pages;
	prctl(PR_SET_NAME, argv[1]);
	rounds = atol(argv[2]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pthread_create(&thread, NULL, other, NULL);
	for (long i = 0; i < rounds; i++) {
		if (write(pair[0], &byte, 1) != 1) return 1;
		pthread_mutex_lock(&lock);
		for (volatile int k = 0; k < 200000; k++) ;
		pthread_mutex_unlock(&lock);
		if (read(pair[0], &byte, 1) != 1) return 1;
		pages = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(pages, 1, 1 << 16);
	}
	return argc != 3;
}
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a workload and of a program that is ten times as busy, which the manifest says is the recorder's."""
    folder = tmp_path_factory.mktemp("busy")
    subprocess.run(["gcc", "-O1", "-pthread", "-xc", "-o", folder / "work", "-"], input=WORK.encode(), check=True)
    script = '"$0" workload 20 & "$0" busy 200 & echo $! >"$1"; wait'
    words = command("dash", "-q", "--interval", "0.1", "-o", folder / "x.perfcase", "--", "sh", "-c", script)
    done = subprocess.run(
        [*words, folder / "work", folder / "pid"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(folder / "x.perfcase") as archive:
        archive.extractall(folder / "capture", filter="data")
    manifest = json.loads((folder / "capture" / "manifest.json").read_text())
    manifest["overhead"][0]["pid"] = int((folder / "pid").read_text())
    (folder / "capture" / "manifest.json").write_text(json.dumps(manifest))
    case = store.open_case(folder / "capture", folder / "x.case").folder
    with duckdb.connect(str(case / "case.duckdb"), read_only=True) as connection:
        if not connection.execute("SELECT 1 FROM thread_time WHERE comm = 'busy'").fetchall():
            pytest.skip("neither perf nor ftrace records switches here")
    return case


def test_every_ranked_view_has_them_last(case: Path) -> None:
    led, seen = [], set()
    with duckdb.connect(str(case / "case.duckdb"), read_only=True) as connection:
        for name, key in ranked().items():
            ours = f"coalesce({key} IN (SELECT {key} FROM recorder_thread WHERE {key} IS NOT NULL), false)"
            rows = [row[0] for row in connection.execute(f"SELECT {ours} FROM {name}").fetchall()]
            parts = [rows]
            if name == "ready_time":  # An order for each step of time.
                steps = connection.execute(f"SELECT ts_ns, {ours} FROM ready_time").fetchall()
                parts = [[is_ours for at, is_ours in steps if at == step] for step in {at for at, _ in steps}]
            for part in parts:
                if True in part and False in part:
                    seen.add(name)
                    led += [name] * (part != sorted(part))
    assert led == []
    assert {"thread_time", "off_cpu_by_thread", "run_queue_latency_by_thread", "syscall_summary", "off_wake"} <= seen


def test_it_is_the_busiest(case: Path) -> None:
    """Otherwise it would be last without a rule."""
    with duckdb.connect(str(case / "case.duckdb"), read_only=True) as connection:
        for view, figure in (("thread_time", "on_cpu_ns"), ("syscall_summary", "call_count")):
            rows = connection.execute(
                f"SELECT comm FROM {view} WHERE tid <> 0 GROUP BY comm ORDER BY sum({figure}) DESC LIMIT 1"
            ).fetchall()
            assert rows == [("busy",)], view


@pytest.mark.parametrize("words", [("report",), ("summary", "--to", "md", "-o", "-"), ("findings",)])
def test_no_row_of_a_report_is_about_them(case: Path, words: tuple[str, ...]) -> None:
    """What they cost is told by itself; elsewhere they are named only as who woke, or held, what the row is about."""
    done = perfcase(words[0], case, *words[1:])
    assert done.returncode == 0, done.stderr
    rows = [line.strip().lstrip("|│ ").split() for line in done.stdout.splitlines() if "busy" in line.split()]
    assert [row for row in rows if row[0] == "busy"] == []
    assert "cannot be worked out" not in done.stdout
    assert any("workload" in line.split() for line in done.stdout.splitlines()) or words == ("findings",)
