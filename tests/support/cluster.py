"""A cluster of Apache Spark on loopback: one master, two workers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

START_S = 90


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Provide the URL of the master; ``folder`` gets the logs and what the workers write."""
    with ExitStack() as stack:
        master = _started(stack, folder, "master", "org.apache.spark.deploy.master.Master", "--port", "0")
        url = _said(folder / "master.log", r"Starting Spark master at (spark://\S+)", master)
        for name in ("first", "second"):
            more = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), url)
            worker = _started(stack, folder, name, "org.apache.spark.deploy.worker.Worker", *more)
            _said(folder / f"{name}.log", r"(Successfully registered) with master", worker)
        yield url


def _started(stack: ExitStack, folder: Path, name: str, service: str, *words: str) -> subprocess.Popen:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(program), service, "--host", "127.0.0.1", "--webui-port", "0", *words]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def _said(log: Path, pattern: str, process: subprocess.Popen) -> str:
    """Wait until a log has a line, and return its first group."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")
