"""Folders of copied /proc files are a source: the same rows as of a recorded stream with the same files.

And the tables about the whole host against a naive reading of those files.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from perfcase.catalogue.schema import load_tables
from perfcase.errors import PerfcaseError
from tests.oracles.test_proc import STREAM, files
from tests.oracles.test_sockets import holder

OWN = {"ts_ns", "utid", "upid"}
"""Columns that may differ: keys of threads and processes are given in the order in which they are met."""


def copies(folder: Path, *, is_flat: bool) -> None:
    """The files of each snapshot in a folder: as cp -r of /proc makes them, or flat, processes below pid."""
    for snapshot, clock, path, text in files(lzma.decompress(STREAM.read_bytes())):
        name = path.removeprefix("/proc/")
        if is_flat:
            name = f"pid/{name}" if name[0].isdigit() else name.replace("/", "_")
        # The order of names is not that of time.
        root = folder / str(9 - snapshot)
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        if path == "/proc/stat":
            (root / "uptime").write_text(f"{clock / 1e9:.2f} 1.00\n")
            (root / "version").write_text("Linux version 6.1.0-x (a@b) #1 SMP\n")


def opened(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(store.open_case(path).folder / "case.duckdb"), read_only=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("stream")
    (folder / "snapshots").write_bytes(lzma.decompress(STREAM.read_bytes()))
    return opened(folder / "snapshots")


@pytest.mark.parametrize("is_flat", [False, True])
def test_folders_give_the_rows_of_a_stream(is_flat: bool, recorded: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    copies(tmp_path / "copies", is_flat=is_flat)
    ours = opened(tmp_path / "copies")
    filled = set()
    for table in (table for table in load_tables().values() if table.group == "proc"):
        columns = ", ".join(column.name for column in table.columns if column.name not in OWN)
        query = f"SELECT {columns} FROM {table.name} ORDER BY ALL"
        rows = ours.execute(query).fetchall()
        assert rows == recorded.execute(query).fetchall(), table.name
        filled |= {table.name} if rows else set()
    assert len(filled) >= 12, filled
    release, duration = ours.execute("SELECT kernel_release, duration_ns FROM capture").fetchone()
    wanted = recorded.execute("SELECT duration_ns FROM capture").fetchone()[0]
    assert release == "6.1.0-x"
    # uptime has two digits.
    assert duration == pytest.approx(wanted, abs=30e6)
    assert ours.execute("SELECT count(*) FROM cpu_utilization WHERE cpu = 'all'").fetchone() == (7,)


def test_a_folder_without_a_time_is_reported(tmp_path: Path) -> None:
    copies(tmp_path / "copies", is_flat=True)
    (tmp_path / "copies" / "4" / "uptime").unlink()
    ours = opened(tmp_path / "copies")
    assert ours.execute("SELECT source, kind, severity FROM import_issue WHERE kind = 'no_time'").fetchall() == [
        ("4", "no_time", "error")
    ]
    assert ours.execute("SELECT count(*) FROM proc_load").fetchone() == (7,)


def test_a_folder_without_stat_is_no_recording(tmp_path: Path) -> None:
    copies(tmp_path / "copies", is_flat=True)
    for stat in (tmp_path / "copies").glob("*/stat"):
        stat.unlink()
    with pytest.raises(PerfcaseError):
        store.open_case(tmp_path / "copies")
    shutil.rmtree(tmp_path / "copies")


def texts(path: str) -> list[tuple[int, str]]:
    return [(s, text) for s, _, found, text in files(lzma.decompress(STREAM.read_bytes())) if found == path]


def rows_of(recorded: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    return sorted(recorded.execute(query).fetchall())


def test_vmstat(recorded: duckdb.DuckDBPyConnection) -> None:
    wanted = [
        (s, line.split()[0], int(line.split()[1])) for s, text in texts("/proc/vmstat") for line in text.splitlines()
    ]
    assert rows_of(recorded, "SELECT snapshot, name, value FROM proc_vmstat") == sorted(wanted)


def test_disks(recorded: duckdb.DuckDBPyConnection) -> None:
    scale = [1, 1, 512, 10**6, 1, 1, 512, 10**6, 1, 10**6, 10**6, 1, 1, 512, 10**6, 1, 10**6]
    wanted = []
    for snapshot, text in texts("/proc/diskstats"):
        for major, minor, name, *fields in map(str.split, text.splitlines()):
            scaled = [int(field) * by for field, by in zip(fields, scale, strict=True)]
            wanted.append((snapshot, name, int(major), int(minor), *scaled))
    assert rows_of(recorded, "SELECT * EXCLUDE (ts_ns, source_id) FROM proc_disk") == sorted(wanted)


def test_interfaces(recorded: duckdb.DuckDBPyConnection) -> None:
    wanted = []
    for snapshot, text in texts("/proc/net/dev"):
        for name, fields in (line.split(":") for line in text.splitlines()[2:]):
            wanted.append((snapshot, name.strip(), *map(int, fields.split())))
    assert rows_of(recorded, "SELECT * EXCLUDE (ts_ns, source_id, netns_inode) FROM proc_net_dev") == sorted(wanted)


def test_pressure(recorded: duckdb.DuckDBPyConnection) -> None:
    wanted = []
    for resource in ("cpu", "io", "memory"):
        for snapshot, text in texts(f"/proc/pressure/{resource}"):
            for kind, *words in map(str.split, text.splitlines()):
                *averages, total = (word.split("=")[1] for word in words)
                shares = [round(float(share) / 100, 6) for share in averages]
                wanted.append((snapshot, resource, kind, *shares, int(total) * 1000))
    rows = recorded.execute("SELECT * EXCLUDE (ts_ns, source_id) FROM proc_pressure").fetchall()
    assert sorted((*row[:3], *(round(share, 6) for share in row[3:6]), row[6]) for row in rows) == sorted(wanted)


def test_figures_by_cpu(recorded: duckdb.DuckDBPyConnection) -> None:
    wanted = []
    for snapshot, text in texts("/proc/schedstat"):
        lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
        wanted += [(snapshot, int(line[0][3:]), *map(int, line[7:10])) for line in lines]
    assert rows_of(recorded, "SELECT * EXCLUDE (ts_ns, source_id) FROM proc_cpu_sched") == sorted(wanted)
    for path, table in (("/proc/softirqs", "proc_softirq"), ("/proc/interrupts", "proc_interrupt")):
        wanted = []
        for snapshot, text in texts(path):
            for name, rest in (line.split(":", 1) for line in text.splitlines()[1:]):
                counts = [int(word) for word in rest.split()[:2] if word.isdigit()]
                if len(counts) == 1:
                    wanted.append((snapshot, name.strip(), None, counts[0]))
                else:
                    wanted += [(snapshot, name.strip(), cpu, count) for cpu, count in enumerate(counts) if count]
        name = "name" if table == "proc_softirq" else "irq"
        rows = recorded.execute(f"SELECT snapshot, {name}, cpu, count FROM {table}").fetchall()
        assert sorted(rows, key=str) == sorted(wanted, key=str), table
        assert rows


def test_ss_and_proc_net_are_sockets(tmp_path: Path) -> None:
    """What this machine's ss and /proc/net say of sockets that the test opens: the same rows, from either."""
    with holder(tmp_path, alone=True) as pids:
        enter = ["nsenter", "--target", str(pids[0]), "--net"]
        told = {}
        for name, command in {
            "ss": ["ss", "-tuxanpeimOH"],
            "lines": ["ss", "-tuxanpei"],
            "net": ["sh", "-c", "cd /proc/net && head -n 100000 tcp tcp6 udp udp6 unix"],
        }.items():
            told[name] = subprocess.run([*enter, *command], capture_output=True, text=True, check=True).stdout
    for name in ("ss", "lines", "net"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "stat").write_text("cpu  1 2 3 4\ncpu0 1 2 3 4\n")
        (folder / "uptime").write_text("7.00 1.00\n")
        if name == "net":
            for part in told["net"].split("==> ")[1:]:
                file, _, text = part.partition(" <==\n")
                (folder / f"net_{file}").write_text(text)
        else:
            (folder / "ss.txt").write_text(told[name])
    rows = {}
    for name in ("ss", "lines", "net"):
        case = opened(tmp_path / name)
        query = case.execute("SELECT * FROM proc_socket")
        names = [column[0] for column in query.description]
        rows[name] = [dict(zip(names, row, strict=True)) for row in query.fetchall()]
        assert not case.execute("SELECT * FROM import_issue WHERE severity <> 'info'").fetchall()
    # Two lines or one, without -m: the same, except its figures.
    memory = {"recv_memory_bytes", "recv_buffer_bytes", "send_memory_bytes", "send_buffer_bytes", "drop_count"}

    def shown(row: dict, keys: set[str]) -> tuple:
        return tuple(sorted((key, str(value)) for key, value in row.items() if key in keys))

    # Times since something happened differ, as ss ran twice.
    moving = {"since_send_ns", "since_receive_ns", "timer_ns", "upid", "delivery_rate_bytes_per_s"}
    same = set(rows["ss"][0]) - memory - moving
    assert Counter(shown(row, same) for row in rows["ss"]) == Counter(shown(row, same) for row in rows["lines"])
    assert sum(row["recv_buffer_bytes"] is not None for row in rows["ss"]) >= 10
    by_kind = Counter((row["family"], row["protocol"], row["state"]) for row in rows["ss"] if row["pid"] == pids[0])
    assert by_kind == {
        ("inet", "tcp", "LISTEN"): 1, ("inet", "tcp", "ESTAB"): 3, ("inet", "udp", "UNCONN"): 1,
        ("inet6", "tcp", "LISTEN"): 2, ("inet6", "tcp", "ESTAB"): 3, ("inet6", "udp", "UNCONN"): 1,
        ("unix", "stream", "LISTEN"): 1, ("unix", "dgram", "UNCONN"): 1,
        ("unix", "stream", "ESTAB"): 2, ("unix", "seqpacket", "ESTAB"): 2,
    }  # fmt: skip
    established = [row for row in rows["ss"] if row["protocol"] == "tcp" and row["state"] == "ESTAB"]
    assert all(row["rtt_ns"] and row["congestion_control"] and row["mss_bytes"] for row in established)
    assert sorted({row["recv_queue_bytes"] for row in established}) == [0, 3000]
    # /proc/net: the same sockets, each once, without their holders.
    keys = {"family", "protocol", "state", "local_address", "local_port", "peer_address", "peer_port", "inode"}
    of_ss = {row["inode"]: row for row in rows["ss"] if row["inode"]}
    of_net = {row["inode"]: row for row in rows["net"] if row["inode"] in of_ss}
    assert len(of_net) == len(of_ss) == 16
    for inode, row in of_net.items():
        assert shown(row, keys) == shown(of_ss[inode], keys)
        assert row["pid"] is None
        if row["family"] != "unix":
            assert (row["user_id"] or 0, row["recv_queue_bytes"]) == (
                of_ss[inode]["user_id"] or 0,
                of_ss[inode]["recv_queue_bytes"],
            )
    # Two processes hold six; the other ends of two of them were not accepted yet: nobody's.
    assert opened(tmp_path / "ss").execute("SELECT count(*) FROM socket WHERE rtt_ns > 0").fetchone() == (2 * 6 + 2,)


def test_lines_of_sockets_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "stat").write_text("cpu  1 2 3 4\ncpu0 1 2 3 4\n")
    (folder / "uptime").write_text("7.00 1.00\n")
    # Without -n ss writes names for ports; netlink sockets have no table and are none of these lines.
    (folder / "ss.txt").write_text(
        "Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "nl    UNCONN 0      0      rtnl:kernel        *\n"
        "tcp   ESTAB  0      0      127.0.0.1:40000    127.0.0.1:http\n"
        "tcp   ESTAB  0      0      127.0.0.1:40000    127.0.0.1:81\n"
    )
    (folder / "net_udp").write_text(
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"
        "  1: 0100007F:zz35 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0000000000000000 0\n"
    )
    case = opened(folder)
    assert case.execute("SELECT local_port, peer_port FROM proc_socket").fetchall() == [(40000, 81)]
    issues = case.execute("SELECT severity, kind, source, count FROM import_issue WHERE severity <> 'info'").fetchall()
    assert issues == [("warning", "damaged_line", None, 2)]


def test_switches_of_a_process_without_files_of_its_threads(tmp_path: Path) -> None:
    for number in range(2):
        root = tmp_path / "copies" / str(number)
        (root / "9").mkdir(parents=True)
        (root / "stat").write_text("cpu  1 2 3 4\ncpu0 1 2 3 4\n")
        (root / "uptime").write_text(f"{7 + number}.00 1.00\n")
        (root / "9" / "stat").write_text("9 (a) S 1 9 9 0 -1 0 1 0 0 0 5 6 0 0 20 0 1 0 99 4096 25\n")
        (root / "9" / "status").write_text(
            f"Tgid:\t9\nvoluntary_ctxt_switches:\t{8 + 4 * number}\nnonvoluntary_ctxt_switches:\t{number}\n"
        )
    rows = opened(tmp_path / "copies").execute(
        "SELECT pid, interval_ns, voluntary_switch_count, involuntary_switch_count FROM process_activity"
    )
    assert rows.fetchall() == [(9, 1_000_000_000, 4, 1)]


def test_links_of_a_copy_are_one_line_and_descriptors_are_read(tmp_path: Path) -> None:
    root = tmp_path / "copies" / "0"
    (root / "9" / "fd").mkdir(parents=True)
    (root / "stat").write_text("cpu  1 2 3 4\ncpu0 1 2 3 4\n")
    (root / "uptime").write_text("7.00 1.00\n")
    (root / "9" / "stat").write_text("9 (a) S 1 9 9 0 -1 0 1 0 0 0 5 6 0 0 20 0 1 0 99 4096 25\n")
    for name, target in {"fd/0": "/dev/null", "fd/11": "socket:[77]", "exe": "/bin/a", "cwd": "/", "root": "/"}.items():
        (root / "9" / name).symlink_to(target)
    case = opened(tmp_path / "copies")
    rows = case.execute("SELECT pid, fd, kind, target, inode FROM proc_fd ORDER BY fd").fetchall()
    assert rows == [(9, 0, "device", "/dev/null", None), (9, 11, "socket", "socket:[77]", 77)]
    issues = case.execute("SELECT severity, message FROM import_issue WHERE kind = 'links'").fetchall()
    assert issues == [("info", "5 links are not followed: 0/9/cwd and others")]


def test_a_name_that_changes_from_copy_to_copy_is_that_of_each(tmp_path: Path) -> None:
    """No event tells it: a process is called what the copy says, until the next one says otherwise."""
    for second, comm in enumerate(["bash", "bash", "ls"]):
        folder = tmp_path / "copies" / str(second)
        stat = f"7 ({comm}) S 1 7 7 0 -1 0 1 0 0 0 5 5 0 0 20 0 1 0 100 4096 10 18446744073709551615{' 0' * 27}\n"
        for name in ("7/stat", "7/task/7/stat"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(stat)
        (folder / "stat").write_text("cpu  1 2 3 4\ncpu0 1 2 3 4\n")
        (folder / "uptime").write_text(f"{100 + second}.00 1.00\n")
    ours = opened(tmp_path / "copies")
    assert ours.execute("SELECT process, comm FROM thread_census ORDER BY snapshot").fetchall() == [
        ("bash", "bash"), ("bash", "bash"), ("ls", "ls"),
    ]  # fmt: skip
    assert ours.execute("SELECT name FROM process_name WHERE pid = 7 ORDER BY since_ts_ns").fetchall() == [
        ("bash",),
        ("ls",),
    ]


DRIFT_PAGES = 125
"""Pages that each CPU may have counted of each zone before it adds them to the total (mm/vmstat.c, stat_threshold)."""


def free_blocks(buddyinfo: str) -> tuple[int, int]:
    """Pages that are free, and the number of zones."""
    zones = [list(map(int, line.split()[4:])) for line in buddyinfo.splitlines()]
    return sum(count << order for counts in zones for order, count in enumerate(counts)), len(zones)


def read_free() -> tuple[dict[str, str], bool]:
    """Files of /proc, and whether the kernel's count of free pages lies between that of the blocks before and after it was read.

    That count is vmstat's: in some guests the free memory in meminfo is another, of what the guest may still get.
    """
    names = ("buddyinfo", "meminfo", "vmstat", "stat", "uptime", "version")
    copied = {name: Path("/proc", name).read_text() for name in names}
    (before, zones), (after, _) = free_blocks(copied["buddyinfo"]), free_blocks(Path("/proc/buddyinfo").read_text())
    free = int(copied["vmstat"].split("nr_free_pages ")[1].split()[0])
    drift = DRIFT_PAGES * zones * (os.cpu_count() or 1)
    return copied, min(before, after) - drift <= free <= max(before, after) + drift


def test_free_blocks_of_this_host(tmp_path: Path) -> None:
    """Line by line; and their pages are what vmstat says is free."""
    # On a busy host memory comes and goes between the files.
    copied, is_equal = next((read for read in (read_free() for _ in range(100)) if read[1]), read_free())
    assert is_equal
    for name, text in copied.items():
        (tmp_path / "now").mkdir(exist_ok=True)
        (tmp_path / "now" / name).write_text(text)
    ours = opened(tmp_path / "now")
    wanted = []
    for _, node, _, zone, *counts in map(str.split, copied["buddyinfo"].splitlines()):
        wanted += [(int(node.rstrip(",")), zone, order, int(count)) for order, count in enumerate(counts)]
    assert rows_of(ours, "SELECT node, zone, block_order, block_count FROM proc_free_block") == sorted(wanted)
    free = ours.execute("SELECT sum(free_bytes) FROM memory_fragmentation").fetchone()
    assert free == (free_blocks(copied["buddyinfo"])[0] * os.sysconf("SC_PAGESIZE"),)


def test_free_memory_that_a_guest_alters_does_not_make_the_page_size(tmp_path: Path) -> None:
    """Some guests show in meminfo what they may still get: here twice what vmstat counts."""
    text = Path("/proc/meminfo").read_text()
    free = int(text.split("MemFree:")[1].split()[0])
    (tmp_path / "now").mkdir()
    (tmp_path / "now/meminfo").write_text(text.replace(f"{free} kB", f"{2 * free} kB", 1))
    for name in ("vmstat", "stat", "uptime", "version"):
        (tmp_path / "now" / name).write_text(Path("/proc", name).read_text())
    ours = opened(tmp_path / "now")
    assert rows_of(ours, "SELECT page_size_bytes, is_stated FROM page_size") == [(os.sysconf("SC_PAGESIZE"), False)]
