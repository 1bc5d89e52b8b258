"""The wheel works without the clone: it holds the schema and the recorder, which a clone has as links.

It is built with cargo, twice: only a change of pyproject.toml or of scripts/wheel.sh can break it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.scale import SCALE

ROOT = Path(__file__).parents[2]


@pytest.mark.long("1 min")
def test_the_wheel_holds_all_that_the_package_needs(tmp_path: Path) -> None:
    # What it is compiled with is not the point, and a release compiles everything again: only the long tier has the time.
    profile = {"PROFILE": "release" if SCALE >= 1 else "dev"}
    done = subprocess.run(
        [ROOT / "scripts" / "wheel.sh", tmp_path], env=os.environ | profile, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("perfcase-*.whl")
    site = tmp_path / "site"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel]
    subprocess.run([sys.executable, *install], check=True)
    for folder, pattern in (("schema", "*/*/*.*"), ("recorder", "*/*.sh")):
        source = {path.relative_to(ROOT / folder) for path in (ROOT / folder).glob(pattern)}
        packed = {
            path.relative_to(site / "perfcase" / "_data" / folder)
            for path in (site / "perfcase" / "_data" / folder).glob(pattern)
        }
        assert source
        assert packed == source
    (template,) = (site / "perfcase" / "_data" / "templates").iterdir()
    assert template.suffix == ".duckdb"
    dist = ROOT / "recorder" / "build" / "dist"
    one = {
        path.name: path.read_bytes() for path in (site / "perfcase" / "_data" / "recorder" / "build" / "dist").iterdir()
    }
    assert one == {name: (dist / name).read_bytes() for name in ("perfcase-record", "perfcase-record.sha256")}
    assert (site / "perfcase" / "stacks" / "flamegraph.js").is_file()
    (server,) = tmp_path.glob("perfcase_api-*.whl")
    with zipfile.ZipFile(server) as archive:
        packed = set(archive.namelist())
    ours = {
        str(path.relative_to(ROOT / "api"))
        for path in (ROOT / "api" / "perfcase_api").rglob("*.*")
        if path.suffix in (".py", ".sql")
    }
    assert ours <= packed
    script = "import perfcase.catalogue.views, perfcase.cli.main as m; print(perfcase.__file__, flush=True); m.main(['record', '--version'])"
    # -I: no working directory, no environment; the wheel's folder comes before the clone that .venv points to.
    told = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); {script}"],
        cwd="/", capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert told[0].startswith(str(site))
    assert told[1].startswith("perfcase-record ")
