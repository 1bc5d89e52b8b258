"""Runs perf and trace-cmd on a capture so that their answers depend on the capture alone.

perf looks for symbols on the machine that it runs on: the running kernel's addresses, the files under the
recorded paths, the build-id cache. Each is pointed at something empty here, so no frame has a name and both
sides speak of (object, address).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

PERF_QUIET = ("--symfs", "{empty}", "--kallsyms", os.devnull)
REPORT = ("report", "--stdio", "--no-group", "-g", "none", "--percent-limit", "0", "-t", "|", *PERF_QUIET)
SCRIPT = ("script", "--ns", *PERF_QUIET)
LOCK = ("lock", "contention", "-F", "contended,wait_total,wait_max,wait_min,avg_wait")
SCRIPT_FIELDS = "comm,pid,tid,time,event,period,ip,sym,dso"


@dataclass(frozen=True)
class Tool:
    """One way of asking a tool: its arguments (without the file) and what of its output is kept."""

    program: str
    arguments: tuple[str, ...]
    stream: str = "stdout"
    keep: str | None = None
    windowed: bool = False
    """Whether it is asked about the middle third of the capture only (--time)."""


TOOLS = {
    "script": Tool("perf", (*SCRIPT, "-F", SCRIPT_FIELDS + ",cpu")),
    # Captures that were recorded without the CPU: asking for it is an error.
    "script-no-cpu": Tool("perf", (*SCRIPT, "-F", SCRIPT_FIELDS)),
    "script-typed": Tool("perf", ("script", "--ns", "-F", "comm,tid,time,event,trace"), keep="syscalls:sys_"),
    # The text as an input of its own, with what tracepoints print.
    "script-trace": Tool("perf", (*SCRIPT, "-F", SCRIPT_FIELDS + ",cpu,trace")),
    # Recordings without times: what perf prints of each sample, in its order; and a text as people keep it.
    "script-untimed": Tool("perf", ("script", *PERF_QUIET, "-F", "comm,pid,tid,event,period")),
    "script-bare": Tool("perf", ("script", *PERF_QUIET, "-F", "comm,tid,event,ip,sym,dso")),
    "report-comm": Tool(
        "perf", ("report", "--stdio", "--no-group", "-t", "|", "-w", "9,16", "-F", "sample,comm", *PERF_QUIET)
    ),
    "mmaps": Tool("perf", (*SCRIPT, "--show-mmap-events", "-F", "comm,tid,time"), keep="PERF_RECORD_MMAP"),
    "switches": Tool("perf", (*SCRIPT, "-F", "pid,tid,cpu,time,event,trace"), keep="sched:sched_switch"),
    "report-self": Tool("perf", (*REPORT, "--no-children", "-F", "overhead,sample,period,dso,sym")),
    "report-children": Tool("perf", (*REPORT, "--children", "-F", "overhead_children,overhead,sample,period,dso,sym")),
    # The Caller View: below each function the chains of its callers, with the period of each.
    "report-callers": Tool(
        "perf",
        (*REPORT, "--no-children", "--no-inline", "-g", "folded,0,callee,function,period", "-F", "overhead,sym"),
    ),
    # What the addresses of page faults belong to.
    "report-data": Tool(
        "perf",
        ("report", "--stdio", "--mem-mode", "-g", "none", "-t", "|", "-F", "sample,dso_daddr", *PERF_QUIET),
    ),
    "timehist": Tool("perf", ("sched", "timehist", "--kallsyms", os.devnull)),
    "timehist-summary": Tool("perf", ("sched", "timehist", "-s", "--kallsyms", os.devnull)),
    "window-times": Tool("perf", (*SCRIPT, "-F", "time"), keep=":"),
    "window-timehist": Tool("perf", ("sched", "timehist", "--kallsyms", os.devnull), windowed=True),
    "window-summary": Tool("perf", ("sched", "timehist", "-s", "--kallsyms", os.devnull), windowed=True),
    "window-report": Tool("perf", (*REPORT, "--no-children", "-F", "overhead,sample,period,dso,sym"), windowed=True),
    "timehist-migrations": Tool("perf", ("sched", "timehist", "-s", "-M", "--kallsyms", os.devnull)),
    "latency": Tool("perf", ("sched", "latency", "-p")),
    # Every scheduler event with its own fields.
    "sched-events": Tool("perf", (*SCRIPT, "-F", "pid,tid,cpu,time,event,trace"), keep=" sched:sched_"),
    "trace-summary": Tool("perf", ("trace", "-s"), stream="stderr"),
    "block": Tool("perf", (*SCRIPT, "-F", "time,event,trace"), keep=" block:block_rq_"),
    "lock-contention": Tool("perf", (*LOCK, "--kallsyms", os.devnull), stream="stderr"),
    "lock-contention-threads": Tool("perf", (*LOCK, "-t", "--kallsyms", os.devnull), stream="stderr"),
    "trace-futex": Tool("perf", ("trace",), stream="stderr", keep="futex("),
    "tcp": Tool("perf", (*SCRIPT, "-F", "time,event,trace"), keep=" tcp:tcp_probe: "),
    "kwork": Tool("perf", ("kwork", "-k", "irq,softirq", "report")),
    # Callchains, which it prints below each call, have no "): ".
    "trace-log": Tool("perf", ("trace",), stream="stderr", keep="): "),
    "trace-cmd": Tool("trace-cmd", ("report", "-R", "-t")),
    # The same of captures of one kind of event, for their own tests.
    "trace-functions": Tool("trace-cmd", ("report", "-R", "-t")),
    # With the flags of interrupts.
    "trace-wakes": Tool("trace-cmd", ("report", "-l", "-t"), keep=" sched_wak"),
    "trace-requeues": Tool("trace-cmd", ("report", "-R", "-t"), keep=" block_rq_"),
    "tcp-retransmit": Tool("perf", (*SCRIPT, "-F", "time,event,trace"), keep=" tcp:tcp_retransmit_skb: "),
    "numa": Tool("perf", ("report", "--header-only", "-I"), keep=" cpu list : "),
}


def _middle_third(times: str) -> str:
    """The beginning and the end of the middle third of a capture, in whole microseconds, from the lines of its times."""
    found = [int(s + ns) for s, ns in re.findall(r"(\d+)\.(\d{9}):", times)]
    first, third = min(found), (max(found) - min(found)) // 3
    bounds = [(first + number * third) // 1000 for number in (1, 2)]
    return ",".join(f"{us // 10**6}.{us % 10**6:06}" for us in bounds)


def window(text: str) -> tuple[int, int]:
    """What part of the capture a tool was asked about, by its text: from and to, in ns of the capture's clock."""
    found = re.match(r"# --time (\d+)\.(\d{6}),(\d+)\.(\d{6})\n", text)
    assert found, "the text does not say which part it is of"
    return int(found[1] + found[2]) * 1000, int(found[3] + found[4]) * 1000


def available(program: str) -> bool:
    """Whether the program is installed."""
    return shutil.which(program) is not None


def version(program: str) -> str:
    """The first line of the tool that states its version."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True)  # trace-cmd exits with 255
    return next((line.strip() for line in done.stdout.splitlines() if "version" in line), "unknown")


def ask(name: str, capture: Path) -> str:
    """What the tool says about the capture."""
    tool = TOOLS[name]
    head = ""
    if tool.windowed:
        bounds = _middle_third(ask("window-times", capture))
        tool = replace(tool, arguments=(*tool.arguments, "--time", bounds))
        head = f"# --time {bounds}\n"
    with tempfile.TemporaryDirectory(prefix="oracle-empty-") as empty:
        arguments = [argument.format(empty=empty) for argument in tool.arguments]
        command = [tool.program, *arguments, "-i", str(capture)]
        if tool.program == "perf":
            command[1:1] = ["--no-pager", "--buildid-dir", empty]
        # HOME: perf reads ~/.perfconfig, which would change the columns.
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env={**os.environ, "HOME": empty, "LC_ALL": "C"}
        )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    text = done.stdout if tool.stream == "stdout" else done.stderr
    lines = text.splitlines()
    if tool.keep is not None:
        lines = [line for line in lines if tool.keep in line]
    # perf report ends with a tip drawn by chance.
    return head + "".join(line + "\n" for line in lines if not line.startswith("# (Tip:"))
