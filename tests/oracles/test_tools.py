"""The readers of the tools' texts, on lines that the tools printed, and on the recorded texts whole."""

from __future__ import annotations

import pytest

from tests.oracles.captures import RECORDED, Recorded, recorded_with
from tests.oracles.tools import perf_report, perf_script, perf_trace, run, timehist, trace_cmd
from tests.oracles.tools.timehist import Task

# The versions that wrote the recorded texts: another one may print another form, a patch of the same one does not.
RECORDED_BY = {"perf": "perf version 6.1.", "trace-cmd": "trace-cmd version 3.1."}


def test_timehist_lines() -> None:
    text = """\
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
     186.852246 [0000]  perf[1942]                          0.000      0.000      0.000 
     186.855363 [0000]  <idle>                              0.000      0.000      2.982 
     188.000001 [0001]  kworker/u4:1-wr[25]              1236.342      0.084     10.204 
     188.100000 [0012]  my [odd] name[77/76]                0.001      0.000      0.002    [unknown] <- do_wait
     188.200000 [0000]  :-1[-1/132]                         0.000      0.000      0.004 
"""  # noqa: W291
    assert timehist.switches(text) == [
        timehist.Switch(186852246, 0, Task("perf", 1942, None), 0, 0, 0),
        timehist.Switch(186855363, 0, Task("<idle>", None, None), 0, 0, 2982),
        timehist.Switch(188000001, 1, Task("kworker/u4:1-wr", 25, None), 1236342, 84, 10204),
        timehist.Switch(188100000, 12, Task("my [odd] name", 77, 76), 1, 0, 2),
        timehist.Switch(188200000, 0, Task(":-1", -1, 132), 0, 0, 4),
    ]


def test_timehist_refuses_a_line_it_cannot_read() -> None:
    with pytest.raises(timehist.FormError, match="not a timehist line"):
        timehist.switches("     186.852246 [0000]  perf[1942]      0.000      0.000\n")


def test_timehist_summary_rows() -> None:
    text = """\
                    perf[1942]     128          3        1.094      0.000       0.364       1.094   100.00       0
               perf[1944/1942]    1942          2        0.757      0.255       0.378       0.502   32.57       4
    CPU  0 idle for   1955.731  msec  ( 75.89%)
    Total number of unique tasks: 2
"""
    assert timehist.summary(text) == [
        timehist.ThreadSummary(Task("perf", 1942, None), 128, 3, 1094, 0, 364, 1094, 100.0, 0),
        timehist.ThreadSummary(Task("perf", 1944, 1942), 1942, 2, 757, 255, 378, 502, 32.57, 4),
    ]
    assert timehist.idle_us(text) == {0: 1955731}
    with pytest.raises(timehist.FormError, match="perf states 3 tasks"):
        timehist.summary(text.replace("tasks: 2", "tasks: 3"))


def test_trace_summary_rows() -> None:
    text = """\
 Summary of events:

 dd (2049), 422 events, 10.5%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   sched_getaffinity        1      0     0.108     0.108     0.108     0.108      0.00%
   execve                 7      6    25.098     0.349     3.585    16.618     63.41%
"""
    assert perf_trace.summary(text) == [
        perf_trace.SyscallSummary("dd", 2049, "sched_getaffinity", 1, 0, 0.108, 0.108, 0.108, 0.108, 0.0),
        perf_trace.SyscallSummary("dd", 2049, "execve", 7, 6, 25.098, 0.349, 3.585, 16.618, 63.41),
    ]


def test_report_rows() -> None:
    text = """\
# Samples: 1K of event 'cpu-clock'
# Event count (approx.): 8889446125
#
# Children|Overhead|     Samples|      Period|Shared Object              |Symbol
 91.01% | 0.00%  | 0          | 0          |[unknown]                  |[k] 0000000000000000
 4.30%  | 4.30%  | 76         | 381909500  |[kernel.kallsyms]          |[k] 0xffffffffb644e8cb
# Samples: 5  of events 'sched:sched_switch'
# Event count (approx.): 5
 N/A      100.00%  5            5            |x
""".replace(" N/A      100.00%  5            5            |x", " N/A  | 100.00% | 5   | 5   |a b |[.] main")
    cycles, switches = perf_report.sections(text)
    assert (cycles.event, cycles.period) == ("cpu-clock", 8889446125)
    assert cycles.rows == [
        perf_report.Row(91.01, 0.0, 0, 0, "[unknown]", "k", "0000000000000000", 0),
        perf_report.Row(4.3, 4.3, 76, 381909500, "[kernel.kallsyms]", "k", "0xffffffffb644e8cb", 0xFFFFFFFFB644E8CB),
    ]
    assert (switches.event, switches.period) == ("sched:sched_switch", 5)
    assert switches.rows == [perf_report.Row(None, 100.0, 5, 5, "a b", ".", "main", None)]


def test_script_samples() -> None:
    text = """\
my prog  2048/2047  [000]   211.433407710:          1  raw_syscalls:sys_enter: 
	ffffffffb5b45fb2 [unknown] ([kernel.kallsyms])
	           fdd6b [unknown] (/lib/x86_64-linux-gnu/libc.so.6)

     swapper     0/0     [001]    26.211582416:    2000003 instructions:  ffffceb0778cd4bc [unknown] ([kernel.kallsyms])
     :-1    -1/-1         26.300000000:          7 cycles:u: 
"""  # noqa: E101, W291
    kernel, user = "[kernel.kallsyms]", "/lib/x86_64-linux-gnu/libc.so.6"
    chain = [perf_script.Frame(0xFFFFFFFFB5B45FB2, kernel), perf_script.Frame(0xFDD6B, user)]
    assert list(perf_script.samples(text)) == [
        perf_script.Sample("my prog", 2048, 2047, 0, 211433407710, "raw_syscalls:sys_enter", 1, chain),
        perf_script.Sample(
            "swapper",
            0,
            0,
            1,
            26211582416,
            "instructions",
            2000003,
            [perf_script.Frame(0xFFFFCEB0778CD4BC, kernel)],
            False,
        ),
        perf_script.Sample(":-1", -1, -1, None, 26300000000, "cycles:u", 7, []),
    ]


def test_script_mappings_and_switches() -> None:
    text = (
        "swapper     0     0.000000000: PERF_RECORD_MMAP -1/0: [0xffffffffb5a00000(0xe01d32) @ 0xffffffffb5a00000]: x "
        "[kernel.kallsyms]_text\n"
        "bash     0     0.000000000: PERF_RECORD_MMAP2 121/122: [0xaaaabb820000(0x132000) @ 0x1000 fe:00 388 0]: r-xp "
        "/usr/bin/my bash\n"
    )
    assert perf_script.mappings(text) == [
        perf_script.Mapping(-1, 0xFFFFFFFFB5A00000, 0xE01D32, 0xFFFFFFFFB5A00000, "[kernel.kallsyms]_text"),
        perf_script.Mapping(121, 0xAAAABB820000, 0x132000, 0x1000, "/usr/bin/my bash"),
    ]
    text = (
        "   -1/-1     [001]   187.000000009: sched:sched_switch: prev_comm=a b prev_pid=12 prev_prio=120 prev_state=R+ "
        "==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
    )
    assert perf_script.switches(text) == [perf_script.Switch(187000000009, 1, -1, 12, "a b", "R+", 0)]


def test_trace_cmd_events() -> None:
    text = """\
cpus=2
CPU:1 [12 EVENTS DROPPED]
      jbd2/vda-8-103   [000]   217.080605180: mm_filemap_add_to_page_cache:  pfn=0x3810 i_ino=fe00000 index=0x58372
              my dd-2056  [001]   217.069874190: sys_enter:             id=59 args=ARRAY[80, 01, ff]
              dd-2056  [001]   217.276006960: block_rq_issue:        rwbs=FF comm=kworker/0:1H cmd=
"""
    first, second, third = trace_cmd.events(text)
    assert (first.comm, first.tid, first.cpu, first.time_ns, first.name) == (
        "jbd2/vda-8",
        103,
        0,
        217080605180,
        "mm_filemap_add_to_page_cache",
    )
    assert {name: trace_cmd.number(name, value) for name, value in first.fields.items()} == {
        "pfn": 0x3810,
        "i_ino": 0xFE00000,
        "index": 0x58372,
    }
    assert (second.comm, second.fields["id"]) == ("my dd", "59")
    assert trace_cmd.array_bytes(second.fields["args"]) == b"\x80\x01\xff"
    assert third.fields == {"rwbs": "FF", "comm": "kworker/0:1H", "cmd": ""}


@pytest.mark.parametrize("capture", recorded_with("script", "script-no-cpu"), ids=lambda capture: capture.id)
def test_recorded_texts_agree_with_each_other(capture: Recorded) -> None:
    """perf script and both forms of perf report speak of the same samples, so the readers lose none."""
    script = capture.text("script" if capture.has("script") else "script-no-cpu")
    counts: dict[str, int] = {}
    periods: dict[str, int] = {}
    for sample in perf_script.samples(script):
        counts[sample.event] = counts.get(sample.event, 0) + 1
        periods[sample.event] = periods.get(sample.event, 0) + sample.period
    for form in ("report-self", "report-children"):
        sections = perf_report.sections(capture.text(form))
        assert {s.event: sum(row.sample_count for row in s.rows) for s in sections} == counts
        assert {s.event: sum(row.period for row in s.rows) for s in sections} == periods
        assert {s.event: s.period for s in sections} == periods


@pytest.mark.parametrize("capture", recorded_with("timehist"), ids=lambda capture: capture.id)
def test_recorded_timehist_texts_agree_with_each_other(capture: Recorded) -> None:
    """timehist prints one line per switch, and its summary counts them."""
    lines = timehist.switches(capture.text("timehist"))
    switches = perf_script.switches(capture.text("switches"))
    assert sorted((s.time_ns // 1000, s.cpu) for s in switches) == sorted((s.time_us, s.cpu) for s in lines)
    counts: dict[int, int] = {}
    for line in lines:
        if line.task.tid is not None:
            counts[line.task.tid] = counts.get(line.task.tid, 0) + 1
    assert {row.task.tid: row.switch_count for row in timehist.summary(capture.text("timehist-summary"))} == counts


def reruns() -> list:
    return [pytest.param(capture, tool, id=f"{capture.id}/{tool}") for capture in RECORDED for tool in capture.tools]


@pytest.mark.parametrize(("capture", "tool"), reruns())
def test_the_tool_still_says_what_is_recorded(capture: Recorded, tool: str, tmp_path) -> None:
    program = run.TOOLS[tool].program
    if not run.available(program):
        pytest.skip(f"{program} is not installed: the recorded text stands for it")
    if not run.version(program).startswith(RECORDED_BY[program]):
        pytest.skip(f"{run.version(program)} is installed, the texts are of {RECORDED_BY[program]}")
    path = tmp_path / f"capture.{capture.suffix}"
    path.write_bytes(capture.bytes())
    assert run.ask(tool, path) == capture.text(tool)
