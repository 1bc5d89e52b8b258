"""The guest: a Debian 12 with its own kernel and control groups of version 2, in which scenes are recorded as whole hosts.

``root.sh guest`` makes its disk. What the guest writes to the disk is gone with it. It has no network; the host shows it the suite and
the recorder, and takes its captures. Without KVM the processor is emulated, ten times slower: its clock is right, its times are long.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import playing

FOLDER = playing.BUILD / "guest"
CAPTURES = FOLDER / "captures"
# What control groups limit, and other faults that a whole host shows differently; then healthy workloads of each sort.
NAMES = (
    "cpu_quota",
    "disk_full",
    "dns_dead",
    "frozen_group",
    "fsync_slow",
    "memory_thrash",
    "noisy_neighbour",
    "oom_kill",
    "pids_limit",
    "postgres_lock_held",
    "batch_group",
    "cron_scripts",
    "idle",
    "java_http",
    "memory_group",
    "nginx_gunicorn",
    "postgres_oltp",
)
# /dev/kvm alone does not tell: some hosts have one that runs prepared kernels only.
HAS_KVM = os.access("/dev/kvm", os.R_OK | os.W_OK) and re.search(r"\b(vmx|svm)\b", Path("/proc/cpuinfo").read_text())
# What is true of each scene whose processor is emulated: the recorder alone takes a fifth of it and more.
TRUE_ALSO = "" if HAS_KVM else r"^\w+ (cpu_saturation|recorder_cost) "
BOOT_S = 180
RECORDING_S = 150


def run(paths: list[Path]) -> None:
    """Boot the guest, which plays these files into CAPTURES, and says on standard output what it does."""
    CAPTURES.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.rmtree(CAPTURES / path.stem, ignore_errors=True)
    (CAPTURES / "names").write_text("".join(f"{path.stem}\n" for path in paths))
    command = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-accel", "kvm" if HAS_KVM else "tcg,thread=multi"]
    command += ["-m", "4096", "-smp", "2", "-nographic", "-no-reboot", "-net", "none"]
    command += ["-kernel", FOLDER / "kernel", "-initrd", FOLDER / "initrd"]
    command += ["-append", "console=ttyS0 root=/dev/vda rw init=/guest-init panic=1 psi=1 loglevel=3"]
    command += ["-drive", f"if=virtio,file={FOLDER / 'disk'},format=raw,snapshot=on"]
    for name, folder, is_read_only in (
        ("incidents", playing.HERE, "on"),
        ("recorder", playing.RECORDER.parent, "on"),
        ("captures", CAPTURES, "off"),
    ):
        command += ["-virtfs", f"local,path={folder},mount_tag={name},security_model=none,readonly={is_read_only}"]
    recordings = sum(len(playing.kinds(path)) for path in paths)
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BOOT_S + RECORDING_S * recordings, check=True)
