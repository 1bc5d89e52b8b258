"""The archive's specification, the sample captures and the scripts themselves."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests.recorder.support import RECORDER, ROOT, SCHEMA, Capture

SAMPLES = sorted((ROOT / "sample-captures").glob("*/x.perfcase"))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_versions_agree() -> None:
    version = (ROOT / "schema" / "VERSION").read_text().strip()
    assert f"PERFCASE_FORMAT_VERSION={version}" in RECORDER.read_text()
    assert f"version {version}" in (ROOT / "schema" / "README.md").read_text().splitlines()[0]


def test_every_manifest_property_is_in_the_readme() -> None:
    text = (ROOT / "schema" / "README.md").read_text()
    assert [name for name in SCHEMA["properties"] if f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_sample_captures_are_valid(path: Path) -> None:
    capture = Capture.read(path)
    capture.check()
    assert (path.parent / "workload").exists()
    assert (path.parent / "record.sh").exists()
    readme = (path.parent / "README.md").read_text()
    host = capture.manifest["host"]
    for fact in [host["kernel_release"], host["machine"], capture.manifest["ticket"]]:
        assert fact in readme, f"{path.parent.name}/README.md does not say {fact}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "sample-captures").glob("*/*.perfcase")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_sample_capture_is_small(path: Path) -> None:
    assert path.stat().st_size < 3_000_000


def test_the_kernels_symbols_are_in_a_capture_once(tmp_path: Path) -> None:
    """trace-cmd would keep /proc/kallsyms as well, in trace.dat."""
    sample = ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase"
    subprocess.run(["tar", "xf", sample, "-C", tmp_path, "ftrace/trace.dat.zst", "host/kallsyms.zst"], check=True)
    for member, count in (("host/kallsyms", 1), ("ftrace/trace.dat", 0)):
        text = subprocess.run(["zstd", "-dc", tmp_path / f"{member}.zst"], capture_output=True, check=True).stdout
        assert text.count(b" T _stext\n") == count, member


def test_there_are_sample_captures() -> None:
    assert {path.parent.name for path in SAMPLES} >= {"x86_64-scheduling", "aarch64-counters"}


def test_shellcheck_finds_nothing() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", "-x", RECORDER], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    sourced = re.findall(r'^\. "\$home/(\S+)"', RECORDER.read_text(), re.M)
    files = [
        str(path.relative_to(RECORDER.parent))
        for part in ("lib", "probes")
        for path in (RECORDER.parent / part).glob("*.sh")
    ]
    assert sorted(sourced) == sorted(files), "a file that is not sourced is not checked"
