"""machine_config and kernel_log against lscpu, lsblk and dmesg on the machine that the recorder runs on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import run

Rows = Callable[[str], list[tuple]]
CACHES = {"l1d": "L1d cache", "l1i": "L1i cache", "l2": "L2 cache", "l3": "L3 cache"}
# What lscpu prints, by our key. lscpu prints names of x86's and of Arm's fields; those that are absent are not compared.
LSCPU = {
    "kernel.machine": "Architecture",
    "cpu.address_sizes": "Address sizes",
    "cpu.vendor": "Vendor ID",
    "cpu.family": "CPU family",
    "cpu.model_number": "Model",
    "cpu.model": "Model name",
    "cpu.stepping": "Stepping",
    "cpu.bogomips": "BogoMIPS",
    "cpu.flags": "Flags",
    "cpu.threads_per_core": "Thread(s) per core",
    "cpu.cores_per_socket": "Core(s) per socket",
    "cpu.sockets": "Socket(s)",
    "numa.count": "NUMA node(s)",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Rows of a recording of a moment on this machine."""
    folder = tmp_path_factory.mktemp("machine")
    done = run("dash", "-q", "-o", folder / "x.perfcase", "--", "sleep", "0.2", PERFCASE_STOP_TIMEOUT_S="20")
    assert done.returncode == 0, done.stderr
    case = store.open_case(folder / "x.perfcase", folder / "x.case")
    connection = duckdb.connect(str(case.folder / "case.duckdb"), read_only=True)
    return lambda sql: connection.execute(sql).fetchall()


def ask(*command: str) -> str:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def fields(items: list[dict]) -> dict[str, str]:
    """lscpu's fields; newer versions nest them."""
    found: dict[str, str] = {}
    for item in items:
        found[item["field"].rstrip(":")] = item["data"]
        found.update(fields(item.get("children", [])))
    return found


def test_cpus_are_lscpus(rows: Rows) -> None:
    theirs = fields(json.loads(ask("lscpu", "-J", "-B"))["lscpu"])
    ours = {key: value for key, value, _ in rows("SELECT key, value, unit FROM machine_config")}
    common = {key: name for key, name in LSCPU.items() if name in theirs and theirs[name] not in (None, "-")}
    # Arm's names of CPUs come from lscpu's own list, not from the kernel.
    for key, name in common.items():
        if key in ours or ours["kernel.machine"] == "x86_64":
            assert ours[key] == theirs[name], name
    assert {"kernel.machine", "cpu.sockets", "cpu.cores_per_socket"} <= common.keys()
    for key, name in CACHES.items():
        # "98304 (2 instances)"
        found = re.match(r"(\d+)(?: \((\d+) instances?\))?$", theirs.get(name) or "")
        assert (f"cache.{key}.size" in ours) == bool(found), name
        if found:
            assert ours[f"cache.{key}.size"] == found[1], name
            assert found[2] is None or ours[f"cache.{key}.count"] == found[2], name
    # lscpu puts commas for the kernel's colons and semicolons, or leaves them out: "Mitigation, Retpolines, STIBP disabled".
    mitigations = {key.removeprefix("mitigation."): re.sub("[:;,]", "", value) for key, value in ours.items()
                   if key.startswith("mitigation.")}  # fmt: skip
    vulnerabilities = {re.sub(r"\W+", "_", name.removeprefix("Vulnerability ")).lower(): re.sub("[:;,]", "", value)
                       for name, value in theirs.items() if name.startswith("Vulnerability ")}  # fmt: skip
    assert mitigations == vulnerabilities


def test_disks_are_lsblks(rows: Rows) -> None:
    columns = "NAME,SIZE,ROTA,SCHED,RQ-SIZE,RA,RO,LOG-SEC,MAJ:MIN"
    disks = json.loads(ask("lsblk", "-bdJ", "-o", columns))["blockdevices"]
    disks = [disk for disk in disks if disk["size"]]
    ours = {key: value for key, value, _ in rows("SELECT key, value, unit FROM machine_config WHERE area = 'block'")}
    assert {key.split(".")[1] for key in ours} == {disk["name"] for disk in disks}
    for disk in disks:
        got = {name: ours.get(f"block.{disk['name']}.{name}") for name in
               ("size", "rotational", "scheduler", "queue_depth", "read_ahead", "is_read_only", "logical_block_size",
                "device_number")}  # fmt: skip
        assert got == {
            "size": str(disk["size"]),
            "rotational": str(int(disk["rota"])),
            "scheduler": disk["sched"] or got["scheduler"],
            "queue_depth": str(disk["rq-size"]),
            "read_ahead": str(disk["ra"] * 1024),
            "is_read_only": str(int(disk["ro"])),
            "logical_block_size": str(disk["log-sec"]),
            "device_number": disk["maj:min"],
        }, disk["name"]


def test_the_kernel_log_is_dmesgs(rows: Rows) -> None:
    log = rows("SELECT level, facility, round(uptime_ns / 1000)::BIGINT, text FROM kernel_log")
    if not log:
        pytest.skip("/dev/kmsg cannot be read here")
    # A recording of a command keeps what the kernel itself wrote, without the audit trail.
    assert {row[1] for row in log} == {"kern"}
    theirs = []
    for line in ask("dmesg", "-x", "-f", "kern").splitlines():
        head = re.match(r"kern *:(\w+) *: \[ *(\d+)\.(\d{6})\] (.*)$", line)
        if head:
            theirs.append((head[1], "kern", int(head[2]) * 1_000_000 + int(head[3]), [head[4].strip()]))
        else:
            # Further lines of a message are indented.
            theirs[-1][3].append(line.strip())
    # dmesg was asked later: what came since then is not ours, what was overwritten not its.
    ours = [(*row[:3], [line.strip() for line in row[3].split("\n")]) for row in log if row[2] >= theirs[0][2]]
    theirs = [row for row in theirs if row[2] <= log[-1][2] and not row[3][0].startswith("audit: ")]
    assert len(ours) > 10
    assert ours == theirs
