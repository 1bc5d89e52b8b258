"""perfcase events: text out of libtraceevent's own process. The whole texts are compared by the crate's tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case import events
from perfcase.cli.main import run

Recorded = Callable[[str], Path]
TRACE = "aarch64/trace-v7-zstd.dat"
PERF = "aarch64/sched.data"


def test_a_trace_is_printed_as_trace_cmd_report_prints_it(recorded: Recorded, capsys: pytest.CaptureFixture) -> None:
    assert run(["events", str(recorded(TRACE)), "--limit", "2"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out == (
        "cpus=2\n"
        "              dd-2036  [000]    56.527130: sys_exit:             NR 64 = 1\n"
        "              dd-2036  [000]    56.527134: sys_enter:            NR 221 (ffffd594f580, ffffd594fac8,"
        " ffffd594fb00, 3ffff5653fe20, ffffd594ff1f, ffffd594f593)\n"
    )


def test_one_event_of_a_perf_data_as_perf_script_prints_it(recorded: Recorded, capsys: pytest.CaptureFixture) -> None:
    file = str(recorded(PERF))
    assert run(["events", file, "--event", "sched_switch", "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert run(["events", file, "--event", "sched:sched_switch", "--limit", "1"]) == 0
    assert capsys.readouterr().out == printed
    assert printed == (
        "            perf  1926 [000]    42.971757:       sched:sched_switch: prev_comm=perf prev_pid=1926"
        " prev_prio=120 prev_state=R+ ==> next_comm=migration/0 next_pid=15 next_prio=0\n"
    )


def test_an_imported_folder_and_a_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "import.json").write_text("{}")
    assert run(["events", str(tmp_path)]) == 3
    assert "does not hold the recording" in capsys.readouterr().err
    text = tmp_path / "a.txt"
    text.write_text("nothing\n")
    assert run(["events", str(text)]) == 3


def test_without_the_library_the_remedy_is_named(
    recorded: Recorded, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFCASE_LIBTRACEEVENT", "/nonexistent/libtraceevent.so")
    assert run(["events", str(recorded(TRACE))]) == 8
    assert "apt-get install libtraceevent1" in capsys.readouterr().err


def test_an_exception_of_the_reader_ends_the_printing(recorded: Recorded) -> None:
    def enough(_text: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        events.print_events(recorded(TRACE), enough, lambda _offset, _message: None)


def test_the_printing_process_cannot_raise_its_limits() -> None:
    code = (
        "import resource\nfrom perfcase.case import eventprinter\neventprinter.limit()\n"
        "print(resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{(2 << 30, 2 << 30)} {(3600, 3600)}\n"
