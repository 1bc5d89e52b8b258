"""The connection to Apache Spark: pyspark and Java are loaded here, and only here."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from perfcase.errors import PerfcaseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDS = "pip install 'perfcase[spark]', and Java 17 or later; with the version of Spark that the cluster has"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A sum that does not fit fails, and is not another number.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # It leaves plans behind that Spark itself does not accept, of a subquery about a relation that the query also reads.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases",
    # Texts of captures are no columns of partitions.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
_ALONE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}
"""A Spark of its own on this machine: nobody else reaches it."""
_SAID_BYTES = 64 << 10
_MASTER = r"local|local\[(\d+|\*)\]|(spark|k8s)://\S+|yarn"
_TELLING = "unresponsive|Connection refused|UnknownHost|Invalid master|Could not parse Master"


@contextmanager
def connected(master: str) -> Iterator[SparkSession]:
    """Provide a session of the cluster at ``master``; local[*] is one on this machine.

    Raises:
        PerfcaseError: Spark or Java is not there, the cluster does not answer, or it fails (environment); ``master`` is none (usage).
    """
    if not re.fullmatch(_MASTER, master):
        raise PerfcaseError("usage", f"--master {master}: not a cluster", "spark://HOST:PORT, local[4] or local[*]")
    try:
        with warnings.catch_warnings(action="ignore"):
            from pyspark.errors import AnalysisException, PySparkException
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise PerfcaseError("environment", f"Spark is not there: {error}", NEEDS) from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryFile() as said:
        with _java_writes_to(said):
            session = _session(SparkSession, master, said)
        try:
            with warnings.catch_warnings(action="ignore"):
                yield session
        except AnalysisException as error:
            raise PerfcaseError("sql", f"Spark says: {_first_line(str(error))}") from error
        except PySparkException as error:
            raise PerfcaseError("environment", f"{master}: Spark says: {_first_line(str(error))}") from error
        finally:
            session.stop()


def _session(cls: type[SparkSession], master: str, said: IO[bytes]) -> SparkSession:
    builder = cls.builder.appName("perfcase").master(master)
    for name, value in {**_SETTINGS, **(_ALONE if master.startswith("local") else {})}.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # those of Java, and of py4j
        raise PerfcaseError("environment", f"{master}: no Spark: {_why(said, str(error))}", NEEDS) from error
    session.sparkContext.setLogLevel("OFF")
    return session


def _why(said: IO[bytes], error: str) -> str:
    """Return why there is no session: what Java said last of it, rather than its exception."""
    if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
        return "there is no Java"
    said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID_BYTES))
    lines = said.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if re.search(_TELLING, line)] or [line for line in lines if "ERROR" in line]
    return _first_line(re.sub(r"^.*?(ERROR|Caused by:) ?", "", telling[-1]) if telling else error)


@contextmanager
def _java_writes_to(file: IO[bytes]) -> Iterator[None]:
    """Let the Java that is started write to a file: what it says of itself is not about captures."""
    own = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:300]
