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
