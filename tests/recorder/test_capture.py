"""A recorded command yields a capture that keeps what schema/README.md promises, under each shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, TRACEFS, Capture, command, in_own_mounts, parse_snapshots, run

NOTE = 'he said "slow"\n\tit\'s $HOME `x` \\ ü €'
WORKLOAD = """
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
sleep 0.4 &
for k in 1 2 3 4 5 6; do sleep 0.1; done
wait
exit 7
"""


@pytest.fixture(scope="module", params=SHELLS)
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("capture")
    out = folder / "x.perfcase"
    done = run(
        request.param,
        "-o",
        out,
        "--interval",
        "0.1",
        "--ticket",
        "T-1",
        f"--note={NOTE}",
        "--label",
        "canary",
        "--label=build='7'",
        "--",
        "sh",
        "-c",
        WORKLOAD,
    )
    assert done.returncode == 0, done.stderr
    assert f"wrote {out}" in done.stderr
    assert "exit status was 7" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["x.perfcase"], "nothing else is left"
    return Capture.read(out)


def test_manifest_and_members_agree(capture: Capture) -> None:
    capture.check()


def test_manifest_says_what_was_asked(capture: Capture) -> None:
    manifest = capture.manifest
    assert manifest["format_version"] == "1.1"
    assert manifest["ticket"] == "T-1"
    assert manifest["note"] == NOTE
    assert manifest["labels"] == ["canary", "build='7'"]
    assert manifest["recorder"]["command"][-3:] == ["sh", "-c", WORKLOAD]
    target = manifest["recorder"]["target"]
    assert (target["mode"], target["command"], target["exit_status"]) == ("command", ["sh", "-c", WORKLOAD], 7)
    sources = [source["started_monotonic_ns"] for source in manifest["sources"] if source["started_monotonic_ns"]]
    assert max(sources) <= target["started_monotonic_ns"] <= manifest["clock"]["anchors"][1]["monotonic_ns"]
    assert manifest["recorder"]["stopped_by"] == "target_exit"
    assert manifest["recorder"]["interrupted_by"] is None


def test_manifest_says_what_the_host_is(capture: Capture) -> None:
    host = capture.manifest["host"]
    uname = os.uname()
    assert (host["hostname"], host["kernel_release"], host["machine"]) == (uname.nodename, uname.release, uname.machine)
    assert host["page_size_bytes"] == os.sysconf("SC_PAGESIZE")
    assert host["clock_ticks_per_s"] == os.sysconf("SC_CLK_TCK")
    assert host["cpu_count"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert host["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert host["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def test_lists_of_cpus_are_whole(capture: Capture) -> None:
    """Read a byte at a time, as a shell's `read` does, they are empty on kernels since 5.16."""
    system = Path("/sys/devices/system")
    files = [
        *system.glob("node/node*/cpulist"),
        *system.glob("cpu/cpu*/topology/thread_siblings_list"),
        system / "cpu/online",
    ]
    lines = capture.content("host/cpu-topology").decode().splitlines()
    assert {f"{file.relative_to(system)} = {file.read_text().strip()}" for file in files} <= set(lines)


def test_one_clock_with_anchors_at_both_ends(capture: Capture) -> None:
    start, end = capture.manifest["clock"]["anchors"]
    assert (start["at"], end["at"]) == ("start", "end")
    elapsed = end["monotonic_ns"] - start["monotonic_ns"]
    assert elapsed > 600_000_000
    # both anchors were read at one moment each; a wall clock is slewed by 500 ppm at most
    assert abs(end["realtime_ns"] - start["realtime_ns"] - elapsed) < elapsed * 500e-6 + 1_000_000
    for source in capture.manifest["sources"]:
        if source["started_monotonic_ns"]:
            assert start["monotonic_ns"] <= source["started_monotonic_ns"] <= source["ended_monotonic_ns"]
            assert source["ended_monotonic_ns"] <= end["monotonic_ns"]


def test_snapshots_hold_the_host_and_the_target_only(capture: Capture) -> None:
    snapshots = parse_snapshots(capture.content("proc/snapshots"))
    assert capture.source("proc")["event_count"] == len(snapshots) >= 6
    assert [snapshot.seq for snapshot in snapshots] == list(range(len(snapshots)))
    assert all(snapshot.is_complete for snapshot in snapshots)
    target = capture.manifest["recorder"]["target"]["pids"][0]
    names = {}
    for snapshot in snapshots:
        assert snapshot.files["/proc/stat"].startswith(b"cpu ")
        assert b"MemTotal:" in snapshot.files["/proc/meminfo"]
        for path, text in snapshot.files.items():
            if found := re.fullmatch(r"/proc/(\d+)/task/(\d+)/stat", path):
                assert int(text.split(b" ", 1)[0]) == int(found[2])
                parent = int(text.rsplit(b")", 1)[1].split()[1])
                names[int(found[1])] = text.split(b"(", 1)[1].rsplit(b")", 1)[0].decode()
                assert int(found[1]) == target or parent == target, "another process of this machine"
    assert target in names
    assert "sleep" in names.values(), "children are part of the target"


def test_snapshots_keep_the_interval(capture: Capture) -> None:
    times = [snapshot.monotonic_ns for snapshot in parse_snapshots(capture.content("proc/snapshots"))]
    began = capture.manifest["recorder"]["target"]["started_monotonic_ns"]
    # one at the command's beginning, and a grid of 100 ms from there; a busy machine may be late, never early; the last one
    # comes with the end
    first = min(times, key=lambda time: abs(time - began))
    assert abs(first - began) < 50_000_000
    for time in times[times.index(first) + 1 : -1]:
        assert (time - first) % 100_000_000 < 90_000_000


def test_every_process_of_the_recorder_states_its_cost(capture: Capture) -> None:
    overhead = {entry["source"]: entry for entry in capture.manifest["overhead"]}
    for source in capture.manifest["sources"]:
        if source["tool"] != "sh" and source["status"] != "missing":
            entry = overhead[source["name"]]
            assert entry["user_ns"] + entry["system_ns"] > 0
            assert entry["max_rss_bytes"] > 100_000
            assert entry["event_count"] == source["event_count"]
            members = [m for m in capture.manifest["members"] if m["source"] == source["name"]]
            assert entry["output_bytes"] == sum(member["size_bytes"] for member in members)
    own = [entry for entry in capture.manifest["overhead"] if entry["process"].startswith("perfcase-record")]
    assert [entry["phase"] for entry in own] == ["before", "recording", "after", "after"]
    assert all(entry["user_ns"] + entry["system_ns"] > 0 for entry in own)


def test_every_knob_is_restored(capture: Capture) -> None:
    for knob in capture.manifest["knobs"]:
        assert knob["restored"] is True
        assert not (knob["before"] == "absent" and Path(knob["path"]).exists())
    if capture.source("ftrace")["status"] != "missing":
        assert any("/instances/perfcase-" in knob["path"] for knob in capture.manifest["knobs"])


def test_perf_samples_tracepoints_one_by_one(capture: Capture, tmp_path: Path) -> None:
    if capture.source("perf")["status"] == "missing":
        pytest.skip(f"no perf here: {capture.source('perf')['reason']}")
    command = capture.source("perf")["command"]
    assert "-F" not in command
    assert command[command.index("-k") + 1] == "CLOCK_MONOTONIC"
    assert "-a" not in command, "only the target"
    data = tmp_path / "perf.data"
    data.write_bytes(capture.content("perf/perf.data"))
    events = subprocess.run(["perf", "evlist", "-v", "-i", data], capture_output=True, text=True, check=True).stdout
    lines = [line for line in events.splitlines() if line.startswith("sched:")]
    if any("sched_switch" in word for word in command):
        assert [line.split(":")[1] for line in lines] == ["sched_switch", "sched_waking", "sched_wakeup_new"]
    for line in lines:
        assert "{ sample_period, sample_freq }: 1," in line
        assert "freq: 1" not in line.replace("sample_freq }: 1", "")
        assert "CALLCHAIN" in line
    assert re.search(r"^(cycles|cpu-clock).*sample_freq }: 99,.* freq: 1,", events, re.M)


def test_ftrace_is_scoped_to_the_target(capture: Capture) -> None:
    source = capture.source("ftrace")
    if source["status"] == "missing":
        pytest.skip(f"no ftrace here: {source['reason']}")
    assert source["lost_events"] == 0
    if source["kind"] == "trace_dat":
        assert source["command"][source["command"].index("-P") + 1] == str(
            capture.manifest["recorder"]["target"]["pids"][0]
        )
        return
    assert {"ftrace/raw/header_page", "ftrace/raw/header_event", "ftrace/raw/format/sched/sched_switch"} <= set(
        capture.paths()
    )
    assert "ftrace/raw/saved_cmdlines" not in capture.paths(), "names of other processes"
    page = os.sysconf("SC_PAGESIZE")
    pages = [path for path in capture.paths() if re.fullmatch(r"ftrace/raw/cpu\d+", path)]
    assert pages
    for path in pages:
        assert len(capture.content(path)) % page == 0
    assert source["event_count"] > 50


@pytest.mark.parametrize("shell", SHELLS)
def test_stock_tools_open_it(shell: str, tmp_path: Path) -> None:
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    out = tmp_path / "x.perfcase"
    assert run(shell, "-q", "-o", out, "--", "sleep", "0.1", PERFCASE_COMPRESSION="zstd").returncode == 0
    subprocess.run(["tar", "xf", out, "-C", tmp_path], check=True)
    subprocess.run(["zstd", "-q", "-d", tmp_path / "proc" / "snapshots.zst"], check=True)
    assert len(parse_snapshots((tmp_path / "proc" / "snapshots").read_bytes())) >= 2


def test_trace_cmd_is_not_needed(tmp_path: Path) -> None:
    if TRACEFS is None or os.geteuid() != 0:
        pytest.skip("tracefs is not mounted, or not ours to use")
    out = tmp_path / "x.perfcase"
    assert run("dash", "-q", "-o", out, "--", "sleep", "0.2", PERFCASE_NO_TRACE_CMD="1").returncode == 0
    source = Capture.read(out).source("ftrace")
    assert (source["kind"], source["tool"], source["status"]) == ("ftrace_raw", "perfcase-helper", "available")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("groups", ["", "page-cache", "locks,tcp", "page-faults"])
def test_events_that_come_often_are_recorded_when_asked_for(shell: str, groups: str, tmp_path: Path) -> None:
    if TRACEFS is None or os.geteuid() != 0:
        pytest.skip("tracefs is not mounted, or not ours to use")
    out = tmp_path / "x.perfcase"
    asked = ["--with", groups] if groups else []
    done = run(shell, "-q", "-o", out, *asked, "--", "sleep", "0.2", PERFCASE_NO_TRACE_CMD="1")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    prefix = "ftrace/raw/format/"
    recorded = {path.removeprefix(prefix).replace("/", ":") for path in capture.paths() if path.startswith(prefix)}
    recorded |= {word for word in capture.source("perf")["command"] or [] if re.fullmatch(r"[a-z]+:\w+", word)}
    assert "irq:softirq_entry" in recorded
    for group, event in {
        "page-cache": "filemap:mm_filemap_add_to_page_cache",
        "locks": "lock:contention_begin",
        "tcp": "tcp:tcp_probe",
        "page-faults": "exceptions:page_fault_user",
    }.items():
        exists = (TRACEFS / "events" / event.replace(":", "/")).is_dir()
        assert (event in recorded) == (group in groups.split(",") and exists), event


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("size", ["2M", "44M"])
def test_the_disk_is_never_filled(shell: str, size: str, tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size="$1" tmpfs "$2" || exit 99; shift 2; exec "$@"'
    workload = ["--interval", "0.02", "--duration", "60", "--", "sh", "-c", "while :; do sleep 0.001; done"]
    place = tmp_path / "disk"
    place.mkdir()
    kept = tmp_path / "kept"
    # what is on the small disk is seen in its mount namespace only: copied out there
    inner = [*command(shell, "-o", place / "x.perfcase"), *workload]
    outer = f'"$@"; status=$?; cp -r {place} {kept}; exit $status'
    done = in_own_mounts(script, size, place, "sh", "-c", outer, "sh", *inner, timeout=120)
    if size == "2M":
        assert done.returncode == 1, done.stderr
        assert re.search(r"less than \d+ MB are free", done.stderr)
        assert list(kept.iterdir()) == []
        return
    assert done.returncode == 0, done.stderr
    assert "nearly full" in done.stderr
    capture = Capture.read(kept / "x.perfcase")
    capture.check()
    assert capture.manifest["recorder"]["stopped_by"] == "disk_space"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_floor_of_the_disk_stays_free(shell: str, tmp_path: Path) -> None:
    """While sources begin, record and end, and while it packs: the kernel's buffers and the symbols count too."""
    place = tmp_path / "disk"
    place.mkdir()
    look = 'while :; do stat -f -c "%a %S" "$0"; sleep 0.03; done >"$1" & look=$!; shift; "$@"; status=$?; kill $look; exit $status'
    load = "for i in 1 2 3 4; do timeout 6 sh -c 'while :; do /bin/true; done' & done; exec sleep 20"
    recorder = command(shell, "-q", "-o", place / "x.perfcase", "--duration", "10", "--", "sh", "-c", load)
    script = 'mount -t tmpfs -o size=44m tmpfs "$1" || exit 99; shift; exec "$@"'
    words = [place, "sh", "-c", look, place, tmp_path / "free", *recorder]
    done = in_own_mounts(script, *words, timeout=60, PERFCASE_NO_TRACE_CMD="1")
    assert done.returncode == 0, done.stderr
    assert "nearly full" in done.stderr
    free = [int(blocks) * int(size) for blocks, size in map(str.split, (tmp_path / "free").read_text().splitlines())]
    assert min(free) > 24 << 20
