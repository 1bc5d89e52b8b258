"""Which events of top-down analysis the recorder asks perf for: units and perf are stand-ins, the shell is real."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import ROOT, SHELLS

METRICS = "slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound"
SLOTS = "topdown-total-slots,topdown-slots-issued,topdown-slots-retired,topdown-fetch-bubbles,topdown-recovery-bubbles"
ZEN = (
    "ls_not_halted_cyc,de_no_dispatch_per_slot.no_ops_from_frontend,de_no_dispatch_per_slot.backend_stalls,"
    "de_no_dispatch_per_slot.smt_contention,de_src_op_disp.all,ex_ret_ops"
)
UNITS = "sys/bus/event_source/devices"
ARM = "cpu_cycles,stall_slot,stall_slot_frontend,stall_slot_backend,op_retired,op_spec,br_mis_pred"


def asked(tmp_path: Path, shell: str, event: str, perf: str) -> tuple[str, str]:
    """The groups that remain, and what perf was asked for."""
    (tmp_path / event).parent.mkdir(parents=True)
    (tmp_path / event).write_text("vendor_id : AuthenticAMD\n")
    fake = tmp_path / "bin" / "perf"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\nfor word do case $word in {{*) echo "$word" >"{tmp_path}/asked" ;; esac; done\n{perf}\n'
    )
    fake.chmod(0o755)
    script = (
        f'await() {{ "$@"; }}; . "{ROOT}/recorder/probes/pmc.sh"; PMC_GROUPS=cycles,instructions; state=$1;'
        ' pmc_top_down; echo "$PMC_GROUPS"'
    )
    done = subprocess.run(
        [*SHELLS[shell], "-euc", script, "sh", str(tmp_path)],
        env={"PATH": f"{fake.parent}:/usr/bin:/bin", "PERFCASE_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = tmp_path / "asked"
    return done.stdout.strip(), found.read_text().strip() if found.exists() else ""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("event", "group"),
    [
        (f"{UNITS}/cpu/events/slots", METRICS),
        (f"{UNITS}/cpu_core/events/slots", METRICS),
        (f"{UNITS}/cpu/events/topdown-total-slots", SLOTS),
        (f"{UNITS}/armv8_pmuv3_0/events/stall_slot", ARM),
        ("proc/cpuinfo", ZEN),
    ],
)
def test_a_cpu_that_counts_them(tmp_path: Path, shell: str, event: str, group: str) -> None:
    counted = f'echo "1000,,slots,1,100.00,," >"{tmp_path}/trial.stat"'
    assert asked(tmp_path, shell, event, counted) == (f"cycles,instructions {group}", f"{{{group}}}")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_virtual_machine_that_does_not(tmp_path: Path, shell: str) -> None:
    refused = f'echo "<not supported>,,slots,0,100.00,," >"{tmp_path}/trial.stat"'
    assert asked(tmp_path, shell, f"{UNITS}/cpu/events/slots", refused) == ("cycles,instructions", f"{{{METRICS}}}")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_perf_that_does_not_know_them(tmp_path: Path, shell: str) -> None:
    assert asked(tmp_path, shell, f"{UNITS}/cpu/events/slots", "exit 129")[0] == "cycles,instructions"
